r"""Difficulty weights: good answers count more on hard prompts, bad ones on easy (GRPO-LEAD, 2504.09696).

.. math::

    A \leftarrow w(p)\, A \text{ where } A > 0, \quad A \leftarrow w(1 - p)\, A \text{ where } A < 0,

    w(p) = \text{low}
    + \frac{\text{high} - \text{low}}{1 + \exp(\text{steepness} \times (p - \text{middle}))}

Here p is the share of right answers in the prompt's group. The paper has w from .4 to 1.5, middle .75 and
steepness 10. Its length reward is not part of the rule.
"""

from __future__ import annotations

import math

from entropy_theory import advantages
from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.reads import NOTHING
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.rule import Needs, update_rule
from entropy_theory.update_rules.shaped import Shaped, need_rewards


@update_rule("difficulty")
class Difficulty(Shaped):
    """The base rule, with advantages weighted by the share of right answers to the prompt."""

    weight_low: float = 0.4
    """The weight of easy prompts' good answers, above 0."""
    weight_high: float = 1.5
    """The weight of hard prompts' good answers."""
    middle: float = 0.75
    """The share of right answers at which the weight is in the middle."""
    steepness: float = 10.0
    """How fast the weight falls with the share."""
    positive_reward: float = 1.0
    """An answer is right where its reward is at least this."""

    _needs = Needs(reads=NOTHING)

    def _check(self) -> None:
        if not 0 < self.weight_low <= self.weight_high < math.inf:
            raise ValueError("weights must be finite, above 0 and weight_low at most weight_high, got "
                             f"{self.weight_low} and {self.weight_high}")
        for name in ("middle", "steepness", "positive_reward"):
            if not math.isfinite(getattr(self, name)):
                raise ValueError(f"{name} must be finite, got {getattr(self, name)}")

    def _shape(self, batch: TokenBatch, advantage: TokenColumn) -> TokenColumn:
        need_rewards(self.name, batch)
        xp, rows = namespace(advantage), batch.is_ordinary
        right = xp.astype(advantages.right_answers(batch, rows, self.positive_reward), advantage.dtype)
        share = advantages.group_mean(batch, rows, right)
        return advantage * xp.where(advantage > 0, self._weight(share), self._weight(1 - share))

    def _weight(self, share: Array) -> Array:
        xp = namespace(share)
        odds = xp.exp(xp.clip(self.steepness * (share - self.middle), None, 80.0))
        return self.weight_low + (self.weight_high - self.weight_low) / (1 + odds)

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        return self._reshaped(batch)
