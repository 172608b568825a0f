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

from entropy_theory.claims.aepo.tempered_reinforce import (
    SUM_OF_SIGNS,
    covariance_is_nonnegative,
    excess,
)
from entropy_theory.verification import Cases, Scalar, Step, smt, symbolic
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.claim import Condition

WIDTH = 5
"""omega_high / omega_low of the paper."""


def advantage(i: Cases) -> Reals:
    """r - E r."""
    return i.reward - ar.per_action(ar.mean(ar.softmax(i.logits), i.reward))


def relative_log_prob(i: Cases) -> Reals:
    """log pi_a + H = z_a - E z, exactly zero for a uniform policy."""
    return ar.centered(ar.softmax(i.logits), i.logits)


def token_covariance(i: Cases) -> Reals:
    """K_a = (log pi_a - E log pi)(A_a - E A)."""
    return relative_log_prob(i) * advantage(i)


def in_band(i: Cases) -> Mask:
    """omega_low <= K_a <= omega_high = 5 omega_low: what Clip-Cov selects from."""
    covariance, lower = token_covariance(i), ar.per_action(i.lower)
    return ~ar.less(covariance, lower) & ~ar.less(WIDTH * lower, covariance)


def score_step(logits: Reals, weighted_score: Reals) -> Reals:
    """sum_a w_a s_a (e_a - pi): the logit step of tokens with these weighted scores."""
    return weighted_score - ar.per_action(ar.total(weighted_score)) * ar.softmax(logits)


def first_order(logits: Reals, step: Reals) -> Reals:
    """-Cov_pi(z, step)."""
    return -ar.covariance(ar.softmax(logits), logits, step)


def only(selected: Mask, values: Reals) -> Reals:
    """Values on the selected actions, zero elsewhere."""
    return np.where(selected, values, 0 * values)


def at_least_c(i: Cases) -> Reals:
    """c_a - C."""
    return excess(i.logits)


THRESHOLD = Scalar(
    name="lower", low=0.01, high=2.0, grid=(1, Fraction(1, 8), Fraction(1, 64))
)


def some(selected: Callable[[Cases], Mask], latex: str) -> Condition:
    """Some action is selected."""
    return Condition(latex=latex, value=lambda i: np.any(selected(i), axis=-1))


SOME_IN_BAND = some(in_band, r"some action has $K \in [\omega_{low}, 5\omega_{low}]$")


def contribution_steps() -> tuple[Step, ...]:
    """C >= 0, and the share of one set of tokens in the first-order entropy change."""

    def share() -> symbolic.Expression:
        m = symbolic.Moments("z P s", indicators="B")
        z, prob, s, b = m["z"], m["P"], m["s"], m["B"]
        # sum_a pi_a s_a 1_B(a) (e_a - pi): entry P s B - P E[s B].
        step = prob * s * b - prob * m.expect(s * b)
        c = prob * (z - m.expect(z))
        return m.covariance(z, step) - m.expect(b * s * (c - m.expect(c)))

    return (
        *covariance_is_nonnegative(),
        symbolic.identity(
            "share of a set of tokens",
            "tokens a in I with scores s_a add -sum_I pi_a s_a (c_a - C) to the entropy change",
            share, axioms=("log pi_a and z_a differ by a constant",),
        ),
    )


def rare_tokens() -> smt.Lemma:
    """Below e^{-H}, c_a < 0 <= C."""
    return smt.lemma(
        "below e^{-H}", "log pi_a + H < 0 gives c_a < C", "p d C",
        lambda v: [v.p > 0, v.d < 0, v.C >= 0], lambda v: v.p * v.d < v.C,
        uses=("C is nonnegative",),
    )


def positive_sum(name: str, statement: str, uses: tuple[str, ...]) -> Step:
    """A sum with one positive term at least and no negative one."""
    return smt.lemma(name, statement, "one others whole",
                     lambda v: [v.one > 0, v.others >= 0, v.whole == v.one + v.others],
                     lambda v: v.whole > 0, uses=uses, axioms=(SUM_OF_SIGNS,))
