"""Command line of the simulator: ``python -m simulations list | run | sweep``."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro

from entropy_theory.support import command_line, cores
from entropy_theory.support.command_line import Command
from entropy_theory.support.results import check_folders, check_writable
from entropy_theory.support.user_errors import check_choice, check_file, run_command
from simulations.names import experiments

# The rest is imported where a command needs it: xarray and all experiments take seconds.
if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn
    from xarray import Dataset

    from simulations.computing.store import Experiment
    from simulations.computing.workers import Backend
    from simulations.sweeps.file import SweepFile
    from simulations.sweeps.plan import Plan

COMMANDS = {
    "list": Command(place=f"{__name__}:list_experiments", summary="every experiment with its source"),
    "run": Command(place=f"{__name__}:run", summary="compute experiments of this package"),
    "sweep": Command(place=f"{__name__}:sweep", summary="compute a grid of runs of your own"),
}


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status. By default the arguments are those of the process."""
    return command_line.run(
        "python -m simulations", "Results are kept, and a killed command continues from them.",
        COMMANDS, ("python -m simulations run aepo-figure-1",
                   "python -m simulations run all --profile smoke --output build/smoke",
                   "python -m simulations sweep targets.toml --jobs 8"), arguments)


def list_experiments(*, json: Path | None = None) -> int:
    """Print one experiment a line: name, source, title.

    Args:
        json: write the list to this file; "-" prints it.
    """
    command_line.print_list(("name", "source", "title"), experiments(), json)
    return 0


