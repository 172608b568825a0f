r"""The policies with one right answer and :math:`n - 1` equally likely wrong ones: an exact curve, not a
law.

With R the probability of the right answer and h the entropy of two outcomes,

.. math::

    H = h(R) + (1 - R) \log(n - 1),\quad dH/dR = g = \log((1 - R)/(R (n - 1))).

The law :math:`R = -a e^H + b` would make :math:`e^H` an affine function of R. But its second
derivative, :math:`e^H (g^2 - 1/(R (1 - R)))`, vanishes on no interval. The claims about the law share
the mathematics of this file.
"""

import numpy as np

from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.formula.definitions import definition


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
