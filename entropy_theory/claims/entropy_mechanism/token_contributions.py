r"""The contribution of each token to the entropy change, compared with the token-wise covariance.

The setting is one state, with actions listed with their probabilities. With
:math:`c_a = \pi_a (\log \pi_a + H)` and :math:`C = \mathbb E c`, the action a of score :math:`s_a` adds
:math:`-\pi_a s_a (c_a - C)` to the first-order entropy change of the plain policy gradient. Cui et al.
rank tokens by :math:`K_a = (\log \pi_a + H)(A_a - \mathbb E A)` instead. In the natural gradient the
share of a is :math:`-\pi_a K_a`. The two differ in sign where :math:`0 < c_a < C`. Where
:math:`\log \pi_a + H < 0` they agree, because then :math:`c_a < 0 \le C`.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar

WIDTH = 5
"""omega_high / omega_low of the paper."""


@vf.definition
def advantage(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """A = r - E r."""
    return reward - ar.per_action(ar.mean(ar.softmax(logits), reward))


@vf.definition
def relative_log_prob(logits: ar.Reals) -> ar.Reals:
    """log pi_a + H = z_a - E z.

    Exactly zero for a uniform policy.
    """
    return ar.centered(ar.softmax(logits), logits)


@vf.definition
def token_covariance(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """K_a = (log pi_a - E log pi)(A_a - E A)."""
    return relative_log_prob(logits) * advantage(logits, reward)


@vf.definition
def in_band(logits: ar.Reals, reward: ar.Reals, lower: ar.Reals) -> ar.Mask:
    """What Clip-Cov selects from: omega_low <= K_a <= omega_high = 5 omega_low."""
    covariance, lowest = token_covariance(logits, reward), ar.per_action(lower)
    return ~ar.less(covariance, lowest) & ~ar.less(WIDTH * lowest, covariance)


@vf.definition
def score_step(logits: ar.Reals, weighted_score: ar.Reals) -> ar.Reals:
    """The logit step of tokens with these weighted scores: sum_a w_a (e_a - pi)."""
    return weighted_score - ar.per_action(ar.total(weighted_score)) * ar.softmax(logits)


@vf.definition
def first_order(logits: ar.Reals, step: ar.Reals) -> ar.Reals:
    """The first-order change of entropy: -Cov_pi(z, step)."""
    return -ar.covariance(ar.softmax(logits), logits, step)


def only(selected: ar.Mask, values: ar.Reals) -> ar.Reals:
    """Values on the selected actions, zero elsewhere."""
    return np.where(selected, values, 0 * values)


THRESHOLD = vf.Scalar(
    name="lower", low=0.01, high=2.0, grid=(1, Fraction(1, 8), Fraction(1, 64)), range=vf.POSITIVE
)


def some(selected: Callable[[vf.Cases], ar.Mask], latex: str) -> vf.Condition:
    """Some action is selected."""
    return vf.Condition(latex=latex, value=lambda i: np.any(selected(i), axis=-1))


SOME_IN_BAND = some(
    lambda i: in_band(i.logits, i.reward, i.lower),
    r"some action has $K \in [\omega_{low}, 5\omega_{low}]$")
