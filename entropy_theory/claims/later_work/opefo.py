r"""OPEFO (arXiv 2605.11491): token updates rescaled so that their entropy effects cancel.

Tokens with first-order entropy change :math:`f_i > 0` get the weight :math:`1 + \lambda`, those with
:math:`f_i < 0` the weight :math:`1 - \lambda`. Let R be the sum of the rises and L the sum of the falls
:math:`|f_i|`, with :math:`R + L > 0`. At

.. math::

    \lambda^* = (L - R)/(L + R) = -\sum f / \sum |f|

the net flow vanishes. It lies in [-1, 1], so no weight is negative. To first order this is exact: the
balanced step d has :math:`\operatorname{Cov}(\log \pi, d) = 0`. The exact entropy still moves, within
:math:`\tfrac14(1 + \log n) \|d\|^2`.

There is a price. With two actions and the expected policy gradient both tokens push entropy the same
way. So :math:`\lambda^*` is 1 or -1 and the balanced step is zero, which means no learning at all. With
three actions and graded rewards the balanced step can even lower the expected reward. With rewards 0
and 1 it never does.

Proof. Let :math:`G_a = \pi_a A_a`, :math:`c = \mathbb E_\pi[G]`, :math:`w = S - \bar S` with
:math:`S = \pi (\log \pi + H)` and :math:`\bar S = \mathbb E_\pi S` (so :math:`f = -G w`),
:math:`X = \sum G^2` and :math:`Y = \sum G w`. Then

.. math::

    (R + L) (\text{rate of the reward}) = \sum_{\text{rises}} 2 G T,\quad T = Y (G - c) - X w

(once instead of twice where :math:`f = 0`). Among the correct actions, and among the wrong ones,
:math:`T/\pi = k - X \log \pi + D/\pi`. This falls as :math:`\pi` grows, because
:math:`D = X \bar S - Y c \ge 0`. And :math:`\pi T` adds up to zero. So :math:`\pi T` has a sum of at
least 0 over the less likely actions (:math:`w < 0`) of either kind, and of at most 0 over the others.
Rises are the correct actions with :math:`w < 0` (:math:`G > 0`) and the wrong ones with :math:`w > 0`
(:math:`G < 0`).
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import excess
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative

REWARD = vf.Vector(name="reward", low=0.0, high=1.0, grid=(0, 1, Fraction(3, 4)), range=vf.ANY)


@vf.definition
def flows(logits: ar.Reals, coefficients: ar.Reals) -> ar.Reals:
    """The first-order change of entropy by the tokens of each action: f_a = -G_a (S_a - Sbar)."""
    return -coefficients * excess(logits)


@vf.definition
def balance(flow: ar.Reals) -> ar.Reals:
    """lambda* = -sum f / sum |f|."""
    return -ar.total(flow) / ar.total(np.abs(flow))


@vf.definition
def _balanced(logits: ar.Reals, coefficients: ar.Reals, flow: ar.Reals) -> ar.Reals:
    """sum_a m_a G_a (e_a - pi), with m = 1 + lambda* on rises, 1 - lambda* on falls."""
    weighted = (1 + ar.per_action(balance(flow)) * ar.sign(flow)) * coefficients
    return weighted - ar.per_action(ar.total(weighted)) * ar.softmax(logits)


def balanced_step(logits: ar.Reals, coefficients: ar.Reals) -> ar.Reals:
    """``sum_a m_a G_a (e_a - pi)`` with m = 1 + lambda* on rises and 1 - lambda* on falls."""
    return _balanced(logits, coefficients, flows(logits, coefficients))


def _net(i: vf.Cases) -> ar.Reals:
    """Net first-order flow as a covariance, relative to the flow there is."""
    d = balanced_step(i.logits, i.step)
    flow = ar.total(np.abs(flows(i.logits, i.step)))
    return -ar.covariance(ar.softmax(i.logits), i.logits, d) / flow


SOME_FLOW = vf.Condition(
    latex="some token moves entropy",
    value=lambda i: ar.total(np.abs(flows(i.logits, i.step))))


def _exact_change(i: vf.Cases) -> ar.Reals:
    return ar.entropy_change(i.logits, balanced_step(i.logits, i.step))


opefo = vf.Claim(
    id="later-work.opefo",
    source="OPEFO (arXiv 2605.11491), the balancing coefficient",
    reading=vf.Reading(
        "precise",
        "rescales entropy-increasing and entropy-decreasing updates according to their contributions "
        "to entropy change",
        "abstract; the coefficient is as described in public, its equation is not at hand"),
    title="Flow-balancing weights cancel the first-order entropy change",
    scope="one tabular state, every action listed, exact expectation, first order; judged: the "
          "coefficient as described in public, its Eq. 6 is not at hand",
    statement=vf.Statement(
        latex=r"With weights $1+\lambda^*$ on $f_i>0$, $1-\lambda^*$ on $f_i<0$ and "
              r"$\lambda^*=\frac{\sum_{f<0}|f|-\sum_{f>0}f}{\sum|f|}$ the first-order entropy change is "
              r"zero; $|\lambda^*|\le1$, so no weight is negative.",
        margin=_net,
        relation="==",
        conditions=(SOME_FLOW,),
        beyond=lambda i: (
            has_derivative(lambda t: ar.entropy(
                i.logits + ar.per_action(t) * balanced_step(i.logits, i.step)), 0, 0),
            vf.elementwise("less_equal", np.abs(balance(flows(i.logits, i.step))), 1),
        ),
    ),
    instances=vf.bandit_instances(correct=False, step=True),
    mutants=(
        vf.mutant("the exact entropy change vanishes too", margin=_exact_change),
    ),
)

# ---------------------------------------------------------------- what balancing costs


def _progress(i: vf.Cases, reward: ar.Reals) -> ar.Reals:
    """First-order change of the expected reward under the balanced policy gradient."""
    p = ar.softmax(i.logits)
    advantage = ar.centered(p, reward)
    d = balanced_step(i.logits, p * advantage)
    return ar.total(d * p * advantage)


def _binary(i: vf.Cases) -> ar.Reals:
    """The rewards rounded to 0 and 1."""
    zero = 0 * i.reward
    return np.where(ar.less(i.reward, zero + ar.constant(0.5, i.reward)), zero,
                    zero + ar.constant(1, i.reward))


def _some_flow(reward: vf.Margin) -> vf.Condition:
    def excess_flow(i: vf.Cases) -> ar.Reals:
        p = ar.softmax(i.logits)
        flow = flows(i.logits, p * ar.centered(p, reward(i)))
        return ar.total(np.abs(flow)) - ar.constant(1e-6, like=i.logits)

    return vf.Condition(latex="some token moves entropy (by more than rounding)", value=excess_flow)


opefo_reward = vf.Claim(
    id="later-work.opefo-reward",
    source="OPEFO (arXiv 2605.11491), what balancing costs",
    title="Flow balancing never lowers the expected reward",
    scope="one tabular state, every action listed, exact expectation, first order; judged: the "
          "coefficient as described in public, its Eq. 6 is not at hand",
    statement=vf.Statement(
        latex=r"The flow-balanced expected policy gradient never lowers the expected reward to first "
              r"order.",
        margin=lambda i: _progress(i, i.reward),
        conditions=(_some_flow(lambda i: i.reward),),
    ),
    instances=vf.bandit_instances(correct=False, vectors=(REWARD,), actions=(2, 5)),
    # The smallest with rewards 0, 3/4 and 1, and the smallest of these for three actions.
    witnesses=(
        {"weights": [1, 1, 3, 4], "reward": [0, 0, Fraction(3, 4), 1]},
        {"weights": [2, 4, 5], "reward": [0, Fraction(3, 4), 1]},
    ),
    repair=vf.Statement(
        latex=r"With rewards 0 and 1 the flow-balanced expected policy gradient never lowers the "
              r"expected reward to first order.",
        margin=lambda i: _progress(i, _binary(i)),
        conditions=(_some_flow(_binary),),
    ),
    repair_note="rewards 0 and 1",
    mutants=(
        vf.mutant("with rewards 0 and 1 there is always progress",
                  margin=lambda i: _progress(i, _binary(i)) - ar.constant(1e-9, like=i.logits)),
    ),
)
