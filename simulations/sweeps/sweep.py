"""Runs a sweep: a grid over problems, rules and dynamics becomes one Dataset and a CSV summary.

Runs share a call of the engine where they may (`simulations.sweeps.cell`). The calls are computed by a
backend (`computing.workers`, `computing.cluster`) and kept one by one. So no run is computed again after
a kill, or when a value is added to an axis.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import xarray as xr

from entropy_theory.support.locks import exclusive
from entropy_theory.support.results import check_writable, config_key, plain, write_text
from simulations.computing.cells import Keeper, outcomes, read_cell
from simulations.computing.store import kept, save
from simulations.computing.workers import Backend, Failure, Progress, in_this_process
from simulations.experiments.grid import LONG_NAMES
from simulations.sweeps.cell import run_cell
from simulations.sweeps.file import Axis, SweepFile
from simulations.sweeps.plan import Plan, PlannedRun, plan

SUMMARY = ("entropy", "reward", "tail_entropy", "tail_reward", "tail_spread")
"""Columns of the CSV: mean and standard deviation over starts, at the end of the runs."""
TRIAL_STEPS, TRIAL_CELLS = 20, 5
"""How many steps, and of how many cells, an estimate of the time is measured on."""
UNITS = {
    "pass_at_k": "probability of a right answer among k",
    "tail_switches": "changes of the temperature in the tail",
} | LONG_NAMES


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """Runs that have no result, and the error that they share."""

    runs: tuple[PlannedRun, ...]
    message: str


def path_of(sweep: SweepFile, output: Path) -> Path:
    """Return the path of a sweep's Dataset; the CSV and the folder of its cells lie beside it."""
    return output / f"{sweep.name}.nc"


def cells_of(sweep: SweepFile, output: Path) -> Path:
    """Return the folder of a sweep's cells, which make adding to a sweep cheap."""
    return output / f"{sweep.name}.cells"


def compute(
    sweep: SweepFile,
    output: Path,
    backend: Backend = in_this_process,
    *,
    planned: Callable[[Plan], object] = lambda plan: None,
    progress: Progress = lambda updates: None,
    cell: Callable[[str], object] = lambda message: None,
    waiting: Callable[[], object] = lambda: None,
) -> tuple[xr.Dataset, list[Lost]]:
    """Compute the Dataset of a sweep and write it to ``output``; kept runs are not computed again.

    Args:
        sweep: the sweep.
        output: folder of the Dataset, the CSV and the cells.
        backend: where cells are computed.
        planned: called before the work, with the plan.
        progress: called with the number of logit updates made since the last call.
        cell: called when a cell is done, with what went wrong or "".
        waiting: called if another process is computing the same sweep.

    Returns:
        The Dataset, which is NaN where runs have no result, and the runs without one. Runs whose logits
        diverged are kept as such; runs lost to a failing process or machine are tried again next time.

    Raises:
        OSError: ``output`` cannot be written.
    """
    path, folder = path_of(sweep, output), cells_of(sweep, output)
    check_writable(path)
    with exclusive(path, waiting):
        todo = plan(sweep, folder)
        planned(todo)
        key = config_key([[run.key for run in todo.runs], plain(sweep.axes)])
        found = kept(path, key)
        if found is None or todo.cells:
            parts, failed = _computed(todo, Keeper(folder=folder, backend=backend), progress, cell)
            found = _assembled(sweep, todo.runs, parts, failed)
            found.attrs["config_key"] = "" if failed else key
            save(found, path, config={"sweep_file": sweep.text}, seed=sweep.seed)
        write_text(path.with_suffix(".csv"), summary(sweep, found))
    return found, _lost(todo.runs, found)


def _computed(
    todo: Plan, keeper: Keeper, progress: Progress, cell: Callable[[str], object]
) -> tuple[list[xr.Dataset], dict[str, str]]:
    """Return the Datasets of all cells, kept and new, and the errors of failed runs by their key."""
    files = sorted({todo.kept[run.key] for run in todo.runs if run.key in todo.kept})
    parts = [part for file in files if (part := read_cell(file)) is not None]
    failed: dict[str, str] = {}
    for place, outcome in outcomes(run_cell, todo.cells, keeper, progress):
        if isinstance(outcome, Failure):
            failed |= dict.fromkeys(todo.cells[place].run_keys, outcome.message)
            cell(outcome.message)
        else:
            parts.append(outcome)
            cell("")
    return parts, failed


def _lost(runs: Sequence[PlannedRun], dataset: xr.Dataset) -> list[Lost]:
    by_message: dict[str, list[PlannedRun]] = {}
    for place, message in json.loads(dataset.attrs["lost"]).items():
        by_message.setdefault(message, []).append(runs[int(place)])
    return [Lost(runs=tuple(found), message=message) for message, found in by_message.items()]


