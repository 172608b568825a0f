r"""CISPO: the ratio is clipped as a weight, and no token loses its gradient (arXiv 2506.13585, Eqs. 4-5).

.. math::

    J = E\, \frac{1}{\sum_i |o_i|} \sum_{i,t}
    \operatorname{sg}[\operatorname{clip}(r_{it}, 1 - \varepsilon_\text{low},
    1 + \varepsilon_\text{high})]\, A_i \log \pi(o_{it})

MiniMax-M1 prints no value of eps_high and sets no lower bound. By default the engines' bounds of the
ratio are

- 0 and 5 in ScaleRL, which are taken here
- .8 and 1.2 in verl and slime
- .9 and 1.1 in ROLL, and 0 and 1 in its ``tis``
- 1 and 6 in SkyRL 0.3, so that no ratio weighs less than 1

TRL and ms-swift have an upper bound alone, ``epsilon_high`` itself and not 1 + ``epsilon_high``. SkyRL's
``cispo_anchor="rollout"`` is anchor "sampling".
"""

from __future__ import annotations

from entropy_theory.array_types import Array
from entropy_theory.policy import namespace
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import capped_exp
from entropy_theory.update_rules.ratio_loss import RatioLoss
from entropy_theory.update_rules.rule import update_rule


@update_rule("cispo")
class Cispo(RatioLoss):
    """The score is clipped ratio x advantage x length factor."""

    _needs = RatioLoss._needs
    normalization: str = "token-mean"
    clip_low: float = 1.0
    """eps_low: a ratio below ``1 - eps_low`` weighs ``1 - eps_low``."""
    clip_high: float = 4.0
    """eps_high, above -1: ratios above 1 + eps_high weigh 1 + eps_high."""

    def _check(self) -> None:
        RatioLoss._check(self)
        if not (self.clip_low >= 0 and self.clip_high > -1 and self.clip_low >= -self.clip_high):
            raise ValueError(
                "cispo needs clip_low of at least 0 and clip_high above -1, with 1 - clip_low at most "
                f"1 + clip_high, got {self.clip_low} and {self.clip_high}")

    def _weight(self, batch: TokenBatch, advantage: Array) -> Array:
        r = capped_exp(self._log_ratio(batch))
        return namespace(r).clip(r, max(1 - self.clip_low, 0.0), 1 + self.clip_high)
