"""Tells whether a quantity moved along training beyond noise, and how much of one move another explains.

The steps of a run are not independent points, so all of it is asked of the means of a dozen stretches of
the run, which hardly remember each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

STRETCHES = 12
"""Number of stretches of a run that are compared."""
CHANCE = 0.05
"""Probability below which a trend is called one."""


@dataclass(frozen=True, slots=True)
class Trend:
    """Kendall's rank correlation of a quantity with time, over the means of stretches.

    Attributes:
        tau: from -1 (falls throughout) to 1 (rises throughout).
        p: probability of so large a tau, of either sign, where nothing but chance orders the stretches.
    """

    tau: float
    p: float

    @property
    def exists(self) -> bool:
        """Whether the quantity moved beyond noise."""
        return self.p < CHANCE

    def __str__(self) -> str:
        return f"Kendall's tau {self.tau:.2f}, p = {self.p:.2g}"


def stretches(values: Any, count: int = STRETCHES) -> np.ndarray:
    """Means of ``count`` successive stretches of equal length, or the values [N] where N is less."""
    values = np.asarray(values, dtype=float)
    return np.array([part.mean() for part in np.array_split(values, min(count, len(values)))])


def trend(values: Any) -> Trend:
    """Test a quantity [N], N at least 3, in the order of training, for a trend (normal approximation)."""
    means = stretches(values)
    n = len(means)
    signs = np.sign(means[None, :] - means[:, None])[np.triu_indices(n, 1)]
    score, pairs = float(signs.sum()), n * (n - 1) / 2
    deviation = math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    return Trend(score / pairs, float(2 * special.ndtr(-max(abs(score) - 1, 0) / deviation)))


def explained(x: Any, y: Any) -> float:
    """Share of the variance of y's stretches [N] that lies on a line in x's [N]; 0 where either rests."""
    first, second = stretches(x), stretches(y)
    spread = first.std() * second.std()
    if spread == 0:
        return 0.0
    return float(np.mean((first - first.mean()) * (second - second.mean())) / spread) ** 2
