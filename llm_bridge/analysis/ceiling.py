"""The performance ceiling that the law R = b - a e^H announces from the steps of a run so far."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from entropy_theory.performance_law.forecast import forecast as forecast_performance


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Ceiling:
    """The performance at zero entropy that the law announces, and how far to believe it."""

    value: float | None
    """None where nothing can be fitted."""
    low: float | None
    high: float | None
    """Ends of the interval, widened for the correlation of successive residuals."""
    doubts: tuple[str, ...]
    """Why the fit is not to be trusted; none if it is."""

    @property
    def trusted(self) -> bool:
        return not self.doubts


def performance_ceiling(
    entropy: Sequence[float], performance: Sequence[float], level: float = 0.95, *,
    rivals: bool = False,
) -> Ceiling:
    """Forecast of the ceiling from the steps so far.

    Args:
        entropy: mean token entropy of each step, nats.
        performance: mean reward of each step.
        level: of the interval.
        rivals: doubt it too where another form of law fits as well; some tenths of a second.
    """
    try:
        report = forecast_performance(entropy, performance, level=level, with_rivals=rivals)
    except ValueError as error:
        return Ceiling(value=None, low=None, high=None, doubts=(str(error),))
    ceiling = report.ceiling
    return Ceiling(
        value=ceiling.performance, low=ceiling.low, high=ceiling.high, doubts=report.doubts
    )
