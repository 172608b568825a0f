"""One tolerance for "equal": which floats differ by rounding alone, and which reach a bound.

The order of a sum, the cut of a batch or the kernel of a matrix product moves a number's last digits.
A comparison that hangs on them decides otherwise from run to run, so that thresholds and equalities of
rewards, ratios, entropies and covariances go through these functions.

The resolution is that of float32 in float64 too: models and trainers compute rewards, log-probabilities
and entropies in float32, and a cast does not bring lost digits back. Coarser formats have their own.
"""

from __future__ import annotations

from typing import Any

from entropy_theory.array_types import Array
from entropy_theory.policy import namespace

ROUNDINGS = 8
"""Largest number of terms, and allowed difference in ulps, of two weighted sums that would be equal
without rounding. Each product and each partial sum is rounded by at most half an ulp of the largest."""
FLOAT32_EPS = 2.0**-23
TOLERANCE = ROUNDINGS * FLOAT32_EPS
"""Relative difference, about 1e-6, up to which numbers of float32 or finer are equal."""
FORWARD_ROUNDINGS = 64
"""The allowed error of a log-probability, in roundings of 1. Each of L layers adds two updates, whose sum
is rounded each time. Errors of random sign grow as sqrt(2 L), up to 14 for 100 layers. The head
multiplies them by the standard deviation of a state's logits, seldom above 4.5."""
ACCUMULATION = 1e-3
"""Error added by sums of thousands of float32 terms in another order, nats."""


def tolerance(like: Array) -> float:
    """The relative difference up to which numbers of this array's format count as equal."""
    return max(TOLERANCE, ROUNDINGS * float(namespace(like).finfo(like.dtype).eps))


def log_prob_tolerance(roundoff: float) -> float:
    """By how much log-probabilities of one token under one policy may differ between two passes, nats.

    Args:
        roundoff: relative rounding error of the coarsest format that the policy computes in, half of its
            eps; that of float32 gives 0.001, of float16 0.03, of bfloat16 0.25.
    """
    return FORWARD_ROUNDINGS * roundoff + ACCUMULATION


def same_log_prob(change: Array) -> Array:
    """Whether a change of log-probability may be none, elementwise: boolean; arguments in nats.

    Up to 0.001 nats in float32, 0.03 in float16, 0.25 in bfloat16 (`log_prob_tolerance`). In float64,
    where no forward pass of a network rounds, up to ``TOLERANCE``: exact small steps are steps. The
    format is that of the array: log-probabilities of a bfloat16 model in float32 are held to 0.001.
    """
    eps = float(namespace(change).finfo(change.dtype).eps)
    return abs(change) <= (TOLERANCE if eps < FLOAT32_EPS else log_prob_tolerance(eps / 2))


def equal(smallest: Array, largest: Array, magnitude: Array | None = None) -> Array:
    """Return whether numbers from ``smallest`` to ``largest`` differ by rounding alone: boolean.

    They do if they are less than `tolerance` of the larger magnitude apart, or equal.

    Args:
        smallest, largest: any shape. An empty range is +inf and -inf, and counts as equal.
        magnitude: magnitude of the terms that the numbers are sums of; None takes the larger of theirs.
    """
    if magnitude is None:
        magnitude = namespace(largest).maximum(abs(smallest), abs(largest))
    # Strictly less: an infinite number is not equal to a finite one.
    return (largest <= smallest) | (largest - smallest < tolerance(largest) * magnitude)


def at_least(values: Array, bound: Any) -> Array:
    """Whether values reach a bound, or miss it by rounding alone, elementwise: boolean.

    Args:
        values: any shape.
        bound: a number, or an array like ``values``. What rounding is is relative to its magnitude; to 1
            where it is 0, which says nothing of the size of what was added up.
    """
    return values >= lowest(values, bound)


def lowest(values: Array, bound: Any) -> Any:
    """The smallest number that reaches a bound; arguments as `at_least`."""
    return bound - _slack(values, bound)


def at_most(values: Array, bound: Any) -> Array:
    """Whether values stay within a bound, or exceed it by rounding alone; arguments as `at_least`."""
    return values <= bound + _slack(values, bound)


def near(values: Array, number: float) -> Array:
    """Whether values are a number, up to rounding, elementwise: boolean; arguments as `at_least`."""
    return abs(values - number) <= _slack(values, number)


def _slack(values: Array, bound: Any) -> Any:
    if isinstance(bound, (int, float)):
        magnitude = abs(bound) or 1.0
        return tolerance(values) * magnitude if magnitude < float("inf") else 0.0
    xp = namespace(bound)
    magnitude = abs(bound)
    counted = xp.isfinite(magnitude)
    magnitude = xp.where(magnitude > 0, magnitude, xp.ones_like(magnitude))
    return tolerance(values) * xp.where(counted, magnitude, xp.zeros_like(magnitude))
