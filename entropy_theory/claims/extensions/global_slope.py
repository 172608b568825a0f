r"""Extension of AEPO, Theorem 4.3: its sign statement at every temperature :math:`T \ge 1`, with a rate.

F, c, C and zb are those of `aepo.theorem-4.3a`. For every z in :math:`R^n`, correct set :math:`A^*` and
:math:`T \ge 1`, :math:`F(T) < 0` implies

.. math::

    T^2 F'(T) > (z_+ - \mathbb E_T z) |F(T)| \ge 0,\quad z_+ = \max(\bar z, \max\{z_a : c_a < C\}).

The means under :math:`\pi^T` and :math:`\pi` obey :math:`\mathbb E_T z \le \bar z \le z_+`. Theorem
4.3b is the case :math:`T = 1`. By :math:`T^2 d/dT = -d/db` with :math:`b = 1/T`, it is a differential
inequality for :math:`|F|`. While F is negative, its size falls at least at the rate
:math:`z_+ - \mathbb E_T z` as b decreases. It is exact and strict. :math:`z_+ - \mathbb E_T z` is
positive unless the policy is uniform (there :math:`F = 0`) or, at :math:`T = 1` only, every :math:`c_a`
below C lies at or below the mean.

With :math:`S = \sum_{A^*} \pi^T_a (z_a - z_+)(c_a - C)` the slope is
:math:`S + (z_+ - \mathbb E_T z)|F(T)|`. No term of S is negative. Where :math:`F(T) < 0` one is
positive, since some correct a has :math:`c_a > C`, which puts :math:`z_a` above z+.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import excess, rate, scaled_slope
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative

FROM_ONE = vf.Scalar(name="temperature", low=1.0, high=1e3, grid=(1, 2, 3, 10), range=vf.Range(low=1))
FALLS_AT_T = vf.Condition(
    latex="$F(T) < 0$", value=lambda i: -rate(i.logits, i.correct, i.temperature)
)


@vf.definition
def threshold(logits: ar.Reals) -> ar.Reals:
    """z+ = max(zb, max{z_a : c_a < C}).

    Some c_a is at least C, and counts as zb.
    """
    above = excess(logits)
    mean = ar.mean(ar.softmax(logits), logits)[..., None]
    return ar.largest(np.where(ar.less(above, 0 * above), logits, mean))


def _slope(i: vf.Cases) -> ar.Reals:
    return scaled_slope(i.logits, i.correct, i.temperature)


@vf.definition
def surplus(logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals) -> ar.Reals:
    """S, what T^2 F'(T) is above (z+ - E_T z)|F(T)|: a sum in which nothing cancels."""
    distance = logits - threshold(logits)[..., None]
    return ar.total(ar.softmax(logits, temperature) * distance * excess(logits), correct)


def _in_full(i: Any) -> tuple[vf.Term, ...]:
    """The margin's S in the words of the statement, and the derivative that it is about."""
    mean = ar.mean(ar.softmax(i.logits, i.temperature), i.logits)
    fall = (threshold(i.logits) - mean) * -rate(i.logits, i.correct, i.temperature)
    return (
        has_derivative(lambda t: rate(i.logits, i.correct, t), i.temperature,
                       _slope(i) / i.temperature**2),
        ar.less(fall, _slope(i)),
        fall >= 0,
    )


global_slope = vf.Claim(
    id="extension.global-slope",
    source="Extension of AEPO, Theorem 4.3",
    title="Where tempered REINFORCE lowers entropy, a higher temperature lowers it less: at every T >= 1",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=vf.Statement(
        latex=r"For $T \ge 1$: $F(T) < 0$ implies $T^2 F'(T) > (z_+ - \mathbb E_{\pi^T} z)\,|F(T)| \ge "
              r"0$.",
        margin=lambda i: np.stack(
            [surplus(i.logits, i.correct, i.temperature), _slope(i)], axis=-1),
        relation=">",
        conditions=(FALLS_AT_T,),
        beyond=_in_full,
    ),
    instances=vf.bandit_instances(FROM_ONE),
    witnesses=(
        {"weights": [1, 1, 3], "correct": [True, False, True], "temperature": 1},
        {"weights": [1, 2, 3, 9], "correct": [True, False, False, True], "temperature": 2},
    ),
    mutants=(
        vf.mutant("T < 1 as well",
                  instances=vf.listed_instances(
                      [{"weights": [1, 2, 2, 3, 4], "correct": [False, False, False, True, False],
                        "temperature": Fraction(1, 2)}], "one with F(1/2) < 0 > F'(1/2)")),
    ),
)
