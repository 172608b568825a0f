r"""Entropy-Adv: the advantage of a token grows with the entropy of its state (arXiv 2506.14758).

.. math::

    A_t \leftarrow A_t + \min(\beta \operatorname{sg}(H_t),\, |A_t| / \kappa)

H_t is a constant of the gradient, so nothing pulls the policy towards entropy. Tokens chosen where the
policy hesitates count more when they were right and less when they were wrong. As kappa > 1 the sign of
an advantage never changes, and a token without advantage gets none (`aepo.entropy-adv`).
"""

from __future__ import annotations

import math
from typing import Any

from entropy_theory.array_types import TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.reads import NOTHING
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.rule import Needs, update_rule
from entropy_theory.update_rules.shaped import Shaped


@update_rule("entropy-advantage")
class EntropyAdvantage(Shaped):
    """The base rule on shaped advantages (ordinary rows)."""

    beta: float = 0.4
    """Advantage per nat of entropy."""
    kappa: float = 2.0
    """The bonus is at most ``|A| / kappa``; kappa is above 1."""

    def _check(self) -> None:
        if not (math.isfinite(self.beta) and self.beta >= 0):
            raise ValueError(f"beta must be finite and at least 0, got {self.beta}")
        if not self.kappa > 1:
            raise ValueError(
                f"kappa must be above 1, or the bonus could reverse an advantage, got {self.kappa}"
            )

    @property
    def _needs(self) -> Needs:
        return Needs(columns=("entropy",), reads=NOTHING)

    def warnings(
        self, *, on_policy: bool, tokens: int | None = None, actions: int | None = None
    ) -> tuple[str, ...]:
        return (*self.base.warnings(on_policy=on_policy, tokens=tokens, actions=actions),
                *("'entropy-advantage' with beta 0 is its base rule: raise it",) * (self.beta == 0))

    def _shape(self, batch: TokenBatch, advantage: TokenColumn) -> TokenColumn:
        entropy: Any = batch.entropy
        bonus, limit = self.beta * entropy, abs(advantage) / self.kappa
        return advantage + namespace(advantage).where(bonus < limit, bonus, limit)
