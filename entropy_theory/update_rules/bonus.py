r"""Base of bonuses: a base rule plus coefficient x a term that moves entropy, held at a target or not.

The coefficient is a constant or follows a ``coefficient_schedule``. With a ``target`` a closed loop of
`controllers` adapts it:

- ``hold="integral"`` raises it by ``coefficient_step`` while entropy is at or below the target. Above the
  target the coefficient falls and has no effect (Skywork-OR1, arXiv 2505.22312; TRL).
- ``hold="forecast"`` sets it so that the forecast change of entropy leads to the target in ``horizon``
  batches. The change is forecast for the rule with and without the bonus (`ForecastCoefficient`).

With ``prompt_gain`` each prompt has a coefficient of its own,

.. math::

    c_p = c + \text{gain} \times (s_p - \text{mean of } s), \quad
    s_p = \text{target} + \text{offset}_p - H_p.

H_p is the mean token entropy of the prompt's answers. The offset is the batch's column ``target_offset``,
0 without one. c, a constant or the controller's, is left to hold the mean: the controller gets H_p -
offset_p. The target itself cancels, so it may move or be absent. Prompts are then held at equal distances
from one another. A proportional term has no memory, and a prompt that comes once per epoch has none
either. About this much of s_p remains: what the prompt would do by itself, divided by ``prompt_gain`` and
by the effect of a unit of the bonus on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_theory import advantages
from entropy_theory.array_types import Array, TokenColumn, TokenMask
from entropy_theory.controllers import Controller, TargetEntropyCoefficient
from entropy_theory.forecast_coefficient import ForecastCoefficient
from entropy_theory.policy import namespace, to_numpy
from entropy_theory.schedules import Schedule
from entropy_theory.support.user_errors import check_choice
from entropy_theory.token_batch import TokenBatch, sequence_mean, sequence_weight
from entropy_theory.update_rules.clipped_ratio import NORMALIZATIONS
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.rule import UpdateRule, components, per_run

HOLDS = ("integral", "forecast")


@dataclass(frozen=True, kw_only=True, slots=True)
class Bonus(Modifier):
    """A rule whose coefficients are affine in one number per run, which a controller may choose."""

    coefficient: Array = 0.015
    """The coefficient, a number or one per run. An adapted coefficient starts from it."""
    coefficient_schedule: Schedule | None = None
    """In place of ``coefficient`` one that moves with the optimizer's steps (`entropy_theory.schedules`),
    where nothing adapts it."""
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
    """"forecast" only: the weight of earlier forecasts when a new one comes, in [0, 1)."""
    feedback_horizon: float = 200.0
    """"forecast" only: the number of batches over which it learns the error of forecasts."""
    prompt_gain: Array = 0.0
    """Rise of a prompt's own coefficient per nat by which its entropy is further below its target than
    the others'. A number or one per run; with 0 all prompts have one coefficient."""

    def _check(self) -> None:
        check_choice(self.normalization, NORMALIZATIONS, "normalization")
        check_choice(self.hold, HOLDS, "hold")
        if not np.all(np.isfinite(to_numpy(self.coefficient))):
            raise ValueError(f"coefficient must be finite, got {self.coefficient}")
        gain = to_numpy(self.prompt_gain)
        if not np.all(np.isfinite(gain) & (gain >= 0)):
            raise ValueError(
                f"prompt_gain must be a finite number of at least 0, got {self.prompt_gain}")
        if self.target is not None and self.target_schedule is not None:
            raise ValueError("target and target_schedule are both given: give one of them")
        if self.coefficient_schedule is not None and self._adapts:
            raise ValueError(
                "coefficient_schedule is given, and the coefficient is adapted: leave out target and "
                "target_schedule, and give 'aent' adaptive = false")
        self._own_controller()

    @property
    def _has_gain(self) -> bool:
        return bool(np.any(to_numpy(self.prompt_gain) != 0))

    @property
    def _columns_of_prompts(self) -> tuple[str, ...]:
        return ("entropy",) if self._has_gain else ()

    @property
    def _reads_of_schedule(self) -> frozenset[str]:
        return frozenset() if self.coefficient_schedule is None else frozenset({"step"})

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
        return self._only_controller(self._own_controller())

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        inert: tuple[str, ...] = ()
        acts = self._adapts or self._has_gain or self.coefficient_schedule is not None
        if not acts and np.all(to_numpy(self.coefficient) == 0):
            inert = (f"'{self.name}' has coefficient 0 and does nothing: raise it",)
        return (*self.base.warnings(on_policy=on_policy, tokens=tokens, actions=actions), *inert)

    def shortfall(self, batch: TokenBatch) -> TokenColumn:
        """Return by how much further each row's prompt is below its target than the mean of all rows.

        In nats, [..., sequences, positions], of the policy as it is when the rule is prepared; 0 but at
        ordinary rows.
        """
        entropy: Any = batch.entropy
        xp, rows = namespace(entropy), batch.is_ordinary
        lacking = -entropy if batch.target_offset is None else batch.target_offset - entropy
        of_prompt = advantages.group_mean(batch, rows, sequence_mean(lacking, rows))
        weight = sequence_weight(batch, rows)
        total = xp.sum(weight, axis=(-2, -1), keepdims=True)
        mean = (xp.sum(weight * of_prompt, axis=(-2, -1), keepdims=True)
                / xp.where(total > 0, total, xp.ones_like(total)))
        return xp.where(rows, of_prompt - mean, xp.zeros_like(entropy))

    def metrics(self, batch: TokenBatch) -> dict[str, Array]:
        """Return ``prompt_shortfall`` and the base rule's metrics.

        It is the root mean square of `shortfall` over ordinary rows, nats: how far prompts are from their
        own targets where the mean is at its own. It is there where targets or coefficients are prompts'
        own.
        """
        return self._with_base_metrics(batch, self._metrics_of_prompts(batch))

    def _metrics_of_prompts(self, batch: TokenBatch) -> dict[str, Array]:
        if not self._has_gain and (batch.target_offset is None or batch.entropy is None):
            return {}
        return {"prompt_shortfall": root_mean_square(batch, batch.is_ordinary, self.shortfall(batch))}

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        prepared = self.base.prepare(batch)
        if not self._has_gain:
            return prepared
        return prepared.with_prepared(**{
            f"{self.name}.prompt": per_run(self.prompt_gain, batch.log_prob) * self.shortfall(batch)})

    def _strength(self, batch: TokenBatch) -> Array:
        """The coefficient, as a factor of columns: what the controller chose, the schedule or the option,
        and what is a prompt's own."""
        schedule = self.coefficient_schedule
        common = per_run(
            self.coefficient if schedule is None else schedule(batch.step), batch.log_prob)
        if batch.coefficient is not None and self._adapts:
            common = batch.coefficient
        own = batch.prepared.get(f"{self.name}.prompt")
        return common if own is None else common + own


def tells_prompts_apart(rule: UpdateRule) -> bool:
    """Whether prompts have coefficients of their own (``prompt_gain``)."""
    return any(isinstance(part, Bonus) and part._has_gain for _, part in components(rule))


def root_mean_square(batch: TokenBatch, rows: TokenMask, column: TokenColumn) -> Array:
    """Return it by weight over the sequences with such rows, [...]; 0 where these have no weight.

    Args:
        batch: gives the weights.
        rows: boolean [..., sequences, positions].
        column: one number per sequence, at its rows; 0 elsewhere.
    """
    xp = namespace(column)
    weight = sequence_weight(batch, rows)
    largest = xp.max(abs(column), axis=-1, keepdims=True)
    total = xp.sum(weight, axis=(-2, -1))
    square = xp.sum(weight * largest * largest, axis=(-2, -1))
    return xp.sqrt(square / xp.where(total > 0, total, xp.ones_like(total)))
