r"""Entropy bonus: a base rule plus coefficient x grad H at every sampled state (AEPO, section 3.2).

.. math::

    J = J_\text{base} + \lambda\, E\, \frac{1}{|o|} \sum_t H(\pi(\cdot \mid s_t))

In a table of logits its gradient raises entropy at every step: :math:`dH = \eta \lambda \|S\|^2 \ge 0`
with :math:`S_a = \pi_a (\log \pi_a + H)`. Its pull fades near a deterministic policy, and it pushes up
however high entropy is already. So entropy collapses or explodes (AEPO, Figure 3). The claim
`extension.entropy-bonus` is on its balance with a reward.

With a ``target`` the coefficient is adapted (`update_rules.bonus`).
"""

from __future__ import annotations

from typing import ClassVar

from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.reads import NOTHING
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.bonus import Bonus
from entropy_theory.update_rules.clipped_ratio import length_factor
from entropy_theory.update_rules.rule import Needs, update_rule


@update_rule("entropy-bonus")
class EntropyBonus(Bonus):
    """The base rule's scores, and the state term {"entropy": coefficient} on ordinary rows."""

    _moved: ClassVar[str] = "entropy"
    coefficient: Array = 0.015
    """The coefficient lambda, a number or one per run; 0.015 is the Entropy-Reg baseline of AEPO's Table
    4. An adapted coefficient starts from it."""

    @property
    def _needs(self) -> Needs:
        return Needs(columns=self._columns_of_prompts, reads=NOTHING | self._reads_of_schedule,
                     moves=(self._moved,))

    def _prepare(self, batch: TokenBatch) -> TokenBatch:
        xp = namespace(batch.log_prob)
        factor = length_factor(batch, batch.is_ordinary, self.normalization)
        factor = xp.where(batch.is_ordinary, factor, xp.zeros_like(factor))
        return Bonus._prepare(self, batch).with_prepared(**{f"{self.name}.factor": factor})

    def _state_terms(self, batch: TokenBatch) -> dict[str, TokenColumn]:
        terms = dict(self.base.state_terms(batch))
        bonus = self._strength(batch) * batch.prepared[f"{self.name}.factor"]
        name = self._moved
        terms[name] = terms[name] + bonus if name in terms else bonus
        return terms
