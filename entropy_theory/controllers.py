"""Closed-loop controllers, which turn a measured entropy into the next temperature or coefficient.

A controller reads a mean over the ordinary rows of all ranks, measured on the policy that is about to
be updated: the true mean token entropy at temperature 1 (`token_batch.mean_entropy`), or the clamped
entropy where ``reads`` says so. It holds whatever state a checkpoint must restore.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from entropy_theory.array_types import Array
from entropy_theory.policy import array_like, check_temperature, namespace, to_numpy
from entropy_theory.rounding import at_least, at_most
from entropy_theory.schedules import Schedule


@dataclass(frozen=True, kw_only=True, slots=True)
class EntropyForecast:
    """The first-order change of the mean entropy from one observation to the next, divided in two.

    The optimizer steps on one batch, one or several, with coefficient c are forecast to change the
    entropy by base + c per_unit.
    """

    base: Array
    """The change without the bonus, scalar or [runs], nats a batch."""
    per_unit: Array
    """What each unit of the coefficient adds, scalar or [runs], nats a batch."""


@dataclass(kw_only=True, slots=True)
class Controller(ABC):
    """Base of all controllers: their state can be stored in a checkpoint and restored from it."""

    state: ClassVar[tuple[str, ...]]
    """Names of the fields that change."""
    reads: ClassVar[str] = "entropy"
    """The TokenBatch column whose mean is observed."""
    takes_target: ClassVar[bool] = False
    """Whether it has an option ``target``, the entropy to hold (nats; a number, or one a run)."""
    forecasts: ClassVar[bool] = False
    """Whether it steers by an `EntropyForecast`, which whoever runs it must then supply."""
    target_schedule: Schedule | Callable[[int], Array] | None = None
    """A target that moves: a function from the number of steps taken to nats, scalar or [runs]; None
    leaves ``target`` as it is."""

    def aim(self, step: int, ahead: int = 1) -> None:
        """Set the target to what the schedule says, if there is one; call it before `observe`.

        Args:
            step: the number of optimizer steps taken.
            ahead: how many are taken until the next observation.

        Raises:
            ValueError: a schedule that asks for less than 0 nats.
        """
        if self.target_schedule is not None:
            self._move(self._scheduled(step), lambda: self._scheduled(step + ahead))

    def _scheduled(self, step: int) -> Array:
        assert self.target_schedule is not None
        return checked_target(self.target_schedule(step))

    def _move(self, target: Array, following: Callable[[], Array]) -> None:
        """Take a target; ``following`` returns the one at the next observation."""
        raise ValueError(f"a {type(self).__name__} has no target to move: leave target_schedule None")

    @abstractmethod
    def observe(self, entropy: Array, forecast: EntropyForecast | None = None) -> Array:
        """The next setting, given the mean entropy of the current policy.

        Args:
            entropy: scalar or [runs], nats.
            forecast: that of the steps taken since the last observation, for a controller that
                ``forecasts``; None where none was taken.

        Raises:
            ValueError: NaN entropy, or a forecast that is not finite.
        """

    def report(self) -> dict[str, Array]:
        """What a log should show of the last observation beside the setting, scalar or [runs] each."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint stores, JSON-like."""
        return {name: _plain(getattr(self, name)) for name in self.state}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave. Raises ValueError for a state of another controller."""
        if set(state) != set(self.state):
            raise ValueError(
                f"not the state of a {type(self).__name__}: {sorted(state)}; resume with the rule "
                "that wrote the checkpoint"
            )
        for name, value in state.items():
            setattr(self, name, value)


@dataclass(kw_only=True, slots=True)
class TemperatureSwitch(Controller):
    """AEPO's two-point controller (AEPO, Eq. 1): T = T_high if H < target, up to rounding, else T_low.

    It is always at one of its bounds, so that what says that it can do no more is that it stays there:
    how long the last temperature has been chosen is counted (``unswitched``).

    Raises ValueError for temperatures that are not above 0, T_low > T_high, or a target below 0.
    """

    state: ClassVar[tuple[str, ...]] = ("temperature", "entropy", "unswitched")
    takes_target: ClassVar[bool] = True
    target: Array = 0.5
    """Entropy to hold, nats; a scalar or one value a run."""
    temperature_high: float = 1.2
    temperature_low: float = 0.8
    temperature: Array | None = None
    """The last temperature chosen; None before the first observation."""
    entropy: Array | None = None
    """The last entropy observed, nats."""
    unswitched: Array = 0.0
    """At how many observations in a row the last temperature was chosen, the last included."""

    def __post_init__(self) -> None:
        check_temperature(self.temperature_high)
        check_temperature(self.temperature_low)
        if self.temperature_low > self.temperature_high:
            raise ValueError(
                f"temperature_low {self.temperature_low} is above temperature_high "
                f"{self.temperature_high}: swap them"
            )
        checked_target(self.target)

    def _move(self, target: Array, following: Callable[[], Array]) -> None:
        self.target = target

    def observe(self, entropy: Array, forecast: EntropyForecast | None = None) -> Array:
        """The sampling temperature of the second batch; arguments and errors as `Controller`."""
        self.entropy = entropy = _checked(entropy)
        xp = namespace(entropy)
        before, self.temperature = self.temperature, self._choose(entropy)
        ones = xp.ones_like(entropy)
        if before is None:
            self.unswitched = ones
        else:
            same = self.temperature == _spread(before, entropy)
            self.unswitched = xp.where(same, _spread(self.unswitched, entropy) + 1, ones)
        return self.temperature

    def report(self) -> dict[str, Array]:
        """Return ``temperature_unswitched``, a count of observations in a row."""
        return {"temperature_unswitched": self.unswitched}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave; a checkpoint from before there was a count begins one."""
        Controller.load_state_dict(self, {"unswitched": 0.0, **state})

    def _choose(self, entropy: Array) -> Array:
        xp = namespace(entropy)
        ones = xp.ones_like(entropy)
        return xp.where(
            at_least(entropy, array_like(self.target, entropy)),
            ones * self.temperature_low,
            ones * self.temperature_high,
        )


