"""What there is to do for a sweep: its runs, those that are kept, and the cells of the others.

How runs are put into cells depends on the sweep alone, not on the number of workers, so that a resumed
sweep makes the calls that an uninterrupted one makes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from entropy_theory.support.results import config_key
from simulations.computing.cells import identity_of, read_cell
from simulations.computing.code_digest import code_digest
from simulations.engine.simulation import BLOCK
from simulations.sweeps.cell import Cell, logits_per_run, per_run_values, run_cell, stacked
from simulations.sweeps.file import Point, SweepFile

UPDATES = 2 * 10**9
"""Logit updates of a cell, about: tens of seconds, the most that a kill costs a worker."""
ADDED = 2**32
"""Runs added to a sweep that is kept are numbered from here on, so that they share no samples with
those that are there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """One policy of a sweep."""

    place: int
    """Among all runs: that of its point, then of its start."""
    point: Point
    start: int
    """Number of the start, for the point's seed."""
    key: str
    """Digest of all that determines it, code included."""
    group: str
    """Equal for runs that may share a call of the engine."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """The runs of a sweep in a folder."""

    runs: tuple[Run, ...]
    """Of the points in their order, then by start."""
    kept: Mapping[str, Path]
    """The cell's file of each run that is there, by the run's key."""
    cells: tuple[Cell, ...]
    """Of the runs that are not."""

    @property
    def updates(self) -> int:
        """Logit updates to be made."""
        return sum(cell.updates for cell in self.cells)

    @property
    def n_kept(self) -> int:
        """Runs of this sweep that are there."""
        return sum(run.key in self.kept for run in self.runs)


def plan(sweep: SweepFile, folder: Path) -> Plan:
    """The runs of a sweep, and the cells that ``folder`` does not hold yet."""
    runs = tuple(_runs(sweep))
    kept = {
        key: path for path in sorted(folder.glob("[!.]*.nc"))
        if (cell := read_cell(path)) is not None for key in json.loads(cell.attrs["run_keys"])
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


def _runs(sweep: SweepFile) -> Iterator[Run]:
    shared = [code_digest(run_cell.__module__), identity_of(sweep.record)]
    for number, point in enumerate(sweep.points):
        found = identity_of(point)
        common = config_key([*shared, json.dumps(found)])
        for path in per_run_values(point.dynamics):
            place = found["dynamics"]
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = None
        if point.dynamics.samples is None and point.dynamics.rule.pools_equal_rewards:
            found["dynamics"]["seed"] = None  # nothing is random but the starts
        group = json.dumps(found)
        for start in range(sweep.n_starts):
            yield Run(
                place=number * sweep.n_starts + start, point=point, start=start,
                key=config_key([common, start]), group=group,
            )


def _calls(runs: Sequence[Run]) -> Iterator[tuple[int, list[Run]]]:
    """The runs of each call of the engine, and the number of the first within its group."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.group, []).append(run)
    for group in groups.values():
        point = group[0].point
        one = logits_per_run(point.problem)
        size = max(1, BLOCK // one, UPDATES // (one * point.dynamics.steps))
        for first in range(0, len(group), size):
            yield first, group[first : first + size]
