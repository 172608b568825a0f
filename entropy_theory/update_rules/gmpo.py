r"""GMPO: the geometric mean of clipped token ratios, one per sequence (arXiv 2507.20673, Eq. 4).

.. math::

    J = E\, \frac1G \sum_i A_i \exp\Bigl(\frac{1}{|o_i|} \sum_t c_{it}\Bigr), \quad c_{it} = \begin{cases}
    \min(\log r_{it},\, \varepsilon_\text{high}) & A > 0 \\
    \max(\log r_{it},\, -\varepsilon_\text{low}) & A < 0. \end{cases}

Its gradient is A_i times the mean on tokens that are not clipped, over :math:`|o_i|`, and 0 on the
others, which still count in the mean. The paper and TRL's GMPOTrainer have eps .4 on both sides; verl's
``geo_mean`` takes its ``clip_ratio``, .2, and the mean of a sequence's advantages.
"""

from __future__ import annotations

from entropy_theory import rounding
from entropy_theory.array_types import Array
from entropy_theory.policy import namespace
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import capped_exp, check_clip, over_sequence
from entropy_theory.update_rules.ratio_loss import RatioLoss
from entropy_theory.update_rules.rule import update_rule


@update_rule("gmpo")
class Gmpo(RatioLoss):
    """The score is the sequence's mean ratio x advantage x length factor where a token is unclipped."""

    _needs = RatioLoss._needs
    clip_low: float = 0.4
    """eps_low, in nats of the log-ratio."""
    clip_high: float = 0.4
    """eps_high, in nats of the log-ratio."""

    def _check(self) -> None:
        check_clip(self.clip_low, self.clip_high)
        RatioLoss._check(self)

    def _weight(self, batch: TokenBatch, advantage: Array) -> Array:
        change = self._log_ratio(batch)
        xp = namespace(change)
        ones = xp.ones_like(change)
        above = (advantage > 0) & ~rounding.at_most(change, self.clip_high)
        below = (advantage < 0) & ~rounding.at_least(change, -self.clip_low)
        clipped = xp.where(above, self.clip_high * ones, xp.where(below, -self.clip_low * ones, change))
        mean = over_sequence(batch, clipped, mean=True) * ones
        return xp.where(above | below, xp.zeros_like(change), capped_exp(mean))
