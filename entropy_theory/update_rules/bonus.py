"""The base of bonuses: a base rule plus coefficient x a term that moves entropy, held at a target or not.

The coefficient is a constant, or, with a ``target``, adapted by a closed loop of `controllers`:

- ``hold="integral"``: up by ``coefficient_step`` while entropy is at or below the target, down and
  without effect while it is above (Skywork-OR1, arXiv 2505.22312; TRL);
- ``hold="forecast"``: such that the entropy change forecast of the rule with and without the bonus is
  what leads to the target in ``horizon`` batches (`controllers.ForecastCoefficient`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.controllers import Controller, ForecastCoefficient, TargetEntropyCoefficient
from entropy_theory.policy import namespace, to_numpy
from entropy_theory.schedules import Schedule
from entropy_theory.support.user_errors import check_choice
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import NORMALIZATIONS
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.rule import UpdateRule, per_run

HOLDS = ("integral", "forecast")


@dataclass(frozen=True, kw_only=True, slots=True)
class Bonus(Modifier):
    """A rule whose coefficients are affine in one number a run, which a controller may choose."""

    coefficient: Array = 0.015
    """The coefficient, a number or one a run. Where it is adapted, this is its first value."""
    normalization: str = "sequence-mean"
    """How the bonus is averaged over tokens: "sequence-mean", "token-mean" or "dr-grpo"."""
    target: float | None = None
    """Mean token entropy to hold, nats; with None the coefficient is a constant, unless it follows a
    ``target_schedule``."""
    target_schedule: Schedule | None = None
    """In place of ``target`` one that moves with the optimizer's steps (`entropy_theory.schedules`)."""
    hold: str = "integral"
    """How the coefficient holds the target: "integral" or "forecast"."""
    coefficient_step: float = 5e-3
    """"integral" only: how much the coefficient moves in a step."""
    coefficient_low: float = 0.0
    """The least coefficient. Below 0 the bonus is a penalty, by which "forecast" lowers entropy too."""
    coefficient_high: float = 1.0
    """The largest value of a coefficient that is adapted."""
    horizon: float = 20.0
    """"forecast" only: the number of batches in which the distance to the target is to be covered."""
    smoothing: float = 0.9
    """"forecast" only: what is kept of the last forecasts when a new one comes, in [0, 1)."""
    feedback_horizon: float = 200.0
    """"forecast" only: the number of batches over which it learns what forecasts miss."""

    def __post_init__(self) -> None:
        Modifier.__post_init__(self)
        check_choice(self.normalization, NORMALIZATIONS, "normalization")
        check_choice(self.hold, HOLDS, "hold")
        if not np.all(np.isfinite(to_numpy(self.coefficient))):
            raise ValueError(f"coefficient must be finite, got {self.coefficient}")
        if self.target is not None and self.target_schedule is not None:
            raise ValueError("target and target_schedule are both given: give one of them")
        self._own_controller()

    @property
    def _holds(self) -> bool:
        """Whether there is a target, at rest or moving."""
        return self.target is not None or self.target_schedule is not None

    @property
    def _adapts(self) -> bool:
        """Whether a controller chooses the coefficient."""
        return self._holds

    def _own_controller(self) -> Controller | None:
        if not self._adapts:
            return None
        options: dict[str, Any] = {
            "coefficient": self.coefficient, "low": self.coefficient_low, "high": self.coefficient_high,
            "target_schedule": self.target_schedule,
            "target": self.target if self.target_schedule is None else self.target_schedule(0)}
        if self.hold == "integral":
            return TargetEntropyCoefficient(step=self.coefficient_step, **options)
        return ForecastCoefficient(horizon=self.horizon, smoothing=self.smoothing,
                                   feedback_horizon=self.feedback_horizon, **options)

    def coefficient_controller(self) -> Any | None:
        own, other = self._own_controller(), self.base.coefficient_controller()
        if own is not None and other is not None:
            raise ValueError("at most one of the rules may adapt its coefficient")
        return own if own is not None else other

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        inert: tuple[str, ...] = ()
        if not self._adapts and np.all(to_numpy(self.coefficient) == 0):
            inert = (f"'{self.name}' has coefficient 0 and does nothing: raise it",)
        return (*self.base.warnings(on_policy=on_policy, tokens=tokens, actions=actions), *inert)

    def _strength(self, batch: TokenBatch) -> Array:
        """The coefficient, as a factor of columns: what the controller chose, or the option."""
        if batch.coefficient is not None and self._adapts:
            return batch.coefficient
        return per_run(self.coefficient, batch.log_prob)


Coefficients = tuple[TokenColumn, dict[str, TokenColumn]]
"""Scores and state terms."""


def base_and_bonus(rule: UpdateRule, batch: TokenBatch) -> tuple[Coefficients, Coefficients]:
    """Divide a rule's coefficients into those without the adapted bonus, and those of a unit of it.

    Args:
        rule: a rule that has a `UpdateRule.coefficient_controller`.
        batch: a prepared batch of it.

    Raises:
        ValueError: a rule whose coefficient is a constant.
    """
    if rule.coefficient_controller() is None:
        raise ValueError(
            f"'{rule.name}' has no coefficient that is adapted: give its bonus a target, or divide it by "
            "hand")
    xp = namespace(batch.log_prob)
    zeros = xp.zeros_like(batch.log_prob)
    without, unit = (
        (rule.scores(at), rule.state_terms(at))
        for at in (batch.replace(coefficient=zeros), batch.replace(coefficient=zeros + 1)))
    terms = {name: unit[1][name] - without[1].get(name, zeros) for name in unit[1]}
    return without, (unit[0] - without[0], terms)
