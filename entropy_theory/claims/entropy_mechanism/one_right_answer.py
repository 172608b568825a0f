r"""The policies with one right answer and n - 1 equally likely wrong ones: an exact curve, not a law.

With R the probability of the right answer,

    H = h(R) + (1 - R) log(n - 1),   dH/dR = g = log((1 - R)/(R (n - 1))),

and e^H, of which the law R = -a e^H + b would make R an affine function, has the second derivative
e^H (g^2 - 1/(R (1 - R))), which vanishes on no interval. This file has the mathematics shared by the
claims about the law.
"""

from __future__ import annotations

import numpy as np

from entropy_theory.verification import Step, smt, symbolic
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.formula.terms import definition

ENTROPY_AXIOM = "the entropy of k actions lies between 0 and log k"


@definition
def performance(logits: Reals, correct: Mask) -> Reals:
    """Probability of a right answer."""
    return ar.total(ar.softmax(logits), correct)


@definition
def failure(logits: Reals, correct: Mask) -> Reals:
    """Probability of a wrong answer, summed and not taken from 1."""
    return ar.total(ar.softmax(logits), ~correct)


def perplexity(logits: Reals) -> Reals:
    """e^H."""
    return np.exp(ar.entropy(logits))


@definition
def gradient_step(logits: Reals, correct: Mask) -> Reals:
    """One exact expected policy-gradient step per unit learning rate: pi (1_{A*} - R)."""
    probabilities = ar.softmax(logits)
    right = ar.per_action(ar.total(probabilities, correct))
    wrong = ar.per_action(ar.total(probabilities, ~correct))
    return probabilities * np.where(correct, wrong, -right)


# ------------------------------------------------------------------ proof steps


def _curve() -> tuple[symbolic.Expression, symbolic.Expression, symbolic.Expression]:
    """(R, H(R), g(R)) in SymPy, with L = log(n - 1) free."""
    import sympy

    right, log_wrong = sympy.symbols("R L", positive=True)
    curve = (-right * sympy.log(right) - (1 - right) * sympy.log(1 - right)
             + (1 - right) * log_wrong)
    return right, curve, sympy.log(1 - right) - sympy.log(right) - log_wrong


def curve_slope() -> Step:
    """dH/dR on the exact curve."""

    def residual() -> symbolic.Expression:
        import sympy

        right, curve, g = _curve()
        return sympy.diff(curve, right) - g

    return symbolic.identity(
        "slope of the curve", "on H = h(R) + (1 - R) log(n - 1), dH/dR = g = "
        "log(1 - R) - log R - log(n - 1)", residual)


def never_affine() -> tuple[Step, ...]:
    """The steps that prove that e^H is an affine function of R on no interval of R."""

    def curvature() -> symbolic.Expression:
        import sympy

        right, curve, g = _curve()
        second = sympy.diff(sympy.exp(curve), right, 2) / sympy.exp(curve)
        return second - (g**2 - 1 / (right * (1 - right)))

    def derivatives() -> list[symbolic.Expression]:
        import sympy

        right, _, g = _curve()
        flat, edge = g**2 * right * (1 - right) - 1, g * (1 - 2 * right) - 2
        return [
            sympy.diff(flat, right) - g * edge,
            sympy.diff(edge, right) * right * (1 - right)
            + (1 - 2 * right) + 2 * g * right * (1 - right),
        ]

    return (
        curve_slope(),
        symbolic.identity(
            "curvature", "d^2 e^H/dR^2 = e^H (g^2 - 1/(R (1 - R))): it vanishes where "
            "D = g^2 R (1 - R) - 1 = 0", curvature, uses=("slope of the curve",)),
        symbolic.identity(
            "derivatives of D", "D' = g E with E = g (1 - 2 R) - 2, and "
            "R (1 - R) E' = -(1 - 2 R) - 2 g R (1 - R)", derivatives),
        smt.lemma(
            "D does not vanish on an interval",
            "at a point where D = 0 not both D' = 0 and E' = 0 (on an interval D = 0 gives D' = 0, "
            "so, g being nonzero, E = 0 there, so E' = 0); hence e^H is affine in R on no interval",
            "R g",
            lambda v: [v.R > 0, v.R < 1, v.g * v.g * v.R * (1 - v.R) == 1],
            lambda v: smt.negation(smt.all_of(
                v.g * (v.g * (1 - 2 * v.R) - 2) == 0,
                -(1 - 2 * v.R) - 2 * v.g * v.R * (1 - v.R) == 0)),
            uses=("curvature", "derivatives of D"),
            axioms=("a function that is zero on an interval has derivative zero there",),
        ),
    )