@dataclass(kw_only=True, slots=True)
class ProportionalTemperature(TemperatureSwitch):
    """T = clip(1 + gain (target - H), T_low, T_high), AEPO's later form (SCOPE-RL, gain 1)."""

    gain: float = 1.0
    """Temperature per nat below the target."""

    def __post_init__(self) -> None:
        TemperatureSwitch.__post_init__(self)
        _check_finite("gain", self.gain)
        _check_finite("target", self.target)

    def _choose(self, entropy: Array) -> Array:
        xp = namespace(entropy)
        target = array_like(self.target, entropy)
        return xp.clip(1 + self.gain * (target - entropy), self.temperature_low,
                       self.temperature_high)


@dataclass(kw_only=True, slots=True)
class AdaptiveCoefficient(Controller):
    """AEnt's coefficient (AEnt, Eq. 4.1): it moves while the clamped entropy is outside a band.

    lambda <- clip(lambda - rate [min(H~ - entropy_low, 0) + max(H~ - entropy_high, 0)], low, high),
    after ``warm_up_steps`` observations.

    Raises ValueError for a band or a box whose ends are the wrong way round, a band at infinity, a rate
    below 0, or a coefficient or rate that is not finite.
    """

    state: ClassVar[tuple[str, ...]] = ("coefficient", "entropy", "observations")
    reads: ClassVar[str] = "clamped_entropy"
    coefficient: Array = 0.002
    entropy_low: float = 0.15
    entropy_high: float = 0.24
    rate: float = 0.002
    low: float = 6e-4
    high: float = 9e-3
    warm_up_steps: int = 0
    entropy: Array | None = None
    """The last clamped entropy observed, nats."""
    observations: int = 0

    def __post_init__(self) -> None:
        _check_interval("entropy_low", self.entropy_low, "entropy_high", self.entropy_high)
        if self.entropy_low == math.inf or self.entropy_high == -math.inf:
            raise ValueError(
                f"no entropy is between entropy_low {self.entropy_low} and entropy_high "
                f"{self.entropy_high}: only the other ends may be infinite")
        _check_interval("coefficient_low", self.low, "coefficient_high", self.high)
        _check_finite("coefficient", self.coefficient)
        _check_finite("coefficient_step", self.rate)
        if not self.rate >= 0 or self.warm_up_steps < 0:
            raise ValueError(
                "coefficient_step and warm_up_steps must be at least 0, got "
                f"{self.rate} and {self.warm_up_steps}"
            )

    def observe(self, entropy: Array, forecast: EntropyForecast | None = None) -> Array:
        """The next coefficient; arguments and errors as `Controller`."""
        self.entropy = entropy = _checked(entropy)
        xp = namespace(entropy)
        before = _spread(self.coefficient, entropy)
        self.observations += 1
        if self.observations > self.warm_up_steps:
            below = xp.clip(entropy - self.entropy_low, None, 0.0)
            above = xp.clip(entropy - self.entropy_high, 0.0, None)
            before = xp.clip(before - self.rate * (below + above), self.low, self.high)
        self.coefficient = before
        return before


