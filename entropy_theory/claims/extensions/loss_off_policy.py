r"""Off policy: by how much a loss misses the policy gradient, to first order in the drift.

Tokens are drawn from :math:`\pi_{\text{old}}`, and the logits have drifted by t d since. A loss has the
coefficient :math:`w(r)` A with :math:`w(1) = 1` and the slope :math:`\kappa` there. The first order
depends on this slope alone, and is proved for :math:`r^\kappa`. The expected step of the loss is
:math:`\mathbb E[w(r) A \nabla \log \pi]`. With :math:`u = d - \mathbb E d`,

.. math::

    \text{step of the loss } - \text{ step of policy gradient } = t (\kappa - 1) \sum_a \pi_a u_a A_a
    (e_a - \pi) + O(t^2).

So entropy's rate is off by :math:`-t (\kappa - 1) \sum_a \pi_a u_a A_a (c_a - C)`. Importance sampling,
:math:`w(r) = r` with :math:`\kappa = 1`, misses nothing at any drift.

The slopes are those of `extension.loss-on-policy`. PPO within its clip, CISPO, CE-GPPO, DPPO and SAPO
have 1. Plain REINFORCE has 0, and so has TOPR where :math:`A > 0`. VESPO has :math:`k - \lambda`.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.token_contributions import score_step
from entropy_theory.claims.extensions.loss_coefficient import SCORE, expected_step
from entropy_theory.claims.later_work.clip_low_high import DRIFT, ratio
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative

SLOPE = vf.Scalar(name="slope", low=0.05, high=3.0, grid=(1, 2), range=vf.ANY)
"""kappa."""


@vf.definition
def weighted(logits: ar.Reals, moved_logits: ar.Reals, score: ar.Reals, slope: ar.Reals) -> ar.Reals:
    """pi_old r^kappa A."""
    change = ar.log_softmax(moved_logits) - ar.log_softmax(logits)
    return ar.softmax(logits) * np.exp(ar.per_action(slope) * change) * score


def _gap(i: vf.Cases, t: vf.Term) -> ar.Reals:
    """The step of the loss minus that of policy gradient, after a drift t d."""
    there = i.logits + ar.per_action(t) * i.drift
    return (score_step(there, weighted(i.logits, there, i.score, i.slope))
            - expected_step(there, i.score))


def _missed(i: vf.Cases) -> ar.Reals:
    """``(kappa - 1) sum_a pi_a u_a A_a (e_a - pi)``."""
    policy = ar.softmax(i.logits)
    return ar.per_action(i.slope - 1) * expected_step(i.logits, ar.centered(policy, i.drift) * i.score)


def _importance_sampled(i: vf.Cases) -> ar.Reals:
    old = ar.softmax(i.logits - i.drift)
    weight = old * ratio(i.logits, i.drift)
    return score_step(i.logits, weight * i.score) - expected_step(i.logits, i.score)


loss_off_policy = vf.Claim(
    id="extension.loss-off-policy",
    source="ours: losses of the ratio on samples of an older policy",
    title="To first order the weight r^kappa misses policy gradient in proportion to kappa - 1",
    scope="one tabular state, samples of an older policy, exact expectation, first order in the drift",
    statement=vf.Statement(
        latex=r"Weight $r$: the expected step is that of policy gradient at any drift. Weight "
              r"$r^\kappa$ on samples of $\pi$: after a drift $t\,d$ it is off by "
              r"$t(\kappa-1)\sum_a\pi_a(d_a-\mathbb E\,d)A_a(e_a-\pi)$, to first order in $t$.",
        margin=_importance_sampled,
        relation="==",
        beyond=lambda i: (has_derivative(lambda t: _gap(i, t), 0, _missed(i)).all(),),
    ),
    instances=vf.bandit_instances(SLOPE, correct=False, vectors=(SCORE, DRIFT)),
    mutants=(
        vf.mutant("the old policy's weights alone", margin=lambda i: score_step(
            i.logits, ar.softmax(i.logits - i.drift) * i.score) - expected_step(i.logits, i.score)),
    ),
)
