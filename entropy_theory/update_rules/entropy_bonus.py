"""Entropy bonus: a base rule plus coefficient x grad H at every sampled state (AEPO, section 3.2).

    J = J_base + lambda E (1/|o|) sum_t H(pi(. | s_t))

In the tabular world its gradient raises entropy at every step (dH = eta lambda ||S||^2 >= 0, with
S_a = pi_a (log pi_a + H)), but its pull fades near a deterministic policy and never ends near a
uniform one: entropy collapses or explodes (AEPO, Figure 3).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from entropy_theory.policy import Array, namespace
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import length_factor
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.rule import UpdateRule, per_run


@dataclass(frozen=True, kw_only=True, slots=True)
class EntropyBonus(UpdateRule):
    """The base rule's scores, and the state term {"entropy": coefficient} on ordinary rows."""

    name: ClassVar[str] = "entropy-bonus"
    coefficient: Array = 0.015
    """lambda, a number or one a run; 0.015 is the Entropy-Reg baseline of AEPO's Table 4."""
    base: UpdateRule = field(default_factory=Grpo)

    def __post_init__(self) -> None:
        if not np.all(np.isfinite(self.coefficient)):
            raise ValueError(f"coefficient must be finite, got {self.coefficient}")

    @property
    def pools_equal_rewards(self) -> bool:
        return self.base.pools_equal_rewards

    @property
    def needs_listing(self) -> bool:
        return self.base.needs_listing

    def controller(self) -> Any | None:
        return self.base.controller()

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        xp = namespace(batch.log_prob)
        factor = length_factor(batch, batch.is_ordinary, "sequence-mean")
        factor = xp.where(batch.is_ordinary, factor, 0 * factor)
        return self.base.prepare(batch).with_prepared(**{"entropy-bonus.factor": factor})

    def _scores(self, batch: TokenBatch) -> Array:
        return self.base.scores(batch)

    def _state_terms(self, batch: TokenBatch) -> dict[str, Array]:
        terms = dict(self.base.state_terms(batch))
        factor = batch.prepared["entropy-bonus.factor"]
        bonus = per_run(self.coefficient, factor) * factor
        terms["entropy"] = terms["entropy"] + bonus if "entropy" in terms else bonus
        return terms

    def metrics(self, batch: TokenBatch) -> dict[str, Array]:
        return self.base.metrics(batch)
