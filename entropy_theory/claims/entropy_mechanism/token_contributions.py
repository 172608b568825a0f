"""Each token's contribution to the entropy change, and what the token-wise covariance says of it.

One state, actions listed with their probabilities. In plain policy gradient with score s_a the action a
adds -pi_a s_a (c_a - C) to the first-order entropy change, c_a = pi_a (log pi_a + H), C = E c. Cui et
al. rank tokens by K_a = (log pi_a + H)(A_a - E A) instead, which is the share of a in the natural
gradient: -pi_a K_a. The two differ in sign where 0 < c_a < C. Where log pi_a + H < 0 they agree,
because then c_a < 0 <= C.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from entropy_theory.verification import Cases, Scalar
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.claim import Condition
from entropy_theory.verification.formula.definitions import definition
from entropy_theory.verification.formula.statement import POSITIVE

WIDTH = 5
"""omega_high / omega_low of the paper."""


@definition
def advantage(logits: Reals, reward: Reals) -> Reals:
    """A = r - E r."""
    return reward - ar.per_action(ar.mean(ar.softmax(logits), reward))


@definition
def relative_log_prob(logits: Reals) -> Reals:
    """log pi_a + H = z_a - E z.

    Exactly zero for a uniform policy.
    """
    return ar.centered(ar.softmax(logits), logits)


@definition
def token_covariance(logits: Reals, reward: Reals) -> Reals:
    """K_a = (log pi_a - E log pi)(A_a - E A)."""
    return relative_log_prob(logits) * advantage(logits, reward)


@definition
def in_band(logits: Reals, reward: Reals, lower: Reals) -> Mask:
    """What Clip-Cov selects from: omega_low <= K_a <= omega_high = 5 omega_low."""
    covariance, lowest = token_covariance(logits, reward), ar.per_action(lower)
    return ~ar.less(covariance, lowest) & ~ar.less(WIDTH * lowest, covariance)


@definition
def score_step(logits: Reals, weighted_score: Reals) -> Reals:
    """The logit step of tokens with these weighted scores: sum_a w_a (e_a - pi)."""
    return weighted_score - ar.per_action(ar.total(weighted_score)) * ar.softmax(logits)


@definition
def first_order(logits: Reals, step: Reals) -> Reals:
    """The first-order change of entropy: -Cov_pi(z, step)."""
    return -ar.covariance(ar.softmax(logits), logits, step)


def only(selected: Mask, values: Reals) -> Reals:
    """Values on the selected actions, zero elsewhere."""
    return np.where(selected, values, 0 * values)


THRESHOLD = Scalar(
    name="lower", low=0.01, high=2.0, grid=(1, Fraction(1, 8), Fraction(1, 64)), range=POSITIVE
)


def some(selected: Callable[[Cases], Mask], latex: str) -> Condition:
    """Some action is selected."""
    return Condition(latex=latex, value=lambda i: np.any(selected(i), axis=-1))


SOME_IN_BAND = some(
    lambda i: in_band(i.logits, i.reward, i.lower),
    r"some action has $K \in [\omega_{low}, 5\omega_{low}]$")
