"""Closed-loop controllers, which turn a measured entropy into the next temperature or coefficient.

A controller reads a mean over the ordinary rows of all ranks, measured on the policy that is about to be
updated. It is the true mean token entropy at temperature 1 (`token_batch.mean_entropy`), or the clamped
entropy where ``reads`` names it. A controller holds whatever state a checkpoint must restore.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from entropy_theory.array_types import Array
from entropy_theory.policy import array_like, check_temperature, lacks_values, namespace, to_numpy
from entropy_theory.rounding import at_least, at_most
from entropy_theory.schedules import Schedule
from entropy_theory.support.user_errors import check_whole


@dataclass(frozen=True, kw_only=True, slots=True)
class EntropyForecast:
    """The first-order change of the mean entropy from one observation to the next, divided in two.

    The optimizer steps on one batch, one or several, with coefficient c are forecast to change the
    entropy by base + c per_unit.
    """

    base: Array
    """The change without the bonus, scalar or [runs], nats a batch."""
    per_unit: Array
    """Change that each unit of the coefficient adds, scalar or [runs], nats per batch."""


@dataclass(kw_only=True, slots=True)
class Controller(ABC):
    """Base of all controllers: their state can be stored in a checkpoint and restored from it."""

    state: ClassVar[tuple[str, ...]]
    """Names of the fields that change."""
    reads: ClassVar[str] = "entropy"
    """The TokenBatch column whose mean is observed."""
    takes_target: ClassVar[bool] = False
    """Whether it has an option ``target``, the entropy to hold (nats; a number, or one per run)."""
    forecasts: ClassVar[bool] = False
    """Whether it steers by an `EntropyForecast`, which whoever runs it must then supply."""
    target_schedule: Schedule | Callable[[int], Array] | None = None
    """A target that moves: a function from the number of steps taken to nats, scalar or [runs]; None
    leaves ``target`` as it is."""
    entropy: Array | None = None
    """The last mean observed, nats; None before the first observation."""

    def aim(self, step: int, ahead: int = 1) -> None:
        """Set the target from the schedule, if there is one; call it before `observe`.

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
        raise ValueError(f"{type(self).__name__} has no target to move: leave target_schedule None")

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
        """Return numbers of the last observation for a log, beside the setting; each scalar or [runs]."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Return the state for a checkpoint, JSON-like."""
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
class TargetController(Controller):
    """Base of the controllers that hold a target entropy."""

    takes_target: ClassVar[bool] = True
    target: Array = 0.5
    """Entropy to hold, nats; a scalar or one value per run."""

    def _move(self, target: Array, following: Callable[[], Array]) -> None:
        self.target = target


@dataclass(kw_only=True, slots=True)
class TemperatureSwitch(TargetController):
    """AEPO's two-point controller (AEPO, Eq. 1): T = T_high if H < target, up to rounding, else T_low.

    It is always at one of its bounds, so a bound alone does not show that it can do no more. Staying
    at a bound does, so ``unswitched`` counts for how long the last temperature has been chosen.

    Raises ValueError for temperatures that are not above 0, T_low > T_high, or a target below 0.
    """

    state: ClassVar[tuple[str, ...]] = ("temperature", "entropy", "unswitched")
    temperature_high: float = 1.2
    temperature_low: float = 0.8
    temperature: Array | None = None
    """The last temperature chosen; None before the first observation."""
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

    def observe(self, entropy: Array, forecast: EntropyForecast | None = None) -> Array:
        """The sampling temperature of the second batch; arguments and errors as `Controller`."""
        self.entropy = entropy = checked_entropy(entropy)
        xp = namespace(entropy)
        before, self.temperature = self.temperature, self._choose(entropy)
        ones = xp.ones_like(entropy)
        if before is None:
            self.unswitched = ones
        else:
            same = self.temperature == spread(before, entropy)
            self.unswitched = xp.where(same, spread(self.unswitched, entropy) + 1, ones)
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
    r""":math:`T = \operatorname{clip}(1 + \text{ gain } (\text{target } - H), T_{\text{low}},
    T_{\text{high}})`, AEPO's later form (SCOPE-RL, gain 1)."""

    gain: float = 1.0
    """Temperature per nat below the target."""

    def __post_init__(self) -> None:
        TemperatureSwitch.__post_init__(self)
        check_finite("gain", self.gain)
        check_finite("target", self.target)

    def _choose(self, entropy: Array) -> Array:
        xp = namespace(entropy)
        target = array_like(self.target, entropy)
        return xp.clip(1 + self.gain * (target - entropy), self.temperature_low,
                       self.temperature_high)


