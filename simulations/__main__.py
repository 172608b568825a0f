"""Command line of the simulator: ``python -m simulations list`` and ``run NAME...``."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from entropy_theory.user_errors import lookup, run_command
from simulations.experiments import EXPERIMENTS
from simulations.store import is_done, path_of, result


@dataclass(frozen=True, kw_only=True, slots=True)
class List:
    """Print every experiment with its source."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Compute experiments; what is there already is not computed again."""

    names: Annotated[tuple[str, ...], tyro.conf.Positional]
    """Experiments, or "all"."""
    output: Path = Path("build/simulations")
    """Directory of the results, one NetCDF file an experiment."""
    profile: Literal["smoke", "default", "full"] = "default"
    """Size: smoke takes seconds, default under two minutes in all, full much longer."""
    seed: int = 0
    """Seed of starts and samples; same seed, same result."""


def main(arguments: list[str] | None = None) -> int:
    """Entry point; arguments from the command line by default."""
    command = tyro.cli(
        List | Run, args=arguments, prog="python -m simulations", description=__doc__
    )
    if isinstance(command, List):
        width = max(map(len, EXPERIMENTS))
        for name, experiment in EXPERIMENTS.items():
            print(f"{name:<{width}}  {experiment.source}: {experiment.title}")
        return 0
    return _run(command)


def _run(command: Run) -> int:
    names = list(EXPERIMENTS) if "all" in command.names else list(dict.fromkeys(command.names))
    if not names:
        raise ValueError(f"name an experiment, or all: {', '.join(EXPERIMENTS)}")
    experiments = [lookup(EXPERIMENTS, name, "experiment") for name in names]
    profile, seed = command.profile, command.seed
    # Progress goes to stderr, so that stdout holds the captions alone.
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
    ) as bars:
        for experiment in experiments:
            work = experiment.work(experiment.profiles[profile])
            task = bars.add_task(experiment.name, total=work)
            if is_done(experiment, command.output, profile=profile, seed=seed):
                bars.update(task, completed=work, description=f"{experiment.name} (kept)")
            advance = functools.partial(bars.advance, task)
            dataset = result(
                experiment, command.output, profile=profile, seed=seed, progress=advance
            )
            print(f"{path_of(experiment, command.output)}\n  {dataset.attrs['caption']}")
    return 0


if __name__ == "__main__":
    run_command(main)