@contextmanager
def _bars(count: ProgressColumn) -> Iterator[Progress]:
    """Show progress bars on stderr, so that stdout holds only the results."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("{task.description}"), BarColumn(), count, TaskProgressColumn(),
        TimeRemainingColumn(), console=Console(file=sys.stderr),
    ) as bars:
        yield bars


def run(
    names: tyro.conf.Positional[tuple[str, ...]] = (),
    /,
    *,
    output: Path = Path("build/simulations"),
    profile: Literal["smoke", "default", "full"] = "default",
    seed: int = 0,
    jobs: int = 1,
    json: Path | None = None,
) -> int:
    """Compute experiments; finished ones are not computed again.

    A command that was interrupted or killed continues where it stopped: finished experiments are kept,
    and the finished cells of others. Exit status 2 on an error.

    examples:
      policy-entropy simulate aepo-figure-1
      policy-entropy simulate all --profile smoke --output build/smoke
      policy-entropy simulate rules-at-equal-reward --profile full --jobs 8

    Args:
        names: The experiments to compute, or "all"; without a name they are listed.
        output: Directory of the results, one NetCDF file per experiment.
        profile: Size: smoke takes seconds, default minutes in all, full much longer.
        seed: Seed of starts and samples; the same seed gives the same result.
        jobs: Processes for the cells of experiments that are made of cells.
        json: Write the list, or file, caption and sizes of each result, to this file; "-" prints it.
    """
    if not names:
        return list_experiments(json=json)
    known = [one.name for one in experiments()]
    asked = known if "all" in names else list(dict.fromkeys(names))
    for name in asked:
        check_choice(name, known, "experiment")
    if seed < 0:
        raise ValueError(f"seed must be at least 0, got {seed}")
    from rich.progress import MofNCompleteColumn

    from simulations.computing.store import is_done, path_of
    from simulations.computing.workers import in_this_process, local_processes
    from simulations.experiments import EXPERIMENTS

    chosen = {name: EXPERIMENTS[name.replace("-", "_")] for name in asked}
    backend = in_this_process if jobs == 1 else local_processes(jobs)
    for experiment in chosen.values():
        if not is_done(experiment, output, profile=profile, seed=seed):
            check_writable(path_of(experiment, output))
    with (command_line.keeping("finished experiments and cells are kept, and the same command goes on"),
          command_line.json_output(json) as write, _bars(MofNCompleteColumn()) as bars):
        write([_result(name, experiment, bars, output, profile, seed, backend)
               for name, experiment in chosen.items()])
    return 0


def _result(
    name: str, experiment: Experiment, bars: Progress, output: Path, profile: str, seed: int,
    backend: Backend,
) -> dict[str, Any]:
    """Compute an experiment, or read what was kept of it; print and return where it is."""
    from simulations.computing.store import is_done, path_of, result

    work = experiment.work(experiment.profiles[profile])
    task = bars.add_task(name, total=work)
    if is_done(experiment, output, profile=profile, seed=seed):
        bars.update(task, completed=work, description=f"{name} (kept)")
    dataset = result(
        experiment, output, profile=profile, seed=seed,
        progress=functools.partial(bars.advance, task), backend=backend, notify=bars.console.print)
    bars.update(task, completed=work)
    file = path_of(experiment, output)
    print(f"{file}\n  {dataset.attrs['caption']}")
    return {"name": name, "file": file, "profile": profile, "seed": seed, **_described(dataset)}


def _described(dataset: Dataset) -> dict[str, Any]:
    """Return the caption and the sizes of a Dataset."""
    return {"caption": dataset.attrs["caption"], "sizes": dict(dataset.sizes)}


def sweep(
    file: tyro.conf.Positional[Path],
    /,
    *,
    output: Path = Path("build/sweeps"),
    jobs: int | None = None,
    seed: int | None = None,
    json: Path | None = None,
    cluster: str | None = None,
    dry_run: bool = False,
) -> int:
    """Compute a grid of runs of your own, described in a TOML file, as one Dataset with a CSV summary.

    Every computed run is kept: a killed command continues where it stopped, and another value on an axis
    costs only its own runs. Exit status 1 if runs have no result because they diverged or a process died.
    The other runs are kept, and the failures are listed.

    examples:
      policy-entropy sweep targets.toml --dry-run
      policy-entropy sweep targets.toml --jobs 8
      dask scheduler & dask worker tcp://localhost:8786 --nworkers 8 --nthreads 1 &
      policy-entropy sweep targets.toml --cluster tcp://localhost:8786

    {TARGETS}

    Args:
        file: The sweep, in TOML.
        output: Folder of the Dataset NAME.nc, its summary NAME.csv and the computed runs in NAME.cells.
        jobs: Number of local processes of one thread each; by default one per core.
        seed: Seed of starts and samples, in place of the file's; runs of other seeds are kept.
        json: Write the results, or with --dry-run the plan, to this file; "-" prints it.
        cluster: Address of a Dask scheduler, whose workers compute instead of local processes.
        dry_run: Print the cells and an estimate of the work, and compute nothing.
    """
    check_file(file, "a sweep file")
    from simulations.computing.cluster import dask_cluster
    from simulations.computing.workers import local_processes
    from simulations.sweeps.file import read_sweep
    from simulations.sweeps.sweep import path_of

    found = read_sweep(file, seed)
    # Here, so that a dry run refuses what the run itself would.
    check_folders(path_of(found, output))
    if cluster is not None and jobs is not None:
        raise ValueError("--jobs are local processes: leave it out with --cluster")
    workers = cores.usable() if jobs is None else jobs
    backend = local_processes(workers) if cluster is None else dask_cluster(cluster)
    with (command_line.keeping("finished runs are kept, and the same command goes on"),
          command_line.json_output(json) as write):
        if dry_run:
            write(_planned(found, output, workers, on_cluster=cluster is not None))
            return 0
        outcome = _computed(found, output, backend)
        write(outcome)
    return 1 if outcome["lost"] else 0


TARGETS = """\
targets.toml:

    n_starts = 8                      # policies started from each problem
    seed = 0                          # of the starts and of samples
    [problem]                         # kind = "bandit" (simulations.problems.bandits.Bandit), or
    n_actions = 20                    # "tokens" (simulations.problems.token_trees.TokenProblem)
    [rule]                            # an update rule and its options
    name = "aepo"
    base = { name = "grpo", clip_high = 0.28 }
    [dynamics]                        # options of simulations.engine.Dynamics
    steps = 4000
    samples = { group_size = 8 }      # left out: exact expectation
    [grid]                            # lists of values: every combination is computed
    problem.n_correct = [1, 4, 8]
    rule.target = [0.25, 0.5, 1.0]
    dynamics.learning_rate = [0.1, 0.5]

