"""What AEPO's statements share: the tempered REINFORCE step, its entropy rate, and common lemmas.

One state, logits z, pi = softmax(z), pi^T = softmax(z/T), correct set A*, zb = E_pi z,
c_a = Cov_pi(z, delta_a) = pi_a (z_a - zb), C = Cov_pi(z, pi), and per unit learning rate

    F(T) = -sum_{A*} pi^T_a (c_a - C),        T^2 F'(T) = sum_{A*} pi^T_a (z_a - E_{pi^T} z)(c_a - C).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification import smt, symbolic
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.claim import Condition, Step
from entropy_theory.verification.formula.limits import has_derivative
from entropy_theory.verification.formula.statement import POSITIVE, Range
from entropy_theory.verification.formula.terms import Term, definition
from entropy_theory.verification.instances import Scalar

TEMPERATURE = Scalar(
    name="temperature", low=0.05, high=20.0,
    grid=(2, Fraction(1, 2), Fraction(5, 4), Fraction(4, 5), 4, Fraction(1, 4)), range=POSITIVE
)
HIGH_TEMPERATURE = Scalar(
    name="temperature", low=1.01, high=20.0, grid=(2, 3, Fraction(3, 2), Fraction(6, 5)),
    range=Range(low=1, open_low=True),
)
LOW_TEMPERATURE = Scalar(
    name="temperature", low=0.05, high=0.99, grid=(Fraction(1, 2), Fraction(4, 5), Fraction(1, 4)),
    range=Range(low=0, open_low=True, high=1, open_high=True),
)
LEARNING_RATE = Scalar(
    name="learning_rate", low=2.0**-6, high=32.0, grid=(1, Fraction(1, 2), 4), range=POSITIVE
)

PER_LOG, UNIT = 1, 4
"""The remainder is at most (1 + log n)/4 ||d||^2: the margins and the proof share these integers."""
SUM_OF_SIGNS = "a finite sum of nonnegative terms is nonnegative, and positive if one term is"
EXP_INCREASES = "exp is increasing, so z_i <= z_j implies pi_i <= pi_j"
MEAN_VALUE = "a differentiable function with nonnegative derivative on an interval does not decrease"


@definition
def own_covariance(logits: Reals) -> Reals:
    """c_a = Cov_pi(z, delta_a)."""
    probabilities = ar.softmax(logits)
    return probabilities * ar.centered(probabilities, logits)


@definition
def excess(logits: Reals) -> Reals:
    """c_a - C.

    Centered by sums over pairs, so that its sign survives saturation.
    """
    return ar.centered(ar.softmax(logits), own_covariance(logits))


@definition
def rate(logits: Reals, correct: Mask, temperature: Reals | None = None) -> Reals:
    """F(T), the change of entropy per unit learning rate to first order; F(1) without a temperature."""
    return -ar.total(ar.softmax(logits, temperature) * excess(logits), correct)


@definition
def scaled_slope(logits: Reals, correct: Mask, temperature: Reals | None = None) -> Reals:
    """T^2 F'(T); F'(1) without a temperature."""
    tempered = ar.softmax(logits, temperature)
    return ar.total(tempered * ar.centered(tempered, logits) * excess(logits), correct)


@definition
def unit_step(logits: Reals, correct: Mask, temperature: Reals | None = None) -> Reals:
    """The expected logit step per unit learning rate (Eqs. 4, 5): 1_{A*} pi^T - P_T pi."""
    tempered = ar.softmax(logits, temperature)
    hits = np.where(correct, tempered, 0 * tempered)
    return hits - ar.total(tempered, correct)[..., None] * ar.softmax(logits)


@definition
def remainder_bound(step: Reals) -> Reals:
    """(1/4)(1 + log n) ||step||_2^2.

    With n the number of actions; proved in `expansion`.
    """
    return (1 + PER_LOG * ar.log_of(step.shape[-1], like=step)) * ar.total(step * step) / UNIT


def slope_at_one(i: Any) -> Term:
    """F has the derivative F'(1) at T = 1."""
    return has_derivative(lambda t: rate(i.logits, i.correct, t), 1, scaled_slope(i.logits, i.correct))


ENTROPY_FALLS = Condition(
    latex="$F(1) < 0$ (entropy falls at $T = 1$)", value=lambda i: -rate(i.logits, i.correct)
)


PAIRS = (
    "Cov(x, y) = (1/2) sum_ij p_i p_j (x_i - x_j)(y_i - y_j), for any x and y; so for C = Cov_pi(z, pi)"
)


