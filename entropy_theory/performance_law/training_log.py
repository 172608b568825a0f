"""Reads a user's training log (CSV, JSON lines, TensorBoard, W&B) as pairs of entropy and performance.

    run = read([Path("metrics.jsonl")])
    run.entropy, run.performance, run.notes

These formats are read, recognized by content and not by name:

- CSV (comma, semicolon or tab) whose first line names the columns, W&B's export of a chart among them
  ("run - metric", with its __MIN and __MAX columns, which are left out);
- JSON lines: our metrics.jsonl, W&B's history, verl's file logger (nested names are joined by a dot);
- a JSON list of such records, or a trainer_state.json of Hugging Face (its ``log_history``);
- TensorBoard event files, or a folder of them (needs the package ``tensorboard``); a folder with a
  metrics.jsonl is that file, and one without event files, but with a trainer_state.json, is that one.

Several logs are joined by step. Nothing is smoothed, interpolated or filled in: only steps that have both
numbers count, and ``notes`` says how many were left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from entropy_theory.performance_law.log_formats import Log, Row, read_rows
from entropy_theory.support.user_errors import check_choice, lookup, one_line

STEPS = ("step", "_step", "global_step", "train/global_step", "training/global_step",
         "trainer/global_step", "train/step", "rollout/step", "iteration", "epoch")
"""Names of the step column, best first; case does not matter."""
MISSING = ("", "nan", "null", "none", "n/a", "na", "-")
MOST_NATS = 12.5
"""No mean over tokens is above the log of the vocabulary's size; Gemma's 262,144 tokens have 12.48."""
CENTRED = 1e-6
"""A column that is nearer to 0 at every step is centred by group, or nothing was rewarded."""
ENTROPY = (
    # Whole names first: verl (0.4 and later; before), TRL's PPO, SkyRL, prime-rl, NeMo-RL.
    r"actor/entropy|actor/entropy_loss|policy/entropy_avg|policy/policy_entropy|entropy/all/mean|"
    r"train/approx_entropy",
    r"(.*/)?entropy",
    r"(.*/)?((mean|policy|token|avg|average|actor)_entropy|entropy(_mean|_avg|_token_mean))",
    r"(.*/)?entropy_loss",
)
"""Names of entropy columns, best first; a mean is the thing itself, "entropy/mean" is "entropy"."""
PERFORMANCE = (
    # verl, slime, TRL's PPO, SkyRL, prime-rl, tinker.
    r"critic/score|rollout/raw_reward|objective/scores|reward/avg_raw_reward|reward/all/mean|"
    r"env/all/reward/total",
    r"(.*/)?reward",
    r"(.*/)?((mean|avg|average)_(reward|score|accuracy)|(reward|score|accuracy)_(mean|avg)|rewards?_total)",
    r"(.*/)?(accuracy|acc|pass@1|pass_at_1|score|performance|success_rate)",
    r"(.*/)?(rewards|critic_rewards|critic_score)",
)
NOT_UNASKED = frozenset((
    "timing", "time", "perf", "seconds", "std", "stddev", "var", "min", "max", "minimum", "maximum",
    "val", "valid", "validation", "eval", "test", "advantage", "advantages", "adv", "centered", "centred",
    "normalized", "normalised", "whitened", "target", "coef", "ref", "reference", "teacher",
))
"""Words in the names of columns that are read only where they are asked for: times, spreads and extremes,
validation (other prompts, at other steps), rewards without their mean, another policy's numbers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedRun:
    """The entropies and performances of one run, in the order of training.

    Attributes:
        step: [N], increasing.
        entropy: [N].
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
        within: a performance without an entropy at its step takes the nearest one at most so many steps
            away (and the other way round, where performance is logged more often).

    Raises:
        ValueError: a log that cannot be read, with the line and what to do; columns that are not there
            or not unique, with those that are; one column for both; a run that is not there;
            fewer than 3 steps with both numbers.
        OSError: a path that cannot be opened.
    """
    _check_asked(paths, entropy, performance, within)
    log = _read_all(paths, step)
    where = ", ".join(str(path) for path in paths)
    rows = _of_run(log, run, (entropy, performance), where)
    names = _names(rows)
    notes = list(log.notes)
    entropy_name, more = _column(names, entropy, "entropy", ENTROPY, where)
    entropies = _series(rows, entropy_name, notes)
    near = entropy_name.rpartition("/")[0]
    others = [name for name in names if name != entropy_name]
    performance_name, further = _column(others, performance, "performance", PERFORMANCE, where, near)
    performances = _series(rows, performance_name, notes)
    _check_unasked(entropies if entropy is None else {}, performances if performance is None else {},
                   (entropy_name, performance_name), where)
    try:
        pairs = _paired(entropies, performances, within, (entropy_name, performance_name), notes)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    negative = pairs[pairs[:, 1] < 0]
    if len(negative):
        raise ValueError(
            f"{where}: '{entropy_name}' is {negative[0, 1]:g} at step {negative[0, 0]:g}, and an entropy "
            "is at least 0 nats: choose the column of the mean token entropy with --entropy (some "
            "trainers log a loss, which is minus the entropy)"
        )
    return LoggedRun(
        step=pairs[:, 0], entropy=pairs[:, 1], performance=pairs[:, 2], entropy_name=entropy_name,
        performance_name=performance_name, notes=tuple(dict.fromkeys(notes)),
        others={"entropy": more, "performance": further},
    )


