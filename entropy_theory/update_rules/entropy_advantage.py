"""Entropy-Adv: the advantage of a token grows with the entropy of its state (arXiv 2506.14758).

    A_t <- A_t + min( beta sg(H_t), |A_t| / kappa )

H_t is a constant of the gradient: nothing pulls the policy towards entropy; tokens chosen where the
policy hesitates count more when they were right and less when they were wrong. As kappa > 1 the sign of
an advantage never changes, and a token without advantage gets none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from entropy_theory.array_types import TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.modifier import Modifier


@dataclass(frozen=True, kw_only=True, slots=True)
class EntropyAdvantage(Modifier):
    """The base rule on shaped advantages (ordinary rows)."""

    name: ClassVar[str] = "entropy-advantage"
    requires: ClassVar[tuple[str, ...]] = ("entropy",)
    beta: float = 0.4
    """Advantage per nat of entropy."""
    kappa: float = 2.0
    """The bonus is at most |A| / kappa; kappa is above 1."""

    def __post_init__(self) -> None:
        Modifier.__post_init__(self)
        if not (math.isfinite(self.beta) and self.beta >= 0):
            raise ValueError(f"beta must be finite and at least 0, got {self.beta}")
        if not self.kappa > 1:
            raise ValueError(
                f"kappa must be above 1, or the bonus could reverse an advantage, got {self.kappa}"
            )

    @property
    def own_reads(self) -> frozenset[str]:
        return frozenset({"entropy"})

    @property
    def is_sequence_wise(self) -> bool:
        return self.base.is_sequence_wise

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        return (*self.base.warnings(on_policy=on_policy, tokens=tokens, actions=actions),
                *("'entropy-advantage' with beta 0 is its base rule: raise it",) * (self.beta == 0))

    def advantages(self, batch: TokenBatch) -> TokenColumn:
        batch.require(self.name, "entropy")
        entropy: Any = batch.entropy
        advantage = self.base.advantages(batch)
        xp = namespace(advantage)
        bonus = self.beta * entropy
        limit = abs(advantage) / self.kappa
        bonus = xp.where(bonus < limit, bonus, limit)
        return xp.where(batch.is_ordinary, advantage + bonus, advantage)

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        shaped = self.base.prepare(batch.replace(advantage=self.advantages(batch)))
        return batch.with_prepared(**shaped.prepared)
