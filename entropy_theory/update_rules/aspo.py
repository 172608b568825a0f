r"""ASPO: the ratio of tokens with a positive advantage is inverted (arXiv 2510.06062, code Archer2.0).

.. math::

    \text{weight} = \begin{cases}
    \min(1/r, c) & A > 0,\ r \le 1 + \varepsilon_\text{high} \\
    \min(r, c) & A < 0,\ r \ge 1 - \varepsilon_\text{low} \\
    0 & \text{elsewhere.} \end{cases}

So a right token that became less likely is pulled back more. c is a soft dual clip: tokens beyond it keep
the gradient of weight c. The authors' scripts have eps .2, and .4 at the 20% of tokens with most entropy,
and c = 3.
"""

from __future__ import annotations

from entropy_theory.array_types import Array
from entropy_theory.policy import namespace
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import capped_exp, check_clip, unclipped
from entropy_theory.update_rules.ratio_loss import RatioLoss
from entropy_theory.update_rules.rule import update_rule


@update_rule("aspo")
class Aspo(RatioLoss):
    """GRPO's score with 1 / ratio for a positive advantage, and the weight limited."""

    _needs = RatioLoss._needs
    normalization: str = "token-mean"
    clip_low: float = 0.2
    """eps_low: with a negative advantage, no gradient once the ratio is below 1 - eps_low."""
    clip_high: float = 0.2
    """eps_high: with a positive advantage, no gradient once the ratio is above 1 + eps_high."""
    limit: float = 3.0
    """c, the largest weight, above 1."""

    def _check(self) -> None:
        check_clip(self.clip_low, self.clip_high)
        RatioLoss._check(self)
        if not self.limit > 1:
            raise ValueError(f"limit must be above 1, got {self.limit}")

    def _weight(self, batch: TokenBatch, advantage: Array) -> Array:
        change = self._log_ratio(batch)
        xp = namespace(change)
        weight = xp.clip(capped_exp(xp.where(advantage > 0, -change, change)), None, self.limit)
        kept = unclipped(capped_exp(change), advantage, self.clip_low, self.clip_high)
        return xp.where(kept, weight, xp.zeros_like(weight))
