"""``python -m llm_bridge.recipes list | show RECIPE | data RECIPE``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Literal

import tyro

from entropy_theory.support.user_errors import run_command
from llm_bridge import recipes
from llm_bridge.recipes import hub_data


def listing(folder: Literal["gpu-small", "paper"] | None = None, /) -> None:
    """Print one recipe a line: name, number of runs, what it runs, its source.

    Args:
        folder: gpu-small or paper; both by default.
    """
    for name in recipes.names(folder):
        recipe = recipes.load(name)
        print(f"{name}\t{len(recipe.runs)}\t{recipe.title}\t{recipe.source}")


def show(recipe: str, /, *, launcher: str | None = None) -> None:
    """Print the commands of each run of a recipe.

    Args:
        recipe: its name, or a .toml file.
        launcher: a launcher in place of the recipe's own (8-gpus, 5-machines).
    """
    found = recipes.load(recipe, launcher=launcher)
    print(f"# {found.title} ({found.source})")
    if found.data is not None:
        print(f"python -m llm_bridge.recipes data {recipe}")
    for run, config in found.runs.items():
        name = recipe if len(found.runs) == 1 else f"{recipe}:{run}"
        print("\n".join(found.launcher.commands(name, config.model, config.trl_options)))


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


COMMANDS: dict[str, Callable[..., Any]] = {"list": listing, "show": show, "data": data}


def main() -> None:
    """Entry point."""
    tyro.extras.subcommand_cli_from_dict(COMMANDS, prog="python -m llm_bridge.recipes")


if __name__ == "__main__":
    run_command(main)
