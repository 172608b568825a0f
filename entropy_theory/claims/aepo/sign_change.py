r"""Bounds on the temperature T0 at which :math:`F(T)` changes sign, from the numbers
:math:`w_a = c_a - C` on :math:`A^*` alone.

F, c and C are those of Theorem 4.3. With :math:`b = 1/T` and any reference y, :math:`F(T) = -k g(b)`
with :math:`g(b) = \sum_{A^*} e^{b (z_a - y)} w_a` and :math:`k > 0`. Let S be the sum of w over
:math:`A^*`, and W the sum of :math:`|w_a|` over :math:`A^*` where :math:`w_a < 0`. Let R be the range
of z on :math:`A^*`, and D the distance from the largest z of :math:`A^*` down to the nearest one with
:math:`w_a < 0`. Then

.. math::

    F(T) > 0 \text{ where } T |S| > R W \text{ and } S < 0,\quad F(T) < 0 \text{ where } W e^{-D/T} <
    \max_{A^*} w.

These are the only two ways, since :math:`F(T) > 0` needs :math:`S < 0`, and :math:`F(T) < 0` needs
:math:`\max_{A^*} w > 0`. So

.. math::

    D / \log(W / \max_{A^*} w) \le T_0 \le R W / |S|.
"""

import numpy as np

from entropy_theory.claims.aepo.tempered_reinforce import excess, rate
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.claim import Condition
from entropy_theory.verification.formula.definitions import definition


@definition
def sum_of_excess(logits: Reals, correct: Mask) -> Reals:
    """S, below zero exactly where the mean of c over A* is below C."""
    return ar.total(excess(logits), correct)


@definition
def missing_excess(logits: Reals, correct: Mask) -> Reals:
    """W, the sum of C - c over the actions of A* with c below C."""
    above = excess(logits)
    return ar.total(ar.maximum(-above, 0 * above), correct)


@definition
def largest_excess(logits: Reals, correct: Mask) -> Reals:
    """max_{A*} c - C."""
    return ar.largest(excess(logits), correct)


@definition
def hot_enough(logits: Reals, correct: Mask, temperature: Reals) -> Reals:
    """T |S| - R W, where S < 0.

    F(T) > 0 where it is positive.
    """
    span = ar.largest(logits, correct) - ar.smallest(logits, correct)
    return -temperature * sum_of_excess(logits, correct) - span * missing_excess(logits, correct)


@definition
def distance(logits: Reals, correct: Mask) -> Reals:
    """D, from the largest correct logit down to the nearest one with c below C."""
    above, lowest = excess(logits), ar.smallest(logits, correct)[..., None]
    below = np.where(correct & ar.less(above, 0 * above), logits, lowest)
    return ar.largest(logits, correct) - ar.largest(below)


@definition
def cold_enough(logits: Reals, correct: Mask, temperature: Reals) -> Reals:
    """max_{A*} w - W e^{-D/T}.

    F(T) < 0 where it is positive.
    """
    return largest_excess(logits, correct) - missing_excess(logits, correct) * np.exp(
        -distance(logits, correct) / temperature)


@definition
def all_correct(correct: Mask) -> Reals:
    """1 where every action is correct, else -1."""
    return np.where(np.all(correct, axis=-1), 1, -1)


EXCESS_ON_CORRECT = Condition(
    latex="c differs from C somewhere on A*",
    value=lambda i: ar.largest(np.abs(excess(i.logits)), i.correct),
)
# F(1) = 0 would do as well, but neither floats nor balls can decide whether it is so.
HOT = Condition(
    latex="$F(1) > 0$, or every action is correct, or $T > R W/|S|$ with $S < 0$",
    value=lambda i: ar.maximum(
        ar.maximum(rate(i.logits, i.correct), hot_enough(i.logits, i.correct, i.temperature)),
        all_correct(i.correct)),
)
COLD = Condition(
    latex=r"$F(1) < 0$, or every action is correct, or $W e^{-D/T} < \max c - C$ over $A^*$",
    value=lambda i: ar.maximum(
        ar.maximum(-rate(i.logits, i.correct), cold_enough(i.logits, i.correct, i.temperature)),
        all_correct(i.correct)),
)
