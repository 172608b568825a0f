r"""AEPO, Theorem 4.3 (Lemma B.5): how tempered REINFORCE moves entropy.

It is for every z in :math:`R^n`, correct set :math:`A^*`, temperature :math:`T > 0` and learning rate
:math:`\eta > 0`. One expected step :math:`d = \eta (1_{A^*} \pi^T - \pi^T(A^*) \pi)` has the
first-order entropy change :math:`\eta F(T)`,

.. math::

    F(T) = -\sum_{A^*} \pi^T_a \operatorname{Cov}_\pi(z, \delta_a - \pi) = -\sum_{A^*} \pi^T_a (c_a -
    C).

Here :math:`c_a = \operatorname{Cov}_\pi(z, \delta_a) = \pi_a (z_a - \bar z)`,
:math:`\bar z = \mathbb E_\pi z` and :math:`C = \operatorname{Cov}_\pi(z, \pi)`, the mean of c.

4.3a, the expansion. The printed "~" is a first order with a remainder, for any :math:`\eta`:

.. math::

    |H(z + d) - H(z) - \eta F(T)| \le \tfrac14(1 + \log n) \|d\|^2.

4.3b, the sign. :math:`F(1) < 0` implies :math:`F'(1) > 0`. This is true, exact and strict, but the
printed proof is incomplete. It uses :math:`C \ge 0` and the monotonicity of :math:`\pi` in z without a
word. Its number u is undefined if the set :math:`A_2` is empty. It shows only :math:`F'(1) \ge 0`. The
proof here sets :math:`z_+ = \max(\bar z, \max\{z_a : z_a \ge \bar z, c_a < C\})` over all actions. In

.. math::

    F'(1) = \sum_{A^*} \pi_a (z_a - z_+)(c_a - C) + (z_+ - \bar z) |F(1)|

no term is negative, and one is positive.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.equation_6 import equation_6
from entropy_theory.claims.aepo.tempered_reinforce import (
    ENTROPY_FALLS,
    EXP_INCREASES,
    LEARNING_RATE,
    TEMPERATURE,
    rate,
    remainder_bound,
    scaled_slope,
    slope_at_one,
    unit_step,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.claim import Outcome
from entropy_theory.verification.formula.limits import has_derivative
from entropy_theory.verification.symbolic import equation

# ---------------------------------------------------------------- 4.3a: the expansion


def error_of_first_order(i: vf.Cases) -> ar.Reals:
    """``bound - |H(z + d) - H(z) - eta F(T)|``."""
    step = ar.per_action(i.learning_rate) * unit_step(i.logits, i.correct, i.temperature)
    first_order = i.learning_rate * rate(i.logits, i.correct, i.temperature)
    error = np.abs(ar.entropy_change(i.logits, step) - first_order)
    return remainder_bound(step) - error


def _equation_5_into_6(i: vf.Cases) -> ar.Reals:
    """-Cov(z, 1_{A*} pi^T - pi^T(A*) pi) - F(T)."""
    step = unit_step(i.logits, i.correct, i.temperature)
    along_step = -ar.covariance(ar.softmax(i.logits), i.logits, step)
    return along_step - rate(i.logits, i.correct, i.temperature)


INSTANCES = vf.bandit_instances(TEMPERATURE, LEARNING_RATE)

theorem_4_3a = vf.Claim(
    id="aepo.theorem-4.3a",
    source="AEPO, Theorem 4.3, first part (Lemma B.5)",
    reading=vf.Reading(
        "precise", r"\Delta H_k(T) \approx H(\theta_{k+1}) - H(\theta_k)",
        "Theorem 4.3, with a remainder for its '≈'"),
    title="First-order entropy change of tempered REINFORCE",
    scope="one tabular state, exact expectation, one step, with its remainder",
    statement=vf.Statement(
        latex=r"$H(\theta_{k+1}) - H(\theta_k) \approx \Delta H_k(T) = \eta F(T)$: the error is at most "
              r"$\frac14(1+\log n)\,\lVert\Delta z\rVert_2^2$.",
        margin=error_of_first_order,
        beyond=lambda i: (has_derivative(
            lambda eta: ar.entropy(
                i.logits + ar.per_action(eta) * unit_step(i.logits, i.correct, i.temperature)),
            0, rate(i.logits, i.correct, i.temperature)),),
    ),
    instances=INSTANCES,
    symbolic=True,
    first_order=True,
    printed_proof=(
        *equation_6.printed_proof,
        vf.PrintedStep(as_printed=equation("printed: Eq. 5 into Eq. 6", "gives Delta H_k(T)", INSTANCES,
                                           _equation_5_into_6)),
    ),
)

# ---------------------------------------------------------------- 4.3b: the sign


Signs = Mapping[str, str]
"""Names of numbers and what SymPy is told of each: "positive", "nonnegative", "zero", "real"."""


def _gap(
    name: str, statement: str, value: Callable[..., Any], signs: Signs, fails_at: Mapping[str, int],
    completed: Sequence[Signs], unsaid: str, *, strict: bool = True,
) -> vf.PrintedStep:
    """An inference of the printed proof, and the same with the premise that it leaves unsaid.

    Args:
        name: of the step.
        statement: what is inferred.
        value: a number that is above zero (at least zero, if not strict) where the inference is right.
        signs: of its arguments, as far as the printed premises say them.
        fails_at: arguments of these signs at which the inference is wrong.
        completed: the signs that the premise left unsaid adds, case by case.
        unsaid: this premise.
        strict: see ``value``.
    """

    def is_right(found: Any) -> bool:
        return bool(found.is_positive if strict else found.is_nonnegative)

    def as_printed() -> tuple[Outcome, str]:
        import sympy

        point = {name: sympy.Integer(number) for name, number in fails_at.items()}
        if not all(getattr(point[name], f"is_{sign}") for name, sign in signs.items()):
            return "error", f"{fails_at} does not meet the printed premises"
        found = value(**point)
        return ("pass" if is_right(found) else "fail"), f"{found} at {fails_at}"

    def with_premise() -> tuple[Outcome, str]:
        import sympy

        for case in completed:
            found = sympy.expand(value(**{
                name: sympy.Symbol(name, **{sign: True}) for name, sign in {**signs, **case}.items()}))
            if not is_right(found):
                return "undecided", f"the sign of {found}, {case}"
        return "pass", "the sign of every term"

    return vf.PrintedStep(
        as_printed=vf.Step(name=f"printed: {name}", statement=statement, method="symbolic",
                           check=as_printed),
        completed=vf.Step(name=f"completed: {name}", statement=f"{statement}, given {unsaid}",
                          method="symbolic", check=with_premise),
    )


_printed = (
    # C - c_a, with z_a = zb - below.
    _gap("A1", "z_a < zb gives Cov(z, delta_a - pi) < 0", lambda p, below, C: p * below + C,
         {"p": "positive", "below": "positive", "C": "real"}, {"p": 1, "below": 1, "C": -2},
         [{"C": "nonnegative"}], "C >= 0 (Chebyshev)"),
    # rise = u - zb.
    _gap("u of an empty A2", "u - zb >= 0", lambda rise: rise, {"rise": "real"}, {"rise": -1},
         [{"rise": "zero"}], "the convention u = zb where A2 is empty", strict=False),
    # If z_a = zb + z were below u = z_a + gap, then c_u - c_a > 0, but c_a >= C > c_u; pi_u = p + more.
    _gap("A3", "c_a >= C > c_u, both above zb, give z_a >= u",
         lambda p, more, z, gap: (p + more) * (z + gap) - p * z,
         {"p": "positive", "more": "real", "z": "nonnegative", "gap": "positive"},
         {"p": 3, "more": -2, "z": 1, "gap": 1}, [{"more": "nonnegative"}], EXP_INCREASES),
    # F'(1) = S + rise G, with rise = u - zb and G = |F(1)|.
    _gap("last line", "F'(1) >= (u - zb) |F(1)| gives F'(1) > 0", lambda S, G, rise: S + rise * G,
         {"S": "nonnegative", "G": "positive", "rise": "nonnegative"}, {"S": 0, "G": 1, "rise": 0},
         [{"rise": "zero", "S": "positive"}, {"rise": "positive"}], "that S > 0 where u = zb"),
)

theorem_4_3b = vf.Claim(
    id="aepo.theorem-4.3b",
    source="AEPO, Theorem 4.3, second part (Lemma B.5)",
    reading=vf.Reading(
        "literal", r"\Delta H'_k(T)|_{T=1} > 0 \quad \text{if} \quad \Delta H_k(T)|_{T=1} < 0",
        "Theorem 4.3"),
    title="Where plain REINFORCE lowers entropy, a slightly higher temperature lowers it less",
    scope="one tabular state, exact expectation, first order; derivative in T at T = 1",
    statement=vf.Statement(
        latex=r"$\Delta H_k'(T)|_{T=1} > 0$ if $\Delta H_k(T)|_{T=1} < 0$.",
        margin=lambda i: scaled_slope(i.logits, i.correct),
        relation=">",
        beyond=lambda i: (slope_at_one(i),),
        conditions=(ENTROPY_FALLS,),
    ),
    instances=vf.bandit_instances(),
    symbolic=True,
    printed_proof=_printed,
    mutants=(
        vf.mutant("F'(1) >= |F(1)|", relation=">=",
                  margin=lambda i: scaled_slope(i.logits, i.correct) + rate(i.logits, i.correct)),
    ),
)