@dataclass(kw_only=True, slots=True)
class TargetEntropyCoefficient(Controller):
    """A coefficient that rises by a step while H <= target and falls while H is above (Skywork-OR1).

    Above the target the coefficient that acts is 0, whatever value it has reached, as in TRL; but the
    entropy that decides is that of the policy about to be updated, in TRL that of the policy before.
    Where ``low`` is below 0 it is two-sided: a coefficient that has fallen below 0 acts above the target,
    and not at or below it.

    Saturated: the step leads beyond a bound, where the coefficient stays. It is counted (``saturated``).
    """

    state: ClassVar[tuple[str, ...]] = ("coefficient", "entropy", "saturated")
    takes_target: ClassVar[bool] = True
    coefficient: Array = 0.0
    target: Array = 0.2
    """Entropy to hold, nats; a scalar or one value a run."""
    step: float = 5e-3
    low: float = 0.0
    high: float = 1.0
    entropy: Array | None = None
    """The last entropy observed, nats."""
    saturated: Array = 0.0
    """At how many observations the coefficient was to move beyond a bound."""

    def __post_init__(self) -> None:
        _check_interval("coefficient_low", self.low, "coefficient_high", self.high)
        checked_target(self.target)
        _check_finite("coefficient", self.coefficient)
        _check_finite("coefficient_step", self.step)
        if not self.step >= 0:
            raise ValueError(f"coefficient_step must be at least 0, got {self.step}")

    def _move(self, target: Array, following: Callable[[], Array]) -> None:
        self.target = target

    def observe(self, entropy: Array, forecast: EntropyForecast | None = None) -> Array:
        """The next coefficient; arguments and errors as `Controller`."""
        self.entropy = entropy = _checked(entropy)
        xp = namespace(entropy)
        ones = xp.ones_like(entropy)
        before, counted = _spread(self.coefficient, entropy), _spread(self.saturated, entropy)
        wanted = at_most(entropy, array_like(self.target, entropy))
        moved = xp.where(wanted, before + self.step, before - self.step)
        # A one-sided coefficient that rests at 0 has nothing to do above the target.
        beyond = (moved > self.high) | ((moved < self.low) & (ones * self.low < 0))
        self.saturated = counted + xp.astype(beyond, entropy.dtype)
        self.coefficient = xp.clip(moved, self.low, self.high)
        return xp.where(wanted, xp.clip(self.coefficient, 0.0, None),
                        xp.clip(self.coefficient, None, 0.0))

    def report(self) -> dict[str, Array]:
        """Return ``coefficient_saturated``, a count so far."""
        return {"coefficient_saturated": self.saturated}


POWERLESS = 1e-9
"""Nats a batch: a coefficient whose whole range moves entropy by less needs a billion batches for a nat,
and its forecast is rounding of the other terms' changes."""


