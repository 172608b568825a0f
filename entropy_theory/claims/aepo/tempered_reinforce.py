r"""The tempered REINFORCE step, its entropy rate and common lemmas, shared by AEPO's statements.

At one state with logits z and correct set :math:`A^*`, :math:`\pi = \operatorname{softmax}(z)` and
:math:`\pi^T = \operatorname{softmax}(z/T)`. Further, :math:`\bar z = \mathbb E_\pi z`, :math:`c_a =
\operatorname{Cov}_\pi(z, \delta_a) = \pi_a (z_a - \bar z)` and :math:`C = \operatorname{Cov}_\pi(z,
\pi) = \mathbb E_\pi c`. The entropy rate per unit learning rate is F:

.. math::

    F(T) = -\sum_{A^*} \pi^T_a (c_a - C)

    T^2 F'(T) = \sum_{A^*} \pi^T_a (z_a - \mathbb E_{\pi^T} z)(c_a - C).
"""

from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.claim import Condition
from entropy_theory.verification.drawn_fields import Scalar
from entropy_theory.verification.formula.definitions import definition
from entropy_theory.verification.formula.limits import has_derivative
from entropy_theory.verification.formula.statement import POSITIVE, Range
from entropy_theory.verification.formula.terms import Term

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
EXP_INCREASES = "exp is increasing, so z_i <= z_j implies pi_i <= pi_j"
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

    With n the number of actions. Along the step the second derivative of entropy is
    -E[(1 + log pi + H) u^2], u = step - E step: at most (1/2)(1 + log n) ||step||_2^2 in size.
    """
    return (1 + PER_LOG * ar.log_of(step.shape[-1], like=step)) * ar.total(step * step) / UNIT


def slope_at_one(i: Any) -> Term:
    """F has the derivative F'(1) at T = 1."""
    return has_derivative(lambda t: rate(i.logits, i.correct, t), 1, scaled_slope(i.logits, i.correct))


ENTROPY_FALLS = Condition(
    latex="$F(1) < 0$ (entropy falls at $T = 1$)", value=lambda i: -rate(i.logits, i.correct)
)