def covariance_as_pairs(statement: str = PAIRS) -> Step:
    """The identity behind Chebyshev's sum inequality, for any p, x, y and n, in words of the caller."""

    def residual() -> symbolic.Expression:
        import sympy

        m = symbolic.Moments("x y")
        x1, x2, y1, y2 = sympy.symbols("x1 x2 y1 y2")
        double = m.expect_pairs((x1 - x2) * (y1 - y2), {"x": x1, "y": y1}, {"x": x2, "y": y2})
        return m.covariance(m["x"], m["y"]) - double / 2

    return symbolic.identity("covariance as pairs", statement, residual)


def rate_of_step() -> Step:
    """-Cov_pi(z, d) = F(T) for the expected step d = 1_{A*} pi^T - P_T pi."""

    def residual() -> symbolic.Expression:
        import sympy

        # Under pi, with values z, P = pi_a, Q = pi^T_a, A = 1_{A*}; C = Cov(z, P).
        m = symbolic.Moments("z P Q", indicators="A")
        z, P, Q, A, mass = m["z"], m["P"], m["Q"], m["A"], sympy.Symbol("P_T")
        along = -m.covariance(z, A * Q - mass * P)
        return along + m.expect(A * Q * (z - m.expect(z))) - mass * m.covariance(z, P)

    return symbolic.identity(
        "rate of a step", "-Cov(z, 1_{A*} pi^T - P_T pi) = F(T)", residual,
        axioms=("sum_{A*} pi^T_a f_a pi_a = E_pi[1_{A*} pi^T f]",),
    )


def covariance_is_nonnegative() -> tuple[Step, ...]:
    """Chebyshev's sum inequality for z and pi: C >= 0, for any n."""
    return (
        covariance_as_pairs(),
        smt.lemma(
            "pair sign",
            "each term (z_i - z_j)(pi_i - pi_j) pi_i pi_j is nonnegative",
            "zi zj pi pj",
            lambda v: [v.pi > 0, v.pj > 0,
                       smt.implies(v.zi <= v.zj, v.pi <= v.pj),
                       smt.implies(v.zj <= v.zi, v.pj <= v.pi)],
            lambda v: (v.zi - v.zj) * (v.pi - v.pj) * v.pi * v.pj >= 0,
            axioms=(EXP_INCREASES,),
        ),
        smt.lemma(
            "C is nonnegative",
            "C >= 0 (Chebyshev's sum inequality)",
            "C S",
            lambda v: [2 * v.C == v.S, v.S >= 0],
            lambda v: v.C >= 0,
            uses=("covariance as pairs", "pair sign"),
            axioms=(SUM_OF_SIGNS,),
        ),
    )


def threshold_lemmas(strict: bool = True) -> tuple[Step, ...]:
    """With z+ = max(zb, max{z_a : z_a >= zb, c_a < C}): (z_a - z+)(c_a - C) >= 0 for every action.

    Ties, an empty maximum and A* = all actions are covered: z+ is defined from all actions, not from
    the correct ones. With ``strict``, also where the product is positive.
    """
    lemmas = (
        *covariance_is_nonnegative(),
        smt.lemma(
            "threshold",
            "(z_a - z+)(c_a - C) >= 0 for every action a",
            "z p zw pw m zp C",
            lambda v: [
                v.C >= 0, v.p > 0, v.pw > 0, v.zp >= v.m,
                # z+ is at least every z_a that is above the mean with c_a < C ...
                smt.implies(smt.all_of(v.z >= v.m, v.p * (v.z - v.m) < v.C), v.z <= v.zp),
                # ... and it is the mean or such a value itself, that of an action w.
                smt.any_of(
                    v.zp == v.m,
                    smt.all_of(v.zp == v.zw, v.zw >= v.m, v.pw * (v.zw - v.m) < v.C),
                ),
                smt.implies(v.z < v.zw, v.p <= v.pw),
            ],
            lambda v: (v.z - v.zp) * (v.p * (v.z - v.m) - v.C) >= 0,
            uses=("C is nonnegative",),
            axioms=(EXP_INCREASES,),
        ),
        smt.lemma(
            "strict term",
            "if z+ = zb, an action with c_a > C has (z_a - z+)(c_a - C) > 0; "
            "where sum_{A*} pi_a (c_a - C) > 0 there is one in A*",
            "z p m zp C",
            lambda v: [v.C >= 0, v.p > 0, v.zp == v.m, v.p * (v.z - v.m) > v.C],
            lambda v: (v.z - v.zp) * (v.p * (v.z - v.m) - v.C) > 0,
            uses=("C is nonnegative",),
            axioms=(SUM_OF_SIGNS,),
        ),
    )
    return lemmas if strict else lemmas[:-1]
