"""The runs of some logs: each quantity that was found, by step, with the column that it is from.

::

    (run,) = read(["console.log"])
    run.series["entropy"].step, run.series["entropy"].value, run.notes
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from entropy_theory.support.user_errors import check_choice
from entropy_theory.training_logs.lines import number
from entropy_theory.training_logs.names import STEPS, Quantity, Recognized, is_known, recognize
from entropy_theory.training_logs.sources import Record, Source, sources

MOST_NATS = 12.5
"""No mean over tokens is above the log of the vocabulary's size; Gemma's 262,144 tokens have 12.48."""
CENTRED = 1e-6
"""A reward that is nearer to 0 at every step, and not 0 itself, is centred by group."""
BACK = 0.1
"""A step within this share of the first steps, after later ones, begins a new run."""
UNORDERED = 0.1
"""A column whose steps go back more often than at this share of its values is in no order of training."""
FEW = 5


@dataclass(frozen=True, slots=True)
class Series:
    """A quantity of a run: its values where it was logged.

    Attributes:
        column: the name that the log has.
        step: [N], increasing.
        value: [N], finite.
        runners_up: other columns of the same quantity, best first.
        broken: the first of two or more last steps whose values, and no earlier ones, are not finite.
    """

    column: str
    step: np.ndarray
    value: np.ndarray
    runners_up: tuple[str, ...] = ()
    broken: float | None = None

    def beside(self, other: Series) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the steps [M] that both have, and the values of each there."""
        step, i, j = np.intersect1d(self.step, other.step, return_indices=True)
        return step, self.value[i], other.value[j]


@dataclass(frozen=True, slots=True)
class Run:
    """One run of training.

    Attributes:
        path: the log that it is from.
        name: the run in it, where it has several.
        engine: whose names the columns have; "" where no engine's.
        series: by quantity.
        notes: parts that were left out, changed or chosen, in words.
        columns: all names that the log has.
        restarts: the steps to which it went back, as after a crash; what was logged before from there on
            is left out.
    """

    path: str
    name: str
    engine: str
    series: Mapping[Quantity, Series]
    notes: tuple[str, ...]
    columns: tuple[str, ...]
    restarts: tuple[float, ...] = ()