def _assembled(
    sweep: SweepFile, runs: Sequence[PlannedRun], parts: Sequence[xr.Dataset], failed: dict[str, str]
) -> xr.Dataset:
    """Join the cells into one Dataset over the axes.

    It is NaN where a run has no result or was shorter than others.
    """
    steps = np.unique(np.concatenate([part.step for part in parts if "step" in part] or [[]]))
    steps = steps.astype(int)
    place_of = {run.key: run.place for run in runs}
    columns: dict[str, np.ndarray] = {}
    lost = {place_of[key]: message for key, message in failed.items()}
    for part in parts:
        keys = json.loads(part.attrs["run_keys"])
        mine = np.array([i for i, key in enumerate(keys) if key in place_of], dtype=int)
        places = np.array([place_of[keys[i]] for i in mine], dtype=int)
        errors = {int(i): message for i, message in json.loads(part.attrs["errors"]).items()}
        lost |= {place: errors[i] for i, place in zip(mine.tolist(), places.tolist(), strict=True)
                 if i in errors}
        for name, variable in part.data_vars.items():
            values = variable.transpose("run", ...).values
            is_curve = "step" in variable.dims
            shape = (len(runs), *((len(steps),) if is_curve else ()), *values.shape[1 + is_curve :])
            column = columns.setdefault(str(name), np.full(shape, np.nan))
            if is_curve:
                column[np.ix_(places, np.searchsorted(steps, part.step))] = values[mine]
            else:
                column[places] = values[mine]
    names = axis_names(sweep.axes, (*columns, "start", "step", "k"))
    dims = (*names, "start")
    sizes = (*(len(axis.values) for axis in sweep.axes), sweep.n_starts)
    dataset = xr.Dataset(
        {
            name: ((*dims, *("step", "k")[: values.ndim - 1]), values.reshape(*sizes, *values.shape[1:]))
            for name, values in columns.items()
        },
        coords={
            **{name: list(axis.labels) for name, axis in zip(names, sweep.axes, strict=True)},
            "start": np.arange(sweep.n_starts),
        },
    )
    if columns:
        dataset = dataset.assign_coords(step=steps, k=list(sweep.record.pass_at))
    for name, axis in zip(names, sweep.axes, strict=True):
        dataset[name].attrs["long_name"] = axis.path
    for known in UNITS.keys() & columns.keys():
        dataset[known].attrs["long_name"] = UNITS[known]
    dataset.attrs["lost"] = json.dumps(dict(sorted(lost.items())))
    dataset.attrs["title"] = f"Sweep {sweep.name}"
    dataset.attrs["caption"] = _caption(sweep, len(lost))
    return dataset


def axis_names(axes: Sequence[Axis], taken: Sequence[str]) -> list[str]:
    """Name a dimension for each axis: after the option, or by its whole path where that name is taken."""
    last = [axis.path.split(".")[-1] for axis in axes]
    return [
        axis.path.replace(".", "_") if name in taken or last.count(name) > 1 else name
        for axis, name in zip(axes, last, strict=True)
    ]


def _caption(sweep: SweepFile, n_lost: int) -> str:
    axes = ", ".join(f"{axis.path} ({len(axis.values)})" for axis in sweep.axes)
    runs = len(sweep.points) * sweep.n_starts
    return (f"{runs} runs over {axes or 'no axis'}, {sweep.n_starts} starts each; "
            f"runs without a result: {n_lost}.")


def final(dataset: xr.Dataset) -> xr.Dataset:
    """Return each run's entropy and reward at its last record, and their means over the tail."""
    return xr.Dataset({name: _last(dataset[name]) for name in SUMMARY})


def _last(variable: xr.DataArray) -> xr.DataArray:
    if "step" not in variable.dims:
        return variable
    backwards = variable.notnull().isel(step=slice(None, None, -1))
    last = variable.sizes["step"] - 1 - backwards.argmax("step")
    return variable.isel(step=last).drop_vars("step")


def summary(sweep: SweepFile, dataset: xr.Dataset) -> str:
    """Return the CSV: for each combination one line, mean and standard deviation over its starts."""
    # In the order of the axes: a Dataset that was read from its file has its coordinates in another.
    by_path = {found.attrs.get("long_name"): str(name) for name, found in dataset.coords.items()}
    names = [by_path[axis.path] for axis in sweep.axes]
    rows = pandas.DataFrame(
        list(itertools.product(*(axis.labels for axis in sweep.axes))), columns=names, dtype=object)
    lost = [int(place) for place in json.loads(dataset.attrs["lost"])]
    counts = np.bincount(np.asarray(lost, dtype=int) // sweep.n_starts, minlength=len(rows))
    rows = rows.assign(runs=sweep.n_starts, lost=counts)
    values = final(dataset) if "entropy" in dataset else xr.Dataset()
    for name in values:
        found = pandas.DataFrame(values[name].transpose(*names, "start").values.reshape(len(rows), -1))
        found = found.where(np.isfinite(found))
        rows = rows.assign(**{f"{name}_mean": found.mean(axis=1), f"{name}_std": found.std(axis=1)})
    return rows.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def in_words(sweep: SweepFile, runs: Sequence[PlannedRun]) -> str:
    """Describe these runs: the values of each axis among them, and the starts."""
    shape = tuple(len(axis.values) for axis in sweep.axes)
    points = [run.place // sweep.n_starts for run in runs]
    places = np.unravel_index(points, shape) if shape else ()
    pieces = [
        f"{axis.path} = {_listed([axis.labels[i] for i in np.unique(column)])}"
        for axis, column in zip(sweep.axes, places, strict=True)
    ]
    return ", ".join([*pieces, f"start {_listed([run.start for run in runs])}"])


def _listed(values: Sequence[Any], at_most: int = 6) -> str:
    distinct = list(dict.fromkeys(values))
    more = f", ... ({len(distinct)} values)" if len(distinct) > at_most else ""
    return ", ".join(str(value) for value in distinct[:at_most]) + more


def estimated_seconds(todo: Plan) -> float:
    """Estimate, from a few steps of a few cells, how long the cells would take one after the other."""
    every = max(1, len(todo.cells) // TRIAL_CELLS)
    seconds = steps = 0.0
    for cell in todo.cells[::every]:
        trial = min(TRIAL_STEPS, cell.dynamics.steps)
        dynamics = dataclasses.replace(cell.dynamics, steps=trial)
        begin = time.perf_counter()
        run_cell(dataclasses.replace(cell, dynamics=dynamics), lambda updates: None)
        seconds += (time.perf_counter() - begin) / trial * cell.dynamics.steps
        steps += cell.dynamics.steps
    return seconds / steps * sum(cell.dynamics.steps for cell in todo.cells) if steps else 0.0
