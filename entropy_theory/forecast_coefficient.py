"""The controller that steers by a forecast of its coefficient's effect on entropy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from entropy_theory.array_types import Array
from entropy_theory.controllers import (
    EntropyForecast,
    TargetController,
    check_finite,
    check_interval,
    checked_entropy,
    checked_target,
    spread,
)
from entropy_theory.policy import array_like, namespace

POWERLESS = 1e-9
"""A range of coefficients is powerless if it moves entropy by less, in nats per batch. It would need a
billion batches for a nat, and its forecast is rounding of the other terms' changes."""


@dataclass(kw_only=True, slots=True)
class ForecastCoefficient(TargetController):
    r"""The coefficient whose forecast change of entropy leads to the target in ``horizon`` batches.

    .. math::

        \text{wanted} = (\text{target} - H) / \text{horizon} + (\text{next target} - \text{target}),

        \text{coefficient} = (\text{wanted} - \text{base} - \text{bias}) / \text{per unit}
        \text{ within } [\text{low}, \text{high}].

    Here base and per_unit are exponential means of the forecasts. Forecasts of single batches are noise,
    and a coefficient that follows noise costs reward. Errors of first order are fed back slowly: bias is
    the mean, over ``feedback_horizon`` batches, of the measured change minus the forecast. The forecast
    is made for the coefficient that acted, so bounds wind nothing up.

    Take forecasts that are exact except for a constant. The distance to the target then shrinks by
    ``1 - 1/horizon`` per batch, and the constant's part of it by ``1 - 1/feedback_horizon``. This holds
    for a target that moves, too, because the schedule's next move is fed forward. A jump asks for more
    than one batch can give: the coefficient is at its bound for this batch, and it is counted.

    - Two-sided: above the target the coefficient is below what holds entropy, and negative if ``low``
      allows.
    - Saturated: the coefficient wanted is beyond a bound. It is counted (``saturated``).
    - Held: forecasts of the whole range [low, high] differ by at most ``POWERLESS``, or a larger
      coefficient is forecast to lower entropy. The coefficient stays what it was, and it is counted
      (``held``). So it does before the first forecast, uncounted.

    Raises ValueError for bounds the wrong way round, a horizon below 1, a smoothing outside [0, 1), or a
    target below 0.
    """

    state: ClassVar[tuple[str, ...]] = (
        "coefficient", "entropy", "base", "per_unit", "bias", "saturated", "held")
    forecasts: ClassVar[bool] = True
    coefficient: Array = 0.0
    """The last coefficient; at first the one before any forecast."""
    horizon: float = 20.0
    smoothing: float = 0.9
    """Weight of the running mean when the next forecast is averaged in, from 0 to below 1."""
    feedback_horizon: float = 200.0
    """Over how many batches bias is a mean; inf for no feedback."""
    low: float = 0.0
    high: float = 1.0
    base: Array | None = None
    """The mean of forecasts without the bonus, nats a batch; None before the first."""
    per_unit: Array | None = None
    """The mean of forecasts of a unit of coefficient, nats a batch; None before the first."""
    bias: Array = 0.0
    """The mean error of the forecasts, nats per batch."""
    saturated: Array = 0.0
    """At how many observations the coefficient wanted was beyond a bound."""
    target_change: Array = 0.0
    """By how much the target will have moved at the next observation, nats (`aim`)."""
    held: Array = 0.0
    """At how many observations the coefficient had no power, or the wrong sign of it, over entropy."""

    def __post_init__(self) -> None:
        check_interval("coefficient_low", self.low, "coefficient_high", self.high)
        checked_target(self.target)
        check_finite("coefficient", self.coefficient)
        for name in ("horizon", "feedback_horizon"):
            if not getattr(self, name) >= 1:
                raise ValueError(f"{name} must be at least 1 batch, got {getattr(self, name)}")
        if not 0 <= self.smoothing < 1:
            raise ValueError(f"smoothing must be in [0, 1), got {self.smoothing}")

    def _move(self, target: Array, following: Callable[[], Array]) -> None:
        self.target, self.target_change = target, following() - target

    def observe(self, entropy: Array, forecast: EntropyForecast | None = None) -> Array:
        """The next coefficient; arguments and errors as `Controller`."""
        entropy = checked_entropy(entropy)
        xp = namespace(entropy)
        ones = xp.ones_like(entropy)
        self.coefficient, self.bias, self.saturated, self.held = (
            spread(value, entropy)
            for value in (self.coefficient, self.bias, self.saturated, self.held))
        if forecast is not None:
            self._learn(entropy, spread(forecast.base, entropy), spread(forecast.per_unit, entropy))
        self.entropy = entropy
        if self.base is None:
            return self.coefficient
        base, per_unit = (array_like(value, entropy) for value in (self.base, self.per_unit))
        powerless = ~(per_unit * (self.high - self.low) > POWERLESS)
        gap = array_like(self.target, entropy) - entropy
        wanted = gap / self.horizon + array_like(self.target_change, entropy)
        chosen = (wanted - base - self.bias) / xp.where(powerless, ones, per_unit)
        beyond = ~powerless & ((chosen > self.high) | (chosen < self.low))
        self.saturated = self.saturated + xp.astype(beyond, entropy.dtype)
        self.held = self.held + xp.astype(powerless, entropy.dtype)
        self.coefficient = xp.where(
            powerless, self.coefficient, xp.clip(chosen, self.low, self.high))
        if not bool(xp.all(xp.isfinite(self.coefficient))):
            raise ValueError("the coefficient that leads to the target is not finite: the policy has "
                             "diverged, or coefficient_low and coefficient_high bound nothing")
        return self.coefficient

    def _learn(self, entropy: Array, base: Array, per_unit: Array) -> None:
        """Take in a forecast, and by how much the change since the last observation differs from it."""
        xp = namespace(entropy)
        if not bool(xp.all(xp.isfinite(base) & xp.isfinite(per_unit))):
            raise ValueError("the entropy forecast is not finite: the policy has diverged")
        if self.entropy is not None:
            missed = (entropy - array_like(self.entropy, entropy)) - (base + self.coefficient * per_unit)
            self.bias = self.bias + (missed - self.bias) / self.feedback_horizon
        self.base = base if self.base is None else _mean(self.base, base, self.smoothing)
        self.per_unit = (
            per_unit if self.per_unit is None else _mean(self.per_unit, per_unit, self.smoothing))

    def report(self) -> dict[str, Array]:
        """Return the numbers that the coefficient follows from, and how often it could not.

        These are ``forecast_base``, ``forecast_per_unit`` and ``forecast_bias`` (means, nats a batch)
        once there was a forecast, ``coefficient_saturated`` and ``coefficient_held`` (counts so far).
        """
        found = {"forecast_base": self.base, "forecast_per_unit": self.per_unit,
                 "forecast_bias": None if self.base is None else self.bias,
                 "coefficient_saturated": self.saturated, "coefficient_held": self.held}
        return {name: value for name, value in found.items() if value is not None}


def _mean(before: Array, new: Array, kept: float) -> Array:
    return kept * array_like(before, new) + (1 - kept) * new