def _check_asked(
    paths: Sequence[Path], entropy: str | None, performance: str | None, within: float
) -> None:
    if not paths:
        raise ValueError("no log given: name a CSV, a metrics.jsonl or a folder of TensorBoard events")
    if entropy is not None and entropy == performance:
        raise ValueError(f"column '{entropy}' is given for both the entropy and the performance: name "
                         "another with --entropy or --performance")
    if not within >= 0:
        raise ValueError(f"within must be at least 0 steps, got {within}")


def _check_unasked(
    entropies: dict[float, float], performances: dict[float, float], names: tuple[str, str], where: str,
) -> None:
    """Refuse columns that were found by their names, and hold other things."""
    most = max(entropies.values(), default=0.0)
    if most > MOST_NATS:
        raise ValueError(
            f"{where}: '{names[0]}' is up to {most:g}, and no mean over tokens has more than {MOST_NATS} "
            "nats, the log of the largest vocabularies: it may be a sum over the answer; name the mean "
            "token entropy with --entropy")
    if performances and max(map(abs, performances.values())) < CENTRED:
        raise ValueError(
            f"{where}: '{names[1]}' is 0 at every step, to {CENTRED:g}: it may be centred by group; name "
            "the reward before that with --performance")


def _read_all(paths: Sequence[Path], step: str | None) -> Log:
    whole = Log({}, [])
    for path in paths:
        part = read_rows(path)
        whole.notes += part.notes
        for name, rows in part.runs.items():
            column = _step_column(_names(rows), step)
            if column is None:
                whole.notes.append(f"{path} has no step column: its rows are counted (--step names one)")
            whole.runs.setdefault(name, []).extend(
                Row(row.place, {n: v for n, v in row.values.items() if n != column},
                     count if column is None else _number(row, column))
                for count, row in enumerate(rows)
            )
    return whole


# ------------------------------------------------------------------ runs and columns


def _of_run(
    log: Log, run: str | None, asked: tuple[str | None, str | None], where: str
) -> list[Row]:
    """The rows of the run asked for, or of the only one that has both columns."""
    named = {name: rows for name, rows in log.runs.items() if name}
    shared = log.runs.get("", [])
    if run is not None and not named:
        raise ValueError(f"{where} holds one run, and run '{run}' is asked for: leave --run out")
    if run is not None:
        return lookup(named, run, "run") + shared
    if len(named) > 1:
        fit = [name for name, rows in named.items() if _has_both(_names(rows + shared), asked)]
        if len(fit) != 1:
            raise ValueError(
                f"{where} holds {len(named)} runs: choose one with --run ({_some(fit or list(named))})"
            )
        log.notes.append(f"of {len(named)} runs, '{fit[0]}' is read, the only one with both columns")
        return named[fit[0]] + shared
    return [row for rows in log.runs.values() for row in rows]


def _names(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.values))


def _has_both(names: list[str], asked: tuple[str | None, str | None]) -> bool:
    return all(
        name in names if name is not None else any(_is_of(n, patterns) for n in names)
        for name, patterns in zip(asked, (ENTROPY, PERFORMANCE), strict=True)
    )


def _step_column(names: list[str], asked: str | None) -> str | None:
    if asked is not None:
        check_choice(asked, names, "column")
        return asked
    by_name = {name.lower(): name for name in names}
    return next((by_name[name] for name in STEPS if name in by_name), None)


