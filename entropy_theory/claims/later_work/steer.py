r"""STEER (arXiv 2510.10150): the estimate :math:`\Omega` of what one sampled token does to entropy.

In the authors' code (zz-haooo/STEER) :math:`\Omega = (A/\pi_{\text{old}}) \pi_k (1 - \pi_k)(\log \pi_k
+ H)`, and -Omega is the estimated entropy change. According to the paper it is exact up to the square
of the learning rate. With :math:`c_k = \pi_k (\log \pi_k + H)` and :math:`C = \mathbb E c` it is
on-policy :math:`-A (1 - \pi_k) c_k`, per unit learning rate and probability. This is the share of the
token's own logit. The step :math:`\nabla \log \pi(k)` moves the other logits as well, and the first
order is :math:`-A (c_k - C)`.

So the two differ by :math:`A (C - \pi_k c_k)`, to first order. Where :math:`0 < c_k < C` even the sign
differs. Such tokens are above :math:`e^{-H}` and below the crossing of `later-work.stare`. They are one
in fifteen of the tokens sampled from random policies of 3 to 12 actions. Below :math:`e^{-H}` the sign
is right.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import excess, own_covariance
from entropy_theory.claims.entropy_mechanism.token_contributions import relative_log_prob
from entropy_theory.claims.later_work.sampled_action import effect_of_sample
from entropy_theory.verification import arithmetic as ar


@vf.definition
def estimate(logits: ar.Reals) -> ar.Reals:
    """-Omega of each action on policy, at A = 1 and per unit of 1/pi_old."""
    return -(1 - ar.softmax(logits)) * own_covariance(logits)


def _agreement(i: vf.Cases) -> ar.Reals:
    return estimate(i.logits) * effect_of_sample(i.logits)


def _where_rare(i: vf.Cases) -> ar.Reals:
    one = 0 * i.logits + ar.constant(1, like=i.logits)
    return np.where(ar.less(relative_log_prob(i.logits), 0 * i.logits), _agreement(i), one)


steer = vf.Claim(
    id="later-work.steer",
    source="STEER (arXiv 2510.10150), the estimate of a token's entropy change",
    reading=vf.Reading(
        "precise", "",
        "the public code's Omega; that it is tight is quoted elsewhere, the text is not at hand"),
    title="STEER's estimate has the sign of a token's entropy change",
    scope="one tabular state, one sampled token, on-policy, first order; judged: the public code",
    statement=vf.Statement(
        latex=r"At $A=1$ the estimate, $-\pi_k\Omega_k=-(1-\pi_k)c_k$ with $c_k=\pi_k(\log\pi_k+H)$, has "
              r"no other sign than the first-order change of entropy by the step $e_k-\pi$.",
        margin=_agreement,
    ),
    instances=vf.bandit_instances(correct=False),
    repair=vf.Statement(
        latex=r"Below $e^{-H}$ it has the same sign. For every token the estimate is short of the "
              r"change by $C-\pi_kc_k$, $C=\mathbb E\,c$.",
        margin=_where_rare,
        relation=">",
        beyond=lambda i: (vf.elementwise(
            "equal", effect_of_sample(i.logits) - estimate(i.logits),
            ar.per_action(ar.mean(ar.softmax(i.logits), own_covariance(i.logits)))
            - ar.softmax(i.logits) * own_covariance(i.logits)).all(),
            vf.elementwise("equal", effect_of_sample(i.logits), -excess(i.logits)).all()),
    ),
    repair_note="for tokens below $e^{-H}$; the error is $C-\\pi_kc_k$",
    mutants=(
        vf.mutant("above e^-H too", margin=_agreement),
    ),
)