[[rule]] several times, each with a label, makes an axis of rules; [[problem]] one of problems. A rule
of your own is name = "my_rules.py:Thrifty"."""
"""The part of a sweep's help on its file."""
sweep.__doc__ = inspect.cleandoc(sweep.__doc__ or "").replace("{TARGETS}", TARGETS)


def _computed(sweep: SweepFile, output: Path, backend: Backend) -> dict[str, Any]:
    """Compute a sweep; return the results, and the runs without one."""
    from rich.progress import TextColumn

    from simulations.sweeps import sweep as sweeps

    with _bars(TextColumn("{task.fields[cells]}")) as bars:
        task = bars.add_task(sweep.name, total=None, cells="")
        done = n_cells = 0

        def planned(todo: Plan) -> None:
            nonlocal n_cells
            n_cells = len(todo.cells)
            if todo.n_kept:
                bars.console.print(f"{todo.n_kept} of {len(todo.runs)} runs are kept")
            bars.update(task, total=max(todo.updates, 1), cells=f"0/{n_cells} cells")

        def cell_done(message: str) -> None:
            nonlocal done
            done += 1
            bars.update(task, cells=f"{done}/{n_cells} cells")
            if message:
                bars.console.print(f"a cell failed: {message}")

        dataset, lost = sweeps.compute(
            sweep, output, backend, planned=planned, progress=functools.partial(bars.advance, task),
            cell=cell_done,
            waiting=lambda: bars.console.print(f"another process computes {sweep.name}: waiting"))
        bars.update(task, completed=bars.tasks[0].total or 1)
    without = [{"runs": sweeps.in_words(sweep, one.runs), "message": one.message} for one in lost]
    for one in without:
        print(f"no result at {one['runs']}: {one['message']}", file=sys.stderr)
    file = sweeps.path_of(sweep, output)
    print(f"{file}\n  {dataset.attrs['caption']}")
    return {"file": file, "summary": file.with_suffix(".csv"), "lost": without, **_described(dataset)}


def _planned(sweep: SweepFile, output: Path, workers: int, *, on_cluster: bool) -> dict[str, Any]:
    """Print the plan of a sweep, and return it."""
    from simulations.sweeps import sweep as sweeps
    from simulations.sweeps.plan import plan

    todo = plan(sweep, sweeps.cells_of(sweep, output))
    for axis in sweep.axes:
        print(f"{axis.path}: {', '.join(map(str, axis.labels))}")
    by_key = {run.key: run for run in todo.runs}
    cells = []
    for number, cell in enumerate(todo.cells, start=1):
        runs = [by_key[key] for key in cell.run_keys]
        where = sweeps.in_words(sweep, runs)
        print(f"cell {number}: {len(runs)} runs of {cell.dynamics.steps} steps, {where}")
        cells.append({"runs": len(runs), "steps": cell.dynamics.steps, "where": where})
    workers = min(workers, max(len(todo.cells), 1))
    seconds = sweeps.estimated_seconds(todo) / workers
    where = "on the cluster, divided by its workers" if on_cluster else f"on {workers} processes"
    print(f"{len(todo.runs)} runs, {todo.n_kept} of them kept; {todo.updates:.2g} logit updates in "
          f"{len(todo.cells)} cells, about {_duration(seconds)} {where}")
    return {"axes": {axis.path: axis.labels for axis in sweep.axes}, "runs": len(todo.runs),
            "kept": todo.n_kept, "updates": todo.updates, "seconds": seconds, "cells": cells}


def _duration(seconds: float) -> str:
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"


if __name__ == "__main__":
    run_command(main)
