"""The performance ceiling that the law R = b - a e^H announces from the steps of a run so far."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from entropy_theory.performance_law.forecast import forecast as forecast_performance


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Ceiling:
    """The performance at zero entropy that the law forecasts, and the reasons to doubt it."""

    value: float | None
    """The forecast performance; None where nothing can be fitted."""
    low: float | None
    high: float | None
    """``low`` and ``high`` end the interval, which is widened for the correlation of residuals."""
    doubts: tuple[str, ...]
    """Why the fit is not to be trusted; empty if nothing speaks against it."""

    @property
    def trusted(self) -> bool:
        """Whether there is no reason to doubt the fit."""
        return not self.doubts


def performance_ceiling(
    entropy: Sequence[float], performance: Sequence[float], level: float = 0.95, *,
    rivals: bool = False,
) -> Ceiling:
    """Forecast the ceiling from the steps so far.

    Args:
        entropy: mean token entropy of each step, nats.
        performance: mean reward of each step.
        level: confidence level of the interval.
        rivals: whether to doubt it too where another form of law fits as well, which takes some tenths
            of a second.
    """
    try:
        report = forecast_performance(entropy, performance, level=level, with_rivals=rivals)
    except ValueError as error:
        return Ceiling(value=None, low=None, high=None, doubts=(str(error),))
    ceiling = report.ceiling
    return Ceiling(
        value=ceiling.performance, low=ceiling.low, high=ceiling.high, doubts=report.doubts
    )
