r"""The sign of the covariances of the Entropy Mechanism, shared by several claims.

At one state with logits z and :math:`\pi = \operatorname{softmax}(z)`, the reward is r and the
advantage :math:`A = r - \mathbb E_\pi r`. Further, :math:`\bar z = \mathbb E_\pi z`, :math:`c_a = \pi_a
(z_a - \bar z) = \pi_a (\log \pi_a + H)` and :math:`C = \mathbb E_\pi c \ge 0`. Per unit learning rate
the first-order fall of entropy is

.. math::

    \text{plain policy gradient}:\quad \operatorname{Cov}_\pi(\log \pi, \pi A) = \mathbb E[(r - \rho)(c
    - C)] \text{ for every constant } \rho,

    \text{natural policy gradient}:\quad \operatorname{Cov}_\pi(\log \pi, A) = \operatorname{Cov}_\pi(z,
    r).

Both are positive if the reward is ordered like the policy (:math:`r_a > r_b` never with
:math:`z_a < z_b`), unless one of the two is constant. For the natural gradient this is Chebyshev's sum
inequality. For the plain one c is not ordered like z, since it has its minimum at
:math:`\pi_a = e^{-1-H}`. But :math:`c - C` changes sign only once, at :math:`z_+ = \max(\bar z,
\max\{z_a : z_a \ge \bar z, c_a < C\})`. Let rho be the largest reward at or below z+. Then no term of
:math:`\mathbb E[(r - \rho)(c - C)]` is negative.
"""

import dataclasses
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import own_covariance
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative


def _in_order(case: vf.Instance) -> vf.Instance:
    """The instance with its rewards put into the order of the policy."""
    order = np.argsort(np.asarray(case.get("weights", case["logits"])))
    reward = np.empty(len(order))
    reward[order] = np.sort(np.asarray(case["reward"]))
    return {**case, "reward": reward.tolist()}


REWARD = vf.Vector(name="reward", low=0.0, high=1.0, grid=(0, 1, Fraction(1, 2)), range=vf.ANY)
"""Graded rewards; the statements hold for any."""
_any_order = vf.bandit_instances(correct=False, actions=(2, 6), vectors=(REWARD,))
BANDITS = dataclasses.replace(
    _any_order, strategy=st.one_of(_any_order.strategy, _any_order.strategy.map(_in_order))
)


@vf.definition
def plain_covariance(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """Cov_pi(log pi, pi A), as the covariance of the reward and c."""
    return ar.covariance(ar.softmax(logits), reward, own_covariance(logits))


@vf.definition
def natural_covariance(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """Cov_pi(log pi, A) = Cov_pi(z, r)."""
    return ar.covariance(ar.softmax(logits), logits, reward)


def as_printed(logits: ar.Reals, reward: ar.Reals, kind: str) -> vf.Term:
    """Both forms are one: that of Theorem 1 or 2, and what is computed."""
    policy, log_policy = ar.softmax(logits), ar.log_softmax(logits)
    advantage = ar.centered(policy, reward)
    if kind == "plain":
        return vf.elementwise("equal", ar.covariance(policy, log_policy, policy * advantage),
                              plain_covariance(logits, reward))
    return vf.elementwise("equal", ar.covariance(policy, log_policy, advantage),
                          natural_covariance(logits, reward))


def is_the_fall(logits: ar.Reals, reward: ar.Reals, kind: str) -> vf.Term:
    """The covariance is minus the rate of entropy under the step pi A, or A."""
    policy = ar.softmax(logits)
    advantage = ar.centered(policy, reward)
    step, fall = ((policy * advantage, plain_covariance(logits, reward)) if kind == "plain"
                  else (advantage, natural_covariance(logits, reward)))
    return has_derivative(lambda t: ar.entropy(logits + ar.per_action(t) * step), 0, -fall)


def expected_reward(i: vf.Cases) -> ar.Reals:
    """E_pi r."""
    return ar.mean(ar.softmax(i.logits), i.reward)


def pair_products(i: vf.Cases) -> ar.Reals:
    """(r_a - r_b)(z_a - z_b) for all pairs, [..., n, n]."""
    return _differences(i.reward) * _differences(i.logits)


def ordered(products: ar.Reals) -> ar.Reals:
    """The smallest of all pairs' products."""
    return ar.smallest(ar.smallest(products))


def spread(values: ar.Reals) -> ar.Reals:
    """Largest minus smallest."""
    return ar.largest(values) - ar.smallest(values)


def _differences(values: ar.Reals) -> ar.Reals:
    return values[..., :, None] - values[..., None, :]


ORDERED_LIKE_POLICY = vf.Condition(
    latex="the reward is ordered like the policy: no likelier action has a smaller reward",
    value=lambda i: ordered(pair_products(i)),
    relation=">=",
)
NOT_UNIFORM = vf.Condition(latex="the policy is not uniform",
                           value=lambda i: spread(i.logits))
NOT_CONSTANT = vf.Condition(latex="the reward is not constant", value=lambda i: spread(i.reward))
ORDERED = (ORDERED_LIKE_POLICY, NOT_UNIFORM, NOT_CONSTANT)
