r"""GSPO: one ratio a sequence (Zheng et al., arXiv 2507.18071, Eqs. 5-7).

.. math::

    J = E\, \frac1G \sum_i
    \min\bigl(s_i A_i, \operatorname{clip}(s_i, 1 - \varepsilon_\text{low},
    1 + \varepsilon_\text{high})\, A_i\bigr),

    s_i = \Bigl(\frac{\pi(o_i)}{\pi_\text{old}(o_i)}\Bigr)^{1/|o_i|}
    = \exp\Bigl(\frac{1}{|o_i|} \sum_t \log r_{it}\Bigr).

:math:`\nabla s_i = s_i (1/|o_i|) \sum_t \nabla \log \pi(o_{it})`: each token's score is s_i A_i times
the same length factor as in sequence-mean GRPO, so on-policy the two are one rule. Clips bind for whole
sequences and are narrow, because s_i is a geometric mean. GSPO-token (Eqs. 13-15), where s_it = sg[s_i]
pi / sg[pi], has this gradient too, with an advantage of each token where the batch brings one. TRL's
``importance_sampling_level="sequence"``, verl's ``gspo`` and SkyRL's ``gspo`` are it.
"""

from __future__ import annotations

from entropy_theory.array_types import Array
from entropy_theory.policy import namespace
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules.clipped_ratio import capped_exp, log_ratio, over_sequence
from entropy_theory.update_rules.grpo import Grpo
from entropy_theory.update_rules.rule import update_rule


@update_rule("gspo")
class Gspo(Grpo):
    """The score is sequence ratio x advantage x length factor where the sequence is not clipped.

    Default clips are those of the paper's section 5.1.
    """

    _needs = Grpo._needs
    clip_low: float = 3e-4
    clip_high: float = 4e-4

    def _ratio(self, batch: TokenBatch) -> Array:
        change = log_ratio(batch)
        mean = over_sequence(batch, change, mean=True)
        return namespace(change).ones_like(change) * capped_exp(mean)
