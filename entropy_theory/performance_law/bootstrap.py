"""Confidence intervals of the law's a and b by the block bootstrap: steps are not independent."""

from __future__ import annotations

import math

import numpy as np

from entropy_theory.performance_law.law import PerformanceLaw

RESAMPLES = 400
MOST_DRAWN = 10_000_000
"""The most residuals drawn in all: of long runs there are fewer resamples."""
MOST_CORRELATED = 0.97
"""The largest lag-1 correlation that the length of blocks allows for."""
Span = tuple[float, float]


def block_length(autocorrelation: float, count: int) -> int:
    """The length of blocks for ``count`` residuals of some lag-1 correlation (Carlstein, 1986)."""
    r = 0.0 if math.isnan(autocorrelation) else min(max(autocorrelation, 0.0), MOST_CORRELATED)
    best = (math.sqrt(6) * r / (1 - r * r)) ** (2 / 3) * count ** (1 / 3)
    return min(max(math.ceil(best), 1), max(count // 4, 1))


def intervals(
    law: PerformanceLaw, entropy: np.ndarray, performance: np.ndarray, level: float
) -> tuple[Span, Span]:
    """Intervals of a and b: residuals are drawn in blocks and added to the line, which is fitted again.

    Args:
        law: the fit to these points.
        entropy: [N], nats.
        performance: [N].
        level: confidence level, between 0 and 1.
    """
    x = np.expm1(entropy)
    off = x - x.mean()
    residual = performance - law.predict(entropy)
    count, length = len(x), block_length(law.autocorrelation, len(x))
    # A line fitted to N points has residuals smaller than the scatter.
    residual = residual * math.sqrt(count / (count - 2))
    resamples = min(RESAMPLES, max(MOST_DRAWN // count, 50))
    starts = np.random.default_rng(0).integers(
        0, count - length + 1, (resamples, math.ceil(count / length)))
    weights, within = off / np.sum(off**2), np.arange(length)
    a, b = np.empty(resamples), np.empty(resamples)
    for i, own in enumerate(starts):
        drawn = residual[(own[:, None] + within).ravel()[:count]]
        slope = float(weights @ drawn)
        a[i] = law.a - slope
        b[i] = law.b + drawn.mean() - slope * (x.mean() + 1)
    tails = [(1 - level) / 2, (1 + level) / 2]
    (a_low, a_high), (b_low, b_high) = np.quantile(a, tails), np.quantile(b, tails)
    return (float(a_low), float(a_high)), (float(b_low), float(b_high))
