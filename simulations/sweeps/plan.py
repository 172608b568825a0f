"""Plans a sweep: its runs, which of them are kept already, and the cells of the others.

The sweep alone determines how runs are put into cells, not the number of workers. So a resumed sweep
makes the calls that an uninterrupted one makes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from entropy_theory.support.results import config_key
from simulations.computing.cells import identity_of, read_cell
from simulations.computing.code_digest import code_digest
from simulations.engine.simulation import BLOCK
from simulations.engine.task import is_ours
from simulations.sweeps.cell import Cell, logits_per_run, per_run_values, run_cell, stacked
from simulations.sweeps.file import Point, SweepFile

UPDATES = 2 * 10**9
"""About how many logit updates a cell takes: tens of seconds, the most that a kill costs a worker."""
ADDED = 2**32
"""Runs added to a sweep that is kept are numbered from here on, so that they share no samples with
the runs that are kept."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedRun:
    """One policy of a sweep."""

    place: int
    """The run's place among all runs, which are ordered by point, then by start."""
    point: Point
    start: int
    """Number of the start, for the point's seed."""
    key: str
    """Digest of all that determines the run, code included."""
    group: str
    """A key that is equal for runs which may share a call of the engine."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The runs of a sweep, and what a folder holds of them."""

    runs: tuple[PlannedRun, ...]
    """All runs, in the order of the points, then of the starts."""
    kept: Mapping[str, Path]
    """For each kept run, by its key, the file of the cell that holds it."""
    cells: tuple[Cell, ...]
    """The cells of the runs that are still to be computed."""

    @property
    def updates(self) -> int:
        """The number of logit updates to be made."""
        return sum(cell.updates for cell in self.cells)

    @property
    def n_kept(self) -> int:
        """The number of runs of this sweep that are kept."""
        return sum(run.key in self.kept for run in self.runs)


def plan(sweep: SweepFile, folder: Path) -> Plan:
    """Plan the runs of a sweep, and the cells that ``folder`` does not hold yet."""
    runs = tuple(_runs(sweep))
    kept = {
        key: path for path in sorted(folder.glob("[!.]*.nc"))
        if (cell := read_cell(path)) is not None
        for key in _keys(cell.attrs.get("run_keys"))
    }
    cells = []
    for first, members in _calls(runs):
        missing = [run for run in members if run.key not in kept]
        if missing and len(missing) < len(members):
            first = ADDED + int(missing[0].key[:8], 16)
        if missing:
            cells.append(Cell(
                problem=missing[0].point.problem,
                features=missing[0].point.features,
                dynamics=stacked([run.point.dynamics for run in missing], first),
                record=sweep.record,
                starts=tuple((run.point.dynamics.seed, run.start) for run in missing),
                run_keys=tuple(run.key for run in missing),
            ))
    return Plan(runs=runs, kept=kept, cells=tuple(cells))


def _keys(kept: Any) -> list[str]:
    """The keys of a kept cell's runs; none where they are damaged, as with a cell that is."""
    try:
        found = json.loads(kept)
    except (TypeError, ValueError):
        return []
    is_list = isinstance(found, list) and all(isinstance(key, str) for key in found)
    return found if is_list else []


def _runs(sweep: SweepFile) -> Iterator[PlannedRun]:
    shared = [code_digest(run_cell.__module__), identity_of(sweep.record)]
    for number, point in enumerate(sweep.points):
        found = identity_of(point)
        common = config_key([*shared, json.dumps(found)])
        for path in per_run_values(point.dynamics):
            place = found["dynamics"]
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = None
        rule, sampler = point.dynamics.rule, point.dynamics.sampler
        is_exact = point.dynamics.samples is None and (sampler is None or not sampler.noise)
        if is_exact and is_ours(rule) and rule.needs.pools:
            found["dynamics"]["seed"] = None  # nothing is random but the starts
        group = json.dumps(found)
        for start in range(sweep.n_starts):
            yield PlannedRun(
                place=number * sweep.n_starts + start, point=point, start=start,
                key=config_key([common, start]), group=group,
            )


def _calls(runs: Sequence[PlannedRun]) -> Iterator[tuple[int, list[PlannedRun]]]:
    """Yield, for each call of the engine, the number of its first run within its group, and its runs."""
    groups: dict[str, list[PlannedRun]] = {}
    for run in runs:
        groups.setdefault(run.group, []).append(run)
    for group in groups.values():
        point = group[0].point
        one = logits_per_run(point.problem)
        size = max(1, BLOCK // one, UPDATES // (one * point.dynamics.steps))
        for first in range(0, len(group), size):
            yield first, group[first : first + size]
