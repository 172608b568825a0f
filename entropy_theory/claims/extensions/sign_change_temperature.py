r"""Extension of AEPO, Theorem 4.3: when a temperature can change the sign of the entropy rate.

F, c and C are those of `aepo.theorem-4.3a`. F changes sign at most once, at T0, from - to +
(`extension.global-tempering`). The rules below are exact for every z in :math:`R^n` and correct set
:math:`A^*`. Let :math:`w_a = c_a - C` on :math:`A^*`, with sum S and with W the sum of its negative
parts. Let R be the range of z on :math:`A^*`, and D the distance from the largest z of :math:`A^*` to
the nearest one with :math:`w_a < 0`.

- :math:`F(T) > 0` for some T exactly if the mean of c over :math:`A^*` is below C. It then holds for
  every :math:`T > R W/|S|`.
- :math:`F(T) < 0` for some T exactly if :math:`\max_{A^*} c > C`. It then holds wherever
  :math:`W e^{-D/T} < \max_{A^*} w`.
- So T0 is in (0, inf) exactly if :math:`\operatorname{mean}_{A^*} c < C < \max_{A^*} c`.
- For :math:`|A^*| = 1` mean and maximum are equal. The sign of F is that of :math:`C - c` at every T,
  and the temperature only scales the step.
- If all actions are correct, :math:`T_0 = 1` for every policy that is not uniform.

So only with several correct answers can a temperature change the sign.
"""

from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.sign_change import (
    cold_enough,
    hot_enough,
    largest_excess,
    sum_of_excess,
)
from entropy_theory.claims.aepo.tempered_reinforce import TEMPERATURE, rate
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import for_every, implies


def _rate(i: vf.Cases) -> ar.Reals:
    return rate(i.logits, i.correct, i.temperature)


@vf.definition
def if_positive(premise: ar.Reals, conclusion: ar.Reals) -> ar.Reals:
    """At least zero exactly where the conclusion is, or the premise is not positive."""
    return ar.maximum(-premise, conclusion)


def _face(i: vf.Cases) -> ar.Reals:
    """``(T - 1) F(T)`` where every action is correct, and ``(T - 1)^2`` elsewhere."""
    distance = i.temperature - 1
    return np.where(np.all(i.correct, axis=-1), distance * _rate(i), distance * distance)


def _conclusions(i: vf.Cases) -> ar.Reals:
    f, s = _rate(i), sum_of_excess(i.logits, i.correct)
    return np.stack([
        if_positive(f, -s),
        if_positive(hot_enough(i.logits, i.correct, i.temperature), f),
        if_positive(-f, largest_excess(i.logits, i.correct)),
        if_positive(cold_enough(i.logits, i.correct, i.temperature), -f),
        _face(i),
    ], axis=-1)


def _signs(i: Any) -> tuple[vf.Term, ...]:
    """Strictly, and with what happens at some temperature."""
    f, s, most = _rate(i), sum_of_excess(i.logits, i.correct), largest_excess(i.logits, i.correct)
    rises = ~for_every("T", (), lambda t: rate(i.logits, i.correct, t) <= 0, given=lambda t: t > 0)
    falls = ~for_every("T", (), lambda t: rate(i.logits, i.correct, t) >= 0, given=lambda t: t > 0)
    return (
        implies(rises, s < 0), implies(s < 0, rises),
        implies(hot_enough(i.logits, i.correct, i.temperature) > 0, f > 0),
        implies(falls, most > 0), implies(most > 0, falls),
        implies(cold_enough(i.logits, i.correct, i.temperature) > 0, f < 0),
    )


sign_change_temperature = vf.Claim(
    id="extension.sign-change-temperature",
    source="Extension of AEPO, Theorem 4.3",
    title="A temperature can change the sign of the entropy rate iff mean c < C < max c over A*",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=vf.Statement(
        latex=r"$F(T) > 0$ for some $T$ iff $\mathrm{mean}_{\mathcal A^*} c < C$, and then for "
              r"$T > RW/|S|$; $F(T) < 0$ for some $T$ iff $\max_{\mathcal A^*} c > C$, and then where "
              r"$W e^{-D/T} < \max_{\mathcal A^*} c - C$. If every action is correct, and "
              r"not all are equally likely, the sign changes at $T_0 = 1$.",
        margin=_conclusions,
        beyond=_signs,
    ),
    instances=vf.bandit_instances(TEMPERATURE),
    mutants=(
        vf.mutant("F(T) < 0 wherever max c > C",
                  margin=lambda i: if_positive(largest_excess(i.logits, i.correct), -_rate(i))),
    ),
)
