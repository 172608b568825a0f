"""Compares curves of training runs: at equal values, on one schedule, with intervals.

Curves are [records, runs], as a `recorder.Trajectory` holds them.
"""

from __future__ import annotations

import numpy as np
from scipy import special


def value_when_reached(
    x: np.ndarray, y: np.ndarray, levels: np.ndarray | tuple[float, ...], *, falling: bool = False
) -> np.ndarray:
    """The value of ``y`` where ``x`` first reaches each level, NaN where it never does: [runs, levels].

    It is linear between the two records around that moment. A run that starts beyond a level has none.

    Args:
        x, y: [records, runs].
        levels: [levels], or [runs, levels] for levels of each run's own.
        falling: whether ``x`` reaches a level from above.
    """
    sign = -1.0 if falling else 1.0
    x = sign * np.asarray(x)
    levels = sign * np.broadcast_to(levels, (x.shape[1], np.shape(levels)[-1]))
    found = np.full(levels.shape, np.nan)
    for k, level in enumerate(levels.T):
        beyond = x >= level
        after = beyond.argmax(axis=0)
        for i in np.flatnonzero(beyond.any(axis=0) & ~beyond[0]):
            low, high = x[after[i] - 1, i], x[after[i], i]
            share = (level[i] - low) / (high - low)
            before, then = y[after[i] - 1, i], y[after[i], i]
            found[i, k] = before + share * (then - before)
    return found


def mean_interval(
    values: np.ndarray, *, axis: int = 0, level: float = 0.95
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (mean, low, high) over an axis, NaN left out: Student's t for independent values.

    All three are NaN where fewer than two values are left.
    """
    values = np.asarray(values, dtype=float)
    present = np.isfinite(values)
    count = present.sum(axis=axis)
    enough = np.maximum(count, 2)
    mean = np.where(present, values, 0.0).sum(axis=axis) / enough
    offset = np.where(present, values - np.expand_dims(mean, axis), 0.0)
    error = np.sqrt((offset**2).sum(axis=axis) / (enough - 1) / enough)
    reach = special.stdtrit(enough - 1, (1 + level) / 2) * error
    mean = np.where(count > 1, mean, np.nan)
    return mean, mean - reach, mean + reach


def matched_horizon(
    step: np.ndarray, entropy: np.ndarray, *, share: float = 1 / 12, consumed: float = 0.73
) -> np.ndarray:
    """The number of steps at which a run is as far as the runs of Cui et al. are at their end: [runs].

    There the first 1/12 of the steps (200 of 2,400) consumes 73 % of the entropy that the whole run
    consumes. The horizon is the first T by which a quarter of the entropy is gone and
    H(0) - H(T/12) >= 0.73 (H(0) - H(T)). NaN where the run is too short to get there.

    Args:
        step: [records], from 0.
        entropy: [records, runs].
        share: the share of the steps, 1/12 in the paper.
        consumed: the share of the entropy that is consumed by then, 0.73 in the paper.
    """
    found = np.full(entropy.shape[1], np.nan)
    for i, curve in enumerate(entropy.T):
        lost = curve[0] - curve
        early = curve[0] - np.interp(share * step, step, curve)
        there = (lost >= curve[0] / 4) & (early >= consumed * lost)
        if there.any():
            found[i] = step[there.argmax()]
    return found


def resample(step: np.ndarray, values: np.ndarray, horizon: np.ndarray, n_points: int) -> np.ndarray:
    """Sample a curve at ``n_points`` steps spread evenly from 0 to each run's horizon: [points, runs]."""
    share = np.linspace(0, 1, n_points)
    columns = [np.interp(share * end, step, one) for end, one in zip(horizon, values.T, strict=True)]
    return np.stack(columns, axis=1)
