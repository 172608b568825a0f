r"""VESPO: one weight per sequence, a bump of its whole ratio (arXiv 2602.10693, in TRL "vespo").

.. math::

    J = E\, \frac{1}{\sum_i |o_i|} \sum_{i,t} \operatorname{sg}[\phi(w_i)]\, A_i \log \pi(o_{it}), \quad
    w_i = \prod_t r_{it},

    \phi(w) = w^k e^{\lambda (1 - w)}, \quad (k, \lambda) \text{ by the sign of } A.

phi(1) = 1, and phi falls to 0 on both sides. The product of the ratios is not normalized by length, so
that long sequences have weights far from 1. TRL's defaults, which are these, are (2, 3) where A >= 0
and (3, 2) where A < 0. TRL limits log w to [log 1e-8, 20], where phi is below 3e-15 already; with vLLM
its ratios are those of anchor "sampling".
"""

from __future__ import annotations

import math

from entropy_theory.array_types import Array
from entropy_theory.policy import namespace
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import capped_exp, over_sequence
from entropy_theory.update_rules.ratio_loss import RatioLoss
from entropy_theory.update_rules.rule import update_rule


@update_rule("vespo")
class Vespo(RatioLoss):
    """The score is phi of the sequence's ratio x advantage x length factor."""

    _needs = RatioLoss._needs
    normalization: str = "token-mean"
    power_positive: float = 2.0
    """k where the advantage is not negative: how fast small ratios lose weight."""
    decay_positive: float = 3.0
    """lambda where the advantage is not negative: how fast large ratios lose weight."""
    power_negative: float = 3.0
    """k where the advantage is negative."""
    decay_negative: float = 2.0
    """lambda where the advantage is negative."""

    def _check(self) -> None:
        RatioLoss._check(self)
        for name in ("power_positive", "decay_positive", "power_negative", "decay_negative"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be a number of at least 0, got {getattr(self, name)}")

    def _weight(self, batch: TokenBatch, advantage: Array) -> Array:
        change = self._log_ratio(batch)
        xp = namespace(change)
        total = over_sequence(batch, change, mean=False)

        def phi(power: float, decay: float) -> Array:
            return capped_exp(power * total + decay * (1 - capped_exp(total)))

        return xp.where(advantage < 0, phi(self.power_negative, self.decay_negative),
                        phi(self.power_positive, self.decay_positive))