@dataclass(kw_only=True, slots=True)
class ForecastCoefficient(Controller):
    """The coefficient whose forecast change of entropy leads to the target in ``horizon`` batches.

        wanted      = (target - H) / horizon + (next target - target),
        coefficient = (wanted - base - bias) / per_unit, clipped to [low, high],

    with base and per_unit exponential means of the forecasts (those of single batches are noise, and a
    coefficient that follows it costs reward). What first order leaves is fed back slowly: bias is the
    mean, over ``feedback_horizon`` batches, of the measured change less the forecast one. As the forecast
    is that of the coefficient that acted, bounds wind nothing up. Where forecasts are exact but for a
    constant the distance to the target shrinks by 1 - 1/horizon a batch, and the constant's part by
    1 - 1/feedback_horizon, whether the target rests or moves: where the schedule leads is fed forward. A
    jump asks for more than one batch can give; the coefficient is at its bound for that batch, counted.

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
    takes_target: ClassVar[bool] = True
    forecasts: ClassVar[bool] = True
    coefficient: Array = 0.0
    """The last coefficient; at first the one before any forecast."""
    target: Array = 0.5
    """Entropy to hold, nats; a scalar or one value a run."""
    horizon: float = 20.0
    smoothing: float = 0.9
    """What is kept of the last mean when a forecast comes in."""
    feedback_horizon: float = 200.0
    """Over how many batches bias is a mean; inf for no feedback."""
    low: float = 0.0
    high: float = 1.0
    entropy: Array | None = None
    """The last entropy observed, nats."""
    base: Array | None = None
    """The mean of forecasts without the bonus, nats a batch; None before the first."""
    per_unit: Array | None = None
    """The mean of forecasts of a unit of coefficient, nats a batch; None before the first."""
    bias: Array = 0.0
    """The mean of what the forecasts missed, nats a batch."""
    saturated: Array = 0.0
    """At how many observations the coefficient wanted was beyond a bound."""
    target_change: Array = 0.0
    """By how much the target will have moved at the next observation, nats (`aim`)."""
    held: Array = 0.0
    """At how many observations the coefficient had no power, or the wrong sign of it, over entropy."""

    def __post_init__(self) -> None:
        _check_interval("coefficient_low", self.low, "coefficient_high", self.high)
        checked_target(self.target)
        _check_finite("coefficient", self.coefficient)
        for name in ("horizon", "feedback_horizon"):
            if not getattr(self, name) >= 1:
                raise ValueError(f"{name} must be at least 1 batch, got {getattr(self, name)}")
        if not 0 <= self.smoothing < 1:
            raise ValueError(f"smoothing must be in [0, 1), got {self.smoothing}")

    def _move(self, target: Array, following: Callable[[], Array]) -> None:
        self.target, self.target_change = target, following() - target

    def observe(self, entropy: Array, forecast: EntropyForecast | None = None) -> Array:
        """The next coefficient; arguments and errors as `Controller`."""
        entropy = _checked(entropy)
        xp = namespace(entropy)
        ones = xp.ones_like(entropy)
        self.coefficient, self.bias, self.saturated, self.held = (
            _spread(value, entropy)
            for value in (self.coefficient, self.bias, self.saturated, self.held))
        if forecast is not None:
            self._learn(entropy, _spread(forecast.base, entropy), _spread(forecast.per_unit, entropy))
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
        """Return what the coefficient follows from, and how often it could not.

        These are ``forecast_base``, ``forecast_per_unit`` and ``forecast_bias`` (means, nats a batch)
        once there was a forecast, ``coefficient_saturated`` and ``coefficient_held`` (counts so far).
        """
        found = {"forecast_base": self.base, "forecast_per_unit": self.per_unit,
                 "forecast_bias": None if self.base is None else self.bias,
                 "coefficient_saturated": self.saturated, "coefficient_held": self.held}
        return {name: value for name, value in found.items() if value is not None}


def checked_target(target: Array) -> Array:
    """Return a target entropy, scalar or [runs], nats; raise ValueError where it is below 0."""
    xp = namespace(target)
    if not bool(xp.all(xp.asarray(target) >= 0)):
        lowest = float(xp.min(xp.asarray(target)))
        raise ValueError(f"the target entropy must be at least 0 nats, got {lowest:g}")
    return target


def _spread(value: Array, entropy: Array) -> Array:
    """``value``, a number or one a run, as an array like ``entropy``."""
    return namespace(entropy).broadcast_to(array_like(value, entropy), entropy.shape)


def _mean(before: Array, new: Array, kept: float) -> Array:
    return kept * array_like(before, new) + (1 - kept) * new


def _check_interval(low_name: str, low: float, high_name: str, high: float) -> None:
    if not np.all(np.asarray(low) <= np.asarray(high)):
        raise ValueError(f"{low_name} {low} is above {high_name} {high}: swap them")


def _check_finite(name: str, value: Array) -> None:
    if not np.all(np.isfinite(to_numpy(value))):
        raise ValueError(f"{name} must be finite, got {value}")


def _checked(entropy: Array) -> Array:
    xp = namespace(entropy)
    entropy = xp.asarray(entropy)
    if bool(xp.any(xp.isnan(entropy))):
        raise ValueError("the measured entropy is NaN: the policy has diverged")
    return entropy


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
