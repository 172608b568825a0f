"""Pairs the entropies and performances of a user's training log, by step.

::

    run = read([Path("metrics.jsonl")])
    run.entropy, run.performance, run.notes

`entropy_theory.training_logs` reads the log, in any form. Several logs of one run are joined by step.
Nothing is smoothed, interpolated or filled in: only steps that have both numbers count, and ``notes``
says how many were left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from entropy_theory.support.user_errors import lookup, one_line
from entropy_theory.training_logs import logs
from entropy_theory.training_logs.logs import Run, Series
from entropy_theory.training_logs.names import Quantity, engines

FEWEST = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedRun:
    """The entropies and performances of one run, in the order of training.

    Attributes:
        step: [N], increasing.
        entropy: [N], nats per token.
        performance: [N].
        entropy_name: the column that was read as entropy.
        performance_name: the column that was read as performance.
        notes: what was left out or chosen, one sentence each.
        others: columns that could have been read in place of these, by "entropy" and "performance".
    """

    step: np.ndarray
    entropy: np.ndarray
    performance: np.ndarray
    entropy_name: str
    performance_name: str
    notes: tuple[str, ...]
    others: dict[str, tuple[str, ...]] = field(default_factory=dict)


def read(
    paths: Sequence[Path],
    *,
    entropy: str | None = None,
    performance: str | None = None,
    step: str | None = None,
    run: str | None = None,
    within: float = 0.0,
) -> LoggedRun:
    """Read the logs of one run, find its columns, and pair them by step.

    Args:
        paths: files or folders, joined by step.
        entropy: name of the entropy column; with None it is recognized by its name.
        performance: name of the reward or accuracy column; with None it is recognized by its name.
        step: name of the step column; with None it is recognized by its name, and rows are counted where
            there is none.
        run: which run to read, where a log holds several.
        within: farthest distance in steps at which a performance without an entropy at its step takes the
            nearest one. Where performance is logged more often, an entropy takes the nearest performance.

    Raises:
        ValueError: a log that cannot be read, or a run that is not there. Columns that are not there
            (those that are get named), or one column for both. Fewer than 3 steps with both numbers.
    """
    if not paths:
        raise ValueError("no log given: name a CSV, a metrics.jsonl or a folder of TensorBoard events")
    if entropy is not None and entropy == performance:
        raise ValueError(f"column '{entropy}' is given for both the entropy and the performance: name "
                         "another with --entropy or --performance")
    if not within >= 0:
        raise ValueError(f"within must be at least 0 steps, got {within}")
    asked: dict[Quantity, str] = {}
    if entropy is not None:
        asked["entropy"] = entropy
    if performance is not None:
        asked["reward"] = performance
    parts, notes = _of_one_run(logs.read(paths, asked, step=step), run)
    where = ", ".join(map(str, paths))
    first = _series(parts, ("entropy", "entropy_sampled"), "entropy", where)
    second = _series(parts, ("reward",), "performance", where)
    notes += [note for part in parts for note in part.notes]
    left_out = "".join(f"; {note}" for note in dict.fromkeys(notes))
    try:
        pairs = _paired(first, second, within, notes)
    except ValueError as error:
        raise ValueError(f"{where}: {error}{left_out}") from None
    if (least := pairs[:, 1].min()) < 0:
        raise ValueError(
            f"{where}: '{first.column}' is as low as {least:g}, and no entropy is below 0 nats. Name the "
            "column of the mean token entropy with --entropy; some trainers log minus the entropy")
    if (most := pairs[:, 1].max()) > logs.MOST_NATS:
        raise ValueError(
            f"{where}: '{first.column}' is as high as {most:g}, and no mean over tokens is above "
            f"{logs.MOST_NATS} nats: name the column of the mean token entropy with --entropy")
    return LoggedRun(
        step=pairs[:, 0], entropy=pairs[:, 1], performance=pairs[:, 2], entropy_name=first.column,
        performance_name=second.column, notes=tuple(dict.fromkeys(notes)),
        others={"entropy": first.runners_up, "performance": second.runners_up},
    )


def _of_one_run(runs: Sequence[Run], asked: str | None) -> tuple[list[Run], list[str]]:
    """Return the logs of the run asked for, or of the only one that has both quantities."""
    named: dict[str, list[Run]] = {}
    for one in runs:
        named.setdefault(one.name, []).append(one)
    shared = named.pop("", [])
    if asked is not None:
        if not named:
            raise ValueError(
                f"{shared[0].path} holds one run, and run '{asked}' is asked for: leave --run out")
        return lookup(named, asked, "run") + shared, []
    if len(named) < 2:
        return [one for parts in named.values() for one in parts] + shared, []
    fit = [name for name, parts in named.items() if _has_both(parts + shared)]
    if len(fit) != 1:
        raise ValueError(f"{runs[0].path} holds {len(named)} runs: choose one with --run "
                         f"({_some(fit or named)})")
    return named[fit[0]] + shared, [
        f"of {len(named)} runs, '{fit[0]}' is read, the only one with both columns"]


def _has_both(parts: Iterable[Run]) -> bool:
    found: set[Quantity] = {quantity for part in parts for quantity in part.series}
    return "reward" in found and bool(found & {"entropy", "entropy_sampled"})


def _series(parts: Sequence[Run], quantities: Sequence[Quantity], kind: str, where: str) -> Series:
    """Return the first of some quantities that a run has."""
    for quantity in quantities:
        for part in parts:
            if quantity in part.series:
                return part.series[quantity]
    names = dict.fromkeys(name for part in parts for name in part.columns)
    reasons = [note for part in parts for note in part.notes
               if "not read as" in note or "a sum over" in note]
    held_out = [part.series["score"].column for part in parts if "score" in part.series]
    setting = next((engines()[part.engine].setting for part in parts if part.engine), "")
    summed = any("entropy_sum" in part.series for part in parts)
    raise ValueError(
        f"no column of {where} looks like the {kind}: say which with --{kind} NAME (there are "
        f"{_some(names) or 'none'})"
        + "".join(f"; {reason}" for reason in reasons)
        + (f"; '{held_out[0]}' is a held-out score" if kind == "performance" and held_out else "")
        + ("" if kind != "entropy" else "; log the response length too, by which it is divided" if summed
           else f"; it is logged with {setting}" if setting else ""))


def _some(names: Mapping[str, object] | Sequence[str]) -> str:
    shown = ", ".join(f"'{one_line(name)}'" for name in list(names)[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def _paired(entropy: Series, performance: Series, within: float, notes: list[str]) -> np.ndarray:
    """Pair two columns: [N, 3] of step, entropy and performance, in order of the step.

    The step is that of the column which is logged less often.
    """
    rare, often = sorted((performance, entropy), key=lambda series: len(series.step))
    nearest = np.abs(often.step[:, None] - rare.step).argmin(axis=0) if within else np.searchsorted(
        often.step, rare.step).clip(max=len(often.step) - 1)
    apart = np.abs(often.step[nearest] - rare.step)
    kept = apart <= within
    values = {id(rare): rare.value[kept], id(often): often.value[nearest[kept]]}
    pairs = np.column_stack([rare.step[kept], values[id(entropy)], values[id(performance)]])
    counts = [f"'{one.column}' at {len(one.step)} steps ({one.step[0]:g} to {one.step[-1]:g})"
              for one in (entropy, performance)]
    if len(pairs) < FEWEST:
        raise ValueError(
            f"{counts[0]} and {counts[1]}: {len(pairs)} steps have both, and the fit needs {FEWEST}. "
            "Pair nearby steps with --within STEPS, or name columns (--entropy, --performance, --step)")
    if not len(pairs) == len(entropy.step) == len(performance.step):
        notes.append(f"{counts[0]}, {counts[1]}: {len(pairs)} steps have both and are used")
    if moved := int(np.count_nonzero(apart[kept])):
        notes.append(f"{moved} points pair numbers of different steps, at most {within:g} apart")
    return pairs