@dataclass(slots=True)
class _Column:
    """The values of a column in the order of the log; ``at`` counts records."""

    at: array[int] = field(default_factory=lambda: array("q"))
    step: array[float] = field(default_factory=lambda: array("d"))
    value: array[float] = field(default_factory=lambda: array("d"))

    def between(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Return steps and values of the records from ``first`` to before ``last``."""
        at = np.array(self.at)
        inside = (at >= first) & (at < last)
        return np.array(self.step)[inside], np.array(self.value)[inside]


@dataclass(slots=True)
class _Log:
    """The contents of a path while it is read: the columns of each run, all names, and notes."""

    runs: dict[str, dict[str, _Column]] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    unread: Counter[str] = field(default_factory=Counter)


def read(
    paths: Sequence[str | Path], asked: Mapping[Quantity, str] | None = None, *, step: str | None = None,
) -> list[Run]:
    """Read all runs of some logs.

    Args:
        paths: files and folders; "-" is standard input.
        asked: columns that a user names, by quantity.
        step: the step column; found by its name if None, and rows are counted where there is none.

    Raises:
        ValueError: a path that holds no log, or a column that is not there.
    """
    asked = asked or {}
    logs = {str(path): _read(sources(path), step, frozenset(asked.values())) for path in paths}
    names = [name for log in logs.values() for name in log.names]
    for path, log in logs.items():
        if not any(log.runs.values()):
            seen = ", ".join(f"'{name}'" for name in list(log.names)[:12])
            raise ValueError(
                f"{path} holds no numbers of training that could be read"
                + (f" (its columns are {seen}): name those of entropy and reward (--help)" if seen else
                   ": give a console log, JSON lines, CSV with a line of names, or a folder of "
                   "TensorBoard, W&B or MLflow"))
    for name in (*asked.values(), *([step] if step else [])):
        check_choice(name, names, "column")
    return [run for path, log in logs.items() for run in _runs(path, log, asked)]


def from_records(records: Iterable[Mapping[str, Any]], name: str) -> list[Run]:
    """Return the runs of records that a program holds, such as transformers' ``state.log_history``.

    Args:
        records: names with numbers, one record per step or more, in the order of training.
        name: a name in place of a path.
    """
    plain = (Record(dict(record)) for record in records)
    return _runs(name, _read([(Source(name), plain)], None, frozenset()), {})


def _read(
    found: Iterable[tuple[Source, Iterable[Record]]], step: str | None, asked: frozenset[str]
) -> _Log:
    log, count = _Log(), -1
    for source, records in found:
        first = count + 1
        kept: dict[tuple[str, ...], tuple[str | None, list[tuple[str, str, str]]]] = {}
        for place, record in enumerate(records):
            count += 1
            names = tuple(record.values)
            if names not in kept:
                kept[names] = (_step_column(names, step), _wanted(names, asked))
                log.names |= dict.fromkeys(name for _, _, name in _by_run(names))
            own, wanted = kept[names]
            at = float(place) if own is None else number(record.values[own])
            if at is None or not np.isfinite(at):
                continue
            for key, run, name in wanted:
                if key == own:
                    continue
                value = number(record.values[key])
                if value is None:
                    log.unread[name] += record.values[key] not in (None, "")
                    continue
                columns = log.runs.setdefault(run or record.run, {})
                column = columns.get(name)
                if column is None:
                    column = columns[name] = _Column()
                if own is None and not source.counts_rows:
                    source.counts_rows = True
                    source.notes.append(f"{source.name} has no step column: its rows are counted")
                column.at.append(count)
                column.step.append(at)
                column.value.append(value)
        if {own for own, _ in kept.values() if own} and all(
                own is None or own.lower() == "epoch" for own, _ in kept.values()):
            log.notes += _counted(log, first, source.name)
        log.notes += source.notes
    return log


def _counted(log: _Log, first: int, name: str) -> list[str]:
    """Count the records from the ``first`` on, where their epochs are fractions.

    Transformers prints no step, and epochs with few digits: as steps they would leave one of many.
    """
    columns = [column for own in log.runs.values() for column in own.values()]
    longest = max(columns, key=lambda column: len(column.at), default=_Column())
    step = np.array(longest.step)[np.array(longest.at, dtype=int) >= first]
    if np.array_equal(step, np.unique(step.round())):
        return []
    for column in columns:
        for place, at in enumerate(column.at):
            if at >= first:
                column.step[place] = at - first + 1
    return [f"{name} has epochs, but no step: steps here are numbers of records"]


def _step_column(names: Iterable[str], asked: str | None) -> str | None:
    if asked is not None:
        return asked if asked in names else None
    by_name = {name.lower(): name for name in names}
    return next((by_name[name] for name in STEPS if name in by_name), None)


def _wanted(names: Sequence[str], asked: frozenset[str]) -> list[tuple[str, str, str]]:
    """Return the columns that may be a quantity: key in the record, run, name."""
    return [one for one in _by_run(names) if one[2] in asked or is_known(one[2])]


def _by_run(names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Split W&B's "run - metric" columns, whose __MIN and __MAX are left out; others have no run."""
    bounds = [name for name in names if re.search(r"__(MIN|MAX)$", name)]
    rest = [name for name in names if name not in bounds]
    charted = [name for name in rest if " - " in name]
    if not charted or (not bounds and len(charted) < len(rest) - 1):
        return [(name, "", name) for name in names]
    parts = [(name, name.rpartition(" - ")) for name in rest]
    return [(name, run, metric) for name, (run, _, metric) in parts]


# ------------------------------------------------------------------ runs


def _runs(path: str, log: _Log, asked: Mapping[Quantity, str]) -> list[Run]:
    shared = log.runs.get("", {})
    named = {name: {**shared, **columns} for name, columns in log.runs.items() if name} or {"": shared}
    found = []
    for name, columns in named.items():
        bounds = _bounds(columns)
        for part, (first, last) in enumerate(pairwise(bounds), 1):
            parts = [*([name] if name else []), *([f"run {part}"] if len(bounds) > 2 else [])]
            pieces = {key: column.between(first, last) for key, column in columns.items()}
            found.append(_run(path, ", ".join(parts), pieces, log, asked))
    return [run for run in found if run.series] or found[:1]


def _bounds(columns: Mapping[str, _Column]) -> list[int]:
    """Return the records where runs begin, by the column that has most values, and one past the last."""
    last = 1 + max((column.at[-1] for column in columns.values() if column.at), default=0)
    if not columns:
        return [0, last]
    longest = max(columns.values(), key=lambda column: len(column.at))
    step, at = np.array(longest.step), np.array(longest.at)
    back = np.flatnonzero(np.diff(step) < 0) + 1
    begins, start = [0], 0
    if len(back) <= UNORDERED * len(step):
        for place in map(int, back):
            before = step[start:place]
            if len(before) >= FEW and step[place] <= before.min() + BACK * np.ptp(before):
                begins.append(int(at[place]))
                start = place
    return [*begins, last]


def _run(
    path: str, name: str, pieces: Mapping[str, tuple[np.ndarray, np.ndarray]], log: _Log,
    asked: Mapping[Quantity, str],
) -> Run:
    own, restarts = list(log.notes), list[float]()
    ordered = {key: _in_order(*piece, restarts) for key, piece in pieces.items() if len(piece[0])}
    known = recognize(ordered)
    series: dict[Quantity, Series] = {}
    for quantity in dict.fromkeys((*asked, *known.columns)):
        chosen = _choose(quantity, ordered, known, asked, own)
        if chosen is not None:
            series[quantity] = chosen
    own += [f"{count} values of '{column}' are not numbers and left out"
            for column in (one.column for one in series.values()) if (count := log.unread[column])]
    back = tuple(sorted(set(restarts)))
    if back:
        own.append(f"the run went back to step {', '.join(f'{step:g}' for step in back[:5])}: what was "
                   "logged before from there on is left out")
    _check_units(series, asked, own)
    return Run(path, name, known.engine, series, tuple(dict.fromkeys(own)), tuple(log.names), back)


def _in_order(
    step: np.ndarray, value: np.ndarray, restarts: list[float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return values by step; where steps go back as after a crash, later records replace earlier ones."""
    back = np.flatnonzero(np.diff(step) < 0) + 1
    kept = np.ones(len(step), dtype=bool)
    if len(back) <= max(1, UNORDERED * len(step)):
        for place in back:
            kept[:place] &= step[:place] < step[place]
            restarts.append(float(step[place]))
    step, value = step[kept], value[kept]
    order = np.argsort(step, kind="stable")
    step, value = step[order], value[order]
    last = np.append(step[1:] != step[:-1], True)  # the last of several values at a step counts
    return step[last], value[last]


def _choose(
    quantity: Quantity, pieces: Mapping[str, tuple[np.ndarray, np.ndarray]], known: Recognized,
    asked: Mapping[Quantity, str], notes: list[str],
) -> Series | None:
    others = known.columns.get(quantity, ())
    names = (asked[quantity],) if quantity in asked else others
    for name in names:
        step, value = pieces.get(name, (np.empty(0), np.empty(0)))
        finite = np.isfinite(value)
        if not finite.any():
            if len(value):
                notes.append(f"'{name}' is not finite at any step, and is not read")
            continue
        if quantity == "reward" and quantity not in asked and 0 < np.abs(value[finite]).max() < CENTRED:
            notes.append(f"'{name}' is 0 at every step, to {CENTRED:g}: it may be centred by group, and "
                         "is not read as the reward")
            continue
        if lost := int(np.count_nonzero(~finite)):
            last = step[finite][-1]
            notes.append(f"{lost} values of '{name}' are not finite and left out"
                         + (f", all after step {last:g} among them" if last < step[-1] else ""))
        whole = 1 < lost == len(finite) - np.argmin(finite)
        return Series(name, step[finite], value[finite], tuple(one for one in others if one != name),
                      float(step[-lost]) if whole else None)
    return None


def _check_units(
    series: dict[Quantity, Series], asked: Mapping[Quantity, str], notes: list[str]
) -> None:
    """Take an entropy that cannot be a mean over tokens for a sum, and refuse one below 0."""
    for quantity in ("entropy", "entropy_sampled"):
        found = series.get(quantity)
        if found is None or quantity in asked:
            continue
        if np.median(found.value) > MOST_NATS:
            del series[quantity]
            series.setdefault("entropy_sum", found)
            notes.append(
                f"'{found.column}' is about {np.median(found.value):.3g}: no mean over tokens is above "
                f"{MOST_NATS} nats, so it is taken for a sum over the response")
        elif quantity == "entropy" and found.value.min() < 0:
            del series[quantity]
            notes.append(f"'{found.column}' is as low as {found.value.min():.3g}, and an entropy is at "
                         "least 0 nats: it is not read as one (some trainers log a loss, minus the "
                         "entropy)")
    if "entropy_sum" in series and "entropy" not in series and "length" in series:
        total, length = series["entropy_sum"], series["length"]
        both, sums, lengths = total.beside(length)
        if len(both):
            series["entropy"] = Series(f"{total.column} / {length.column}", both,
                                       sums / np.maximum(lengths, 1))
            notes.append(f"entropy per token is '{total.column}' divided by '{length.column}'")
