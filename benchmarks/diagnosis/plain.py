"""Plain criteria that say which findings a run's numbers bear out; fixed before any diagnosis was judged.

A finding that they bear out is not counted as false, even where it is not the cause. A run is labelled
silent where they do not show its own cause.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import stats

from benchmarks.diagnosis.causes import Case
from benchmarks.diagnosis.runs import Training

MISMATCH = "sampling/sampling_logp_difference/mean"


Records = Sequence[Mapping[str, float]]


def _column(records: Records, name: str) -> np.ndarray:
    return np.array([record[name] for record in records if name in record], dtype=float)


def silent(case: Case, records: Records) -> bool:
    """Whether what was made wrong in a run moved nothing that its records show."""
    found = shown(records)
    reward = _column(records, "reward")
    match case.cause:
        case "healthy":
            return False
        case "learning rate too high":
            return _gain(reward) > 0
        case "KL too strong":  # the policy stands still, or reward does
            return _gain(reward) > 0 and _gain(_column(records, "kl")) > 0
        case "prompt order":
            assert isinstance(case.run, Training)
            return _repeats(reward, case.run.period) > 0.05
    return not found & set(case.right)


def _repeats(values: np.ndarray, period: int) -> float:
    """Return how likely chance makes a series, less its trend, as alike at equal places of the period."""
    steps = np.arange(len(values))
    rest = values - np.polynomial.Polynomial.fit(steps, values, 2)(steps)
    return float(stats.f_oneway(*(rest[i::period] for i in range(period))).pvalue)


def shown(records: Records) -> set[str]:
    """Return the findings that are true of a run's records (TRL's names, all of its columns)."""
    def column(name: str) -> np.ndarray:
        return _column(records, name)

    entropy, reward = column("entropy"), column("reward")
    length, cut = column("completions/mean_length"), column("completions/clipped_ratio")
    gained = _gain(reward) > 0
    before, after = _ends(entropy)
    found: set[str] = set()
    if not gained:
        found.add("nothing learned")
        if after < 0.6 * before:
            found.add("collapse")
        if after > 1.1 * before and _gain(entropy) > 0:
            found.add("explosion")
    elif _gain(entropy) < 0:
        found.add("converging")
    if len(cut) and max(_ends(cut)) > 0.1:
        found.add("truncation")
    if len(length):
        short, long = sorted(_ends(length))
        if long > 1.15 * short:
            found.add("length drift")
        first, last = _ends(entropy * length[:len(entropy)]) if len(length) == len(entropy) else (1, 0)
        if after < before and last > first and _ends(length)[1] > _ends(length)[0]:
            found.add("dilution")
    if max(_ends(column("frac_reward_zero_std"))) > 0.6:
        found.add("no signal")
    for side in ("clip_ratio/low_mean", "clip_ratio/high_mean"):
        if len(column(side)) and max(_ends(column(side))) > 0.02:
            found.add("clipping")
    if len(column(MISMATCH)) and max(_ends(column(MISMATCH))) > 0.02:
        found.add("mismatch")
    held_out = column("eval_reward")
    if len(held_out) > 3 and gained and not _gain(held_out) > 0:
        found.add("held-out apart")
    steps = column("step")
    if np.any(np.diff(steps) < 0):
        found.add("restart")
    return found


def _ends(values: np.ndarray) -> tuple[float, float]:
    """Return the means of the first fifth and of the last."""
    size = max(1, len(values) // 5)
    return float(values[:size].mean()), float(values[-size:].mean())


def _gain(values: np.ndarray) -> int:
    """Return 1 if the last third is above the first by over two standard errors, -1 if below, or 0."""
    size = max(2, len(values) // 3)
    first, last = values[:size], values[-size:]
    error = np.sqrt(first.var(ddof=1) / size + last.var(ddof=1) / size)
    change = last.mean() - first.mean()
    return int(np.sign(change)) if abs(change) > 2 * error else 0
