"""Entropy bonus: a base rule plus coefficient x grad H at every sampled state (AEPO, section 3.2).

    J = J_base + lambda E (1/|o|) sum_t H(pi(. | s_t))

In the tabular world its gradient raises entropy at every step (dH = eta lambda ||S||^2 >= 0, with
S_a = pi_a (log pi_a + H)), but its pull fades near a deterministic policy and never ends near a
uniform one: entropy collapses or explodes (AEPO, Figure 3).

With a ``target`` the coefficient is adapted as in Skywork-OR1 (arXiv 2505.22312) and TRL: up by
``coefficient_step`` while entropy is below the target, down while it is above.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.controllers import TargetEntropyCoefficient
from entropy_theory.policy import namespace, to_numpy
from entropy_theory.reads import NOTHING
from entropy_theory.support.user_errors import check_choice
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import NORMALIZATIONS, length_factor
from entropy_theory.update_rules.modifier import Modifier
from entropy_theory.update_rules.rule import per_run


@dataclass(frozen=True, kw_only=True, slots=True)
class EntropyBonus(Modifier):
    """The base rule's scores, and the state term {"entropy": coefficient} on ordinary rows."""

    name: ClassVar[str] = "entropy-bonus"
    moves: ClassVar[tuple[str, ...]] = ("entropy",)
    coefficient: Array = 0.015
    """The coefficient lambda, a number or one a run; 0.015 is the Entropy-Reg baseline of AEPO's Table 4.
    Where it is adapted, this is its first value."""
    normalization: str = "sequence-mean"
    """How the bonus is averaged over tokens: "sequence-mean", "token-mean" or "dr-grpo"."""
    target: float | None = None
    """Mean token entropy at which the coefficient stays, nats; with None it is a constant."""
    coefficient_step: float = 5e-3
    """How much the coefficient moves in a step."""
    coefficient_low: float = 0.0
    """The least value of a coefficient that is adapted."""
    coefficient_high: float = 1.0
    """The largest value of a coefficient that is adapted."""

    def __post_init__(self) -> None:
        Modifier.__post_init__(self)
        check_choice(self.normalization, NORMALIZATIONS, "normalization")
        if not np.all(np.isfinite(to_numpy(self.coefficient))):
            raise ValueError(f"coefficient must be finite, got {self.coefficient}")
        self._own_controller()

    @property
    def own_reads(self) -> frozenset[str]:
        return NOTHING

    @property
    def is_sequence_wise(self) -> bool:
        return self.base.is_sequence_wise

    def _own_controller(self) -> Any | None:
        if self.target is None:
            return None
        return TargetEntropyCoefficient(
            coefficient=self.coefficient, target=self.target, step=self.coefficient_step,
            low=self.coefficient_low, high=self.coefficient_high,
        )

    def coefficient_controller(self) -> Any | None:
        own, other = self._own_controller(), self.base.coefficient_controller()
        if own is not None and other is not None:
            raise ValueError("at most one of the rules may adapt its coefficient")
        return own if own is not None else other

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        inert: tuple[str, ...] = ()
        if self._own_controller() is None and np.all(to_numpy(self.coefficient) == 0):
            inert = (f"'{self.name}' has coefficient 0 and does nothing: raise it",)
        return (*self.base.warnings(on_policy=on_policy, tokens=tokens, actions=actions), *inert)

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        xp = namespace(batch.log_prob)
        factor = length_factor(batch, batch.is_ordinary, self.normalization)
        factor = xp.where(batch.is_ordinary, factor, 0 * factor)
        return self.base.prepare(batch).with_prepared(**{f"{self.name}.factor": factor})

    def _state_terms(self, batch: TokenBatch) -> dict[str, TokenColumn]:
        terms = dict(self.base.state_terms(batch))
        factor = batch.prepared[f"{self.name}.factor"]
        if batch.coefficient is not None and self._own_controller() is not None:
            bonus = batch.coefficient * factor
        else:
            bonus = per_run(self.coefficient, factor) * factor
        for name in self.moves:
            terms[name] = terms[name] + bonus if name in terms else bonus
        return terms
