r"""W-REINFORCE and NSR: right answers count less than wrong ones (arXiv 2506.01347).

.. math::

    A \leftarrow \lambda A \text{ where } A > 0

lambda is .1 in W-REINFORCE and 0 in NSR, which learns from wrong answers alone. Rewards are signed and
have no baseline: 1 at right answers, -1 at wrong ones (estimator "signed"). So it is in the authors'
code (TianHongZXY/RLVR-Decomposed, ``psr_nsr``), under PPO's clip and averaged over tokens. With another
base it weighs the positive advantages of that. In expectation right and wrong answers of a state push
along one line (`later-work.entrocraft`), so that lambda changes the speed alone, to (1 + lambda)/2.
"""

from __future__ import annotations

import math
from dataclasses import field

from entropy_theory.array_types import TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.reads import NOTHING
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.rule import Needs, UpdateRule, update_rule
from entropy_theory.update_rules.shaped import Shaped


def signed_grpo() -> Grpo:
    """Return the base rule r A with A = 1 or -1, averaged over tokens."""
    return Grpo(estimator="signed", normalization="token-mean")


@update_rule("w-reinforce")
class WReinforce(Shaped):
    """The base rule, with positive advantages times a weight."""

    base: UpdateRule = field(default_factory=signed_grpo)
    """The rule that is modified."""
    positive_weight: float = 0.1
    """The weight lambda of positive advantages; 0 is NSR, 1 the base rule."""

    _needs = Needs(reads=NOTHING)

    def _check(self) -> None:
        if not (math.isfinite(self.positive_weight) and self.positive_weight >= 0):
            raise ValueError(
                f"positive_weight must be finite and at least 0, got {self.positive_weight}")

    def _shape(self, batch: TokenBatch, advantage: TokenColumn) -> TokenColumn:
        return namespace(advantage).where(advantage > 0, self.positive_weight * advantage, advantage)
