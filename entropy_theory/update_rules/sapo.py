r"""SAPO: a soft gate in place of the clip (arXiv 2511.20347, Eqs. 5-6, and five engines).

.. math::

    J = E\, \frac1G \sum_i \frac{1}{|o_i|} \sum_t f(r_{it})\, A_i, \quad
    f(r) = \frac{4}{\tau} \operatorname{sigmoid}(\tau (r - 1)),

    \tau = \tau_\text{positive} \text{ where } A > 0, \quad \tau_\text{negative} \text{ elsewhere.}

At ratio 1 f' is 1: on-policy it is GRPO. Its gradient is :math:`r f'(r) A = 4 r s (1 - s) A` with s the
sigmoid. It decays on both sides of 1, whatever the sign of A. TRL, verl, SkyRL, AReaL and ms-swift all
have tau 1 and 1.05.
"""

from __future__ import annotations

import math

from entropy_theory.array_types import Array
from entropy_theory.policy import namespace
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import capped_exp
from entropy_theory.update_rules.ratio_loss import RatioLoss
from entropy_theory.update_rules.rule import update_rule


@update_rule("sapo")
class Sapo(RatioLoss):
    """The score is ratio x slope of the gate x advantage x length factor."""

    _needs = RatioLoss._needs
    tau_positive: float = 1.0
    """The gate's temperature where the advantage is positive: the larger, the narrower the gate."""
    tau_negative: float = 1.05
    """The gate's temperature elsewhere."""

    def _check(self) -> None:
        RatioLoss._check(self)
        for name in ("tau_positive", "tau_negative"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} must be a positive number, got {getattr(self, name)}")

    def _weight(self, batch: TokenBatch, advantage: Array) -> Array:
        r = capped_exp(self._log_ratio(batch))
        xp = namespace(r)
        ones = xp.ones_like(r)
        tau = xp.where(advantage > 0, self.tau_positive * ones, self.tau_negative * ones)
        # sigmoid(x) sigmoid(-x) from the side where nothing overflows.
        decay = capped_exp(-tau * abs(r - 1))
        return 4 * r * decay / (1 + decay) ** 2
