r"""TOPR: positive answers are learned as they are, negative ones tapered (arXiv 2503.14286, Eq. 8).

.. math::

    \text{gradient} = \sum_{A > 0} A\, \nabla \log \pi
    + \sum_{A < 0} \operatorname{clip}(w, 0, 1)\, A\, \nabla \log \pi

w is the ratio of the whole sequence (printed), or of each token (ROLL's ``topr``, and its ``tis`` with
``cispo(clip_low=1, clip_high=0)``). ROLL tells answers apart by the sign of their scores, not
advantages.
"""

from __future__ import annotations

from entropy_theory.array_types import Array
from entropy_theory.policy import namespace
from entropy_theory.support.user_errors import check_choice
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import capped_exp, over_sequence
from entropy_theory.update_rules.ratio_loss import RatioLoss
from entropy_theory.update_rules.rule import update_rule

LEVELS = ("sequence", "token")


@update_rule("topr")
class Topr(RatioLoss):
    """The score is advantage x length factor, times the ratio up to 1 where the advantage is negative."""

    _needs = RatioLoss._needs
    level: str = "sequence"
    """The ratio that counts, of the "sequence" (printed) or of the "token" (ROLL)."""

    def _check(self) -> None:
        RatioLoss._check(self)
        check_choice(self.level, LEVELS, "level")

    def _weight(self, batch: TokenBatch, advantage: Array) -> Array:
        change = self._log_ratio(batch)
        xp = namespace(change)
        ones = xp.ones_like(change)
        if self.level == "sequence":
            change = over_sequence(batch, change, mean=False) * ones
        return xp.where(advantage < 0, xp.clip(capped_exp(change), None, 1.0), ones)
