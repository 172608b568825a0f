"""``python -m llm_bridge.recipes list | show RECIPE | data RECIPE``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

import tyro

from entropy_theory.support import command_line
from entropy_theory.support.command_line import Command
from entropy_theory.support.user_errors import run_command
from llm_bridge import recipes
from llm_bridge.recipes import hub_data


def listing(
    folder: Literal["gpu-small", "paper"] | None = None, /, *, json: Path | None = None
) -> None:
    """Print one recipe a line: name, source, title, number of runs.

    Args:
        folder: gpu-small or paper; both by default.
        json: write the list to this file; "-" prints it.
    """
    command_line.print_list(("name", "source", "title", "runs"), (
        (name, source, title, str(runs)) for name, source, title, runs in recipes.listed(folder)), json)


def recipes_command(
    recipe: tyro.conf.Positional[str] = "", /, *, launcher: str | None = None, json: Path | None = None
) -> None:
    """List the recipes, or print the commands of one recipe's runs.

    Args:
        recipe: its name, or a .toml file; all are listed by default.
        launcher: a launcher in place of the recipe's own (8-gpus, 5-machines).
        json: write the list, or the commands, to this file; "-" prints it.
    """
    if not recipe:
        listing(json=json)
        return
    with command_line.json_output(json) as write:
        found = recipes.load(recipe, launcher=launcher)
        print(f"# {found.title} ({found.source})")
        fetch = [] if found.data is None else [f"python -m llm_bridge.recipes data {recipe}"]
        print("".join(f"{command}\n" for command in fetch), end="")
        runs = {}
        for run, config in found.runs.items():
            name = recipe if len(found.runs) == 1 else f"{recipe}:{run}"
            runs[run] = found.launcher.commands(name, config.model, config.trl_options)
            print("\n".join(runs[run]))
        write({"title": found.title, "source": found.source, "fetch": fetch, "runs": runs})


def data(recipe: str, /) -> None:
    """Fetch a recipe's data set from the hub, into the file that its runs read.

    Args:
        recipe: its name, or a .toml file.
    """
    found = recipes.load(recipe)
    paths = {config.data for config in found.runs.values()}
    if found.data is None or None in paths:
        print(f"{recipe} needs no data set", file=sys.stderr)
        return
    for path in paths:
        assert path is not None
        if path.exists():
            print(f"already there: {path}", file=sys.stderr)
            continue
        print(f"{hub_data.fetch(found.data, path)} lines in {path}", file=sys.stderr)


COMMANDS = {
    "list": Command(place=f"{__name__}:listing", summary="every recipe with its source"),
    "show": Command(place=f"{__name__}:recipes_command", summary="the commands of a recipe's runs"),
    "data": Command(place=f"{__name__}:data", summary="fetch a recipe's data set from the hub"),
}


def main() -> int:
    """Entry point."""
    return command_line.run(
        "python -m llm_bridge.recipes", "The papers' settings, and runs for one GPU.", COMMANDS)


if __name__ == "__main__":
    run_command(main)