def _column(
    names: list[str], asked: str | None, kind: str, patterns: Sequence[str], where: str, near: str = "",
) -> tuple[str, tuple[str, ...]]:
    """Return the column asked for, or the one whose name fits best, and the others that fit.

    Names are ranked by the pattern that they match, then by depth, then by sharing the folder ``near``.
    """
    ranked = sorted((_rank(name, patterns, near), name) for name in names if _is_of(name, patterns))
    others = tuple(name for _, name in ranked if name != asked)
    if asked is not None:
        check_choice(asked, names, "column")
        return asked, others
    best = [name for rank, name in ranked if rank == ranked[0][0]]
    if len(best) == 1:
        return best[0], others[1:]
    if best:
        raise ValueError(
            f"{where}: several columns could be the {kind}: {_some(best)}; say which with --{kind} NAME"
        )
    passed = [name for name in names if _is_of(name, patterns, unasked=False)]
    raise ValueError(
        f"no column of {where} looks like the {kind}: say which with --{kind} NAME (there are "
        f"{_some(names) or 'none'}" + (
            f"; {_some(passed)}, of validation, times or spreads, must be asked for)" if passed
            else ")"))


def _is_of(name: str, patterns: Sequence[str], *, unasked: bool = True) -> bool:
    """Whether a name fits and may be chosen unasked; not ``unasked``: whether only where asked for."""
    hidden = bool(NOT_UNASKED.intersection(re.split(r"[^a-z]+", name.lower())))
    return hidden != unasked and _kind(name, patterns) is not None


def _kind(name: str, patterns: Sequence[str]) -> int | None:
    """The first pattern that a name fits, by number: "data.critic/score/mean" is "critic/score" too."""
    inner = re.sub(r"^(data|metrics)/", "", name.lower().replace(".", "/"))
    forms = (inner, re.sub(r"/(mean|avg|average)$", "", inner))
    return next((k for k, pattern in enumerate(patterns)
                 if any(re.fullmatch(pattern, form) for form in forms)), None)


def _rank(name: str, patterns: Sequence[str], near: str) -> tuple[int, int, bool]:
    kind = _kind(name, patterns)
    assert kind is not None
    return kind, len(re.split(r"[/.]", name)), name.rpartition("/")[0] != near


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{one_line(name)}'" for name in names[:12])
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")


# ------------------------------------------------------------------ numbers


def _series(rows: list[Row], name: str, notes: list[str]) -> dict[float, float]:
    """The finite values of a column by step; the last one counts where a step has several."""
    found: dict[float, float] = {}
    lost = stepless = again = 0
    for row in rows:
        if name not in row.values:
            continue
        value, at = _number(row, name), float(row.step)
        if not math.isfinite(value):
            if str(row.values[name]).strip().lower() not in ("", "none"):
                lost += 1
        elif not math.isfinite(at):
            stepless += 1
        else:
            again += at in found
            found[at] = value
    for number, what in ((lost, f"values of '{name}' are not finite and left out"),
                         (stepless, f"values of '{name}' have no step and are left out"),
                         (again, f"values of '{name}' are logged again at a step: the last one counts")):
        if number:
            notes.append(f"{number} {what}")
    return found


def _number(row: Row, name: str) -> float:
    value = row.values.get(name)
    if value is None or (isinstance(value, str) and value.strip().lower() in MISSING):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"{row.place}: column '{name}' holds {str(value)[:40]!r}, which is no number: correct or "
            "delete it, or choose another column"
        ) from None


def _paired(
    entropy: dict[float, float], performance: dict[float, float], within: float,
    names: tuple[str, str], notes: list[str],
) -> np.ndarray:
    """Pair the two columns: [N, 3] of step, entropy and performance, in order of the step.

    The step is that of the column which is logged less often.
    """
    rare, often = (
        (performance, entropy) if len(performance) <= len(entropy) else (entropy, performance)
    )
    grid = np.array(sorted(often))
    pairs, moved = [], 0
    for step in sorted(rare):
        place = step
        if step not in often:
            if not within or not len(grid):
                continue
            place = float(grid[np.argmin(np.abs(grid - step))])
            if abs(place - step) > within:
                continue
            moved += 1
        both = (often[place], rare[step])
        pairs.append((step, *(both if rare is performance else both[::-1])))
    counts = [f"'{name}' at {len(series)} steps" + (
        f" ({min(series):g} to {max(series):g})" if series else "")
        for name, series in zip(names, (entropy, performance), strict=True)]
    if len(pairs) < 3:
        raise ValueError(
            f"{counts[0]} and {counts[1]}: {len(pairs)} steps have both, and the fit needs 3; pair those "
            "nearby with --within STEPS, or check the columns (--entropy, --performance, --step)"
        )
    if not len(pairs) == len(entropy) == len(performance):
        notes.append(f"{counts[0]}, {counts[1]}: {len(pairs)} steps have both and are used")
    if moved:
        notes.append(f"{moved} points pair numbers of different steps, at most {within:g} apart")
    return np.array(pairs, dtype=float)