@dataclass(kw_only=True, slots=True)
class AdaptiveCoefficient(Controller):
    r"""AEnt's coefficient (AEnt, Eq. 4.1): it moves while the clamped entropy is outside a band.

    After ``warm_up_steps`` observations each one sets

    .. math::

        \lambda \leftarrow \operatorname{clip}(\lambda - \text{rate} \times \text{excess},
        \text{low}, \text{high}),

        \text{excess} = \min(\tilde H - \text{entropy low}, 0) + \max(\tilde H - \text{entropy high}, 0).

    Raises ValueError for a band or a box whose ends are the wrong way round, and for a band at infinity.
    The coefficient and the rate have to be finite, and the rate at least 0.
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
    observations: int = 0

    def __post_init__(self) -> None:
        check_interval("entropy_low", self.entropy_low, "entropy_high", self.entropy_high)
        if self.entropy_low == math.inf or self.entropy_high == -math.inf:
            raise ValueError(
                f"no entropy is between entropy_low {self.entropy_low} and entropy_high "
                f"{self.entropy_high}: only the other ends may be infinite")
        check_interval("coefficient_low", self.low, "coefficient_high", self.high)
        check_finite("coefficient", self.coefficient)
        check_finite("coefficient_step", self.rate)
        if not self.rate >= 0:
            raise ValueError(f"coefficient_step must be at least 0, got {self.rate}")
        check_whole("warm_up_steps", self.warm_up_steps, 0)

    def observe(self, entropy: Array, forecast: EntropyForecast | None = None) -> Array:
        """The next coefficient; arguments and errors as `Controller`."""
        self.entropy = entropy = checked_entropy(entropy)
        xp = namespace(entropy)
        before = spread(self.coefficient, entropy)
        self.observations = self.observations + 1
        below = xp.clip(entropy - self.entropy_low, None, 0.0)
        above = xp.clip(entropy - self.entropy_high, 0.0, None)
        moved = xp.clip(before - self.rate * (below + above), self.low, self.high)
        warm = spread(self.observations, entropy) > self.warm_up_steps
        self.coefficient = xp.where(warm, moved, before)
        return self.coefficient


@dataclass(kw_only=True, slots=True)
class TargetEntropyCoefficient(TargetController):
    """A coefficient that rises by a step while H <= target and falls while H is above (Skywork-OR1).

    Above the target the coefficient that acts is 0, whatever value it has reached, as in TRL. The entropy
    that decides belongs to the policy about to be updated; in TRL it belongs to the policy before. Where
    ``low`` is below 0 it is two-sided: a coefficient that has fallen below 0 acts above the target, and
    not at or below it.

    Saturated: the step leads beyond a bound, where the coefficient stays. It is counted (``saturated``).
    """

    state: ClassVar[tuple[str, ...]] = ("coefficient", "entropy", "saturated")
    coefficient: Array = 0.0
    target: Array = 0.2
    step: float = 5e-3
    low: float = 0.0
    high: float = 1.0
    saturated: Array = 0.0
    """At how many observations the coefficient was to move beyond a bound."""

    def __post_init__(self) -> None:
        check_interval("coefficient_low", self.low, "coefficient_high", self.high)
        checked_target(self.target)
        check_finite("coefficient", self.coefficient)
        check_finite("coefficient_step", self.step)
        if not self.step >= 0:
            raise ValueError(f"coefficient_step must be at least 0, got {self.step}")

    def observe(self, entropy: Array, forecast: EntropyForecast | None = None) -> Array:
        """The next coefficient; arguments and errors as `Controller`."""
        self.entropy = entropy = checked_entropy(entropy)
        xp = namespace(entropy)
        ones = xp.ones_like(entropy)
        before, counted = spread(self.coefficient, entropy), spread(self.saturated, entropy)
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


@dataclass(kw_only=True, slots=True)
class ProportionalIntegral(TargetController):
    r"""EntroPIC's coefficient (arXiv 2511.15248), :math:`K_p (H - \text{ target}) + K_i S`, within
    [-1, 1].

    S is the sum of H - target over the observations before. The coefficient is above 0 while entropy is
    too high.
    """

    state: ClassVar[tuple[str, ...]] = ("coefficient", "entropy", "error")
    coefficient: Array = 0.0
    target: Array = 0.1
    proportional: float = 1.0
    integral: float = 0.01
    error: Array = 0.0
    """The sum of entropy - target over the observations, nats."""

    def __post_init__(self) -> None:
        checked_target(self.target)
        for name in ("proportional", "integral"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be finite and at least 0, got {getattr(self, name)}")

    def observe(self, entropy: Array, forecast: EntropyForecast | None = None) -> Array:
        """The next coefficient; arguments and errors as `Controller`."""
        self.entropy = entropy = checked_entropy(entropy)
        error, summed = entropy - array_like(self.target, entropy), spread(self.error, entropy)
        self.error = summed + error
        self.coefficient = namespace(entropy).clip(
            self.proportional * error + self.integral * summed, -1.0, 1.0)
        return self.coefficient


def checked_target(target: Array) -> Array:
    """Return a target entropy, scalar or [runs], nats; raise ValueError where it is below 0."""
    xp = namespace(target)
    if not bool(xp.all(xp.asarray(target) >= 0)):
        lowest = float(xp.min(xp.asarray(target)))
        raise ValueError(f"the target entropy must be at least 0 nats, got {lowest:g}")
    return target


def spread(value: Array, entropy: Array) -> Array:
    """``value``, a number or one per run, as an array like ``entropy``."""
    return namespace(entropy).broadcast_to(array_like(value, entropy), entropy.shape)


def check_interval(low_name: str, low: float, high_name: str, high: float) -> None:
    """Raise ValueError where a lower bound is above its upper one."""
    if not np.all(np.asarray(low) <= np.asarray(high)):
        raise ValueError(f"{low_name} {low} is above {high_name} {high}: swap them")


def check_finite(name: str, value: Array) -> None:
    """Raise ValueError where a number is not finite."""
    if not np.all(np.isfinite(to_numpy(value))):
        raise ValueError(f"{name} must be finite, got {value}")


def checked_entropy(entropy: Array) -> Array:
    """Return a measured entropy as an array; raise ValueError where it is NaN."""
    xp = namespace(entropy)
    entropy = xp.asarray(entropy)
    if not lacks_values(entropy) and bool(xp.any(xp.isnan(entropy))):
        raise ValueError("the measured entropy is NaN: the policy has diverged")
    return entropy


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
