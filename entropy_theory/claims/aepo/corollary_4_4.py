r"""AEPO, Corollary 4.4: high temperature raises entropy relative to :math:`T = 1`, low temperature
lowers it.

It is read for every z in :math:`R^n` and correct set :math:`A^*`. The high half is
:math:`F(T) \ge F(1)` for :math:`T > 1`, the low half :math:`F(T) \le F(1)` for :math:`T < 1`. The
inequalities are weak, since both sides vanish at a uniform policy. F, c, C and zb are those of
`aepo.theorem-4.3a`.

The high half is true under a hypothesis left unsaid, :math:`F(1) < 0`. Theorem 4.3, from which the
corollary is drawn, has it. The counterexamples to the printed half all have :math:`F(1) > 0`. Plain
REINFORCE raises entropy there, by +.0133 at (1, 1, 2, 3), :math:`A^* = \{3\}`. Under the hypothesis
more is true than Theorem 4.3 states (exact, global): :math:`F(1) < 0` implies :math:`F(T) > F(1)` for
every :math:`T > 1`. For :math:`T \ge 1`, :math:`F(T) < 0` implies
:math:`T^2 F'(T) \ge (z_+ - \mathbb E_T z) |F(T)|` and :math:`F'(T) > 0`, where :math:`\mathbb E_T` is
the mean under :math:`\pi^T` and :math:`z_+ = \max(\bar z, \max\{z_a : c_a < C\})`. In absolute terms
("raises entropy") the half stays false. With one correct answer that is the likeliest, no temperature
makes F positive.

The low half is judged with the same hypothesis, in favor of the paper, and is false all the same. At
(4, 7, 8) with :math:`A^* = \{2\}` the hypothesis :math:`F(1) < 0` holds, and yet :math:`T = 1/20`
lowers entropy less than :math:`T = 1`. Without it there are simpler counterexamples, such as (1, 4, 5),
:math:`A^* = \{2\}`, :math:`T = 4/5`. If the likeliest action is wrong, :math:`\pi^T(A^*)` vanishes as
:math:`T \to 0`, and the whole step with it.

What holds instead (exact, local): :math:`F(1) < 0` implies :math:`F'(1) > 0`, so temperatures just
below 1 lower entropy more than :math:`T = 1` does. It also implies :math:`F(T) < 0` for every
:math:`T < 1`. With one more hypothesis, :math:`\pi^T(A^*) \ge \pi(A^*)`, the half is true at every T
(`extension.low-temperature-decrease`).
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import (
    ENTROPY_FALLS,
    HIGH_TEMPERATURE,
    LOW_TEMPERATURE,
    rate,
    scaled_slope,
    slope_at_one,
)
from entropy_theory.verification import arithmetic as ar


def _rate_above_one(i: vf.Cases) -> ar.Reals:
    """F(T) - F(1)."""
    return rate(i.logits, i.correct, i.temperature) - rate(i.logits, i.correct)


# ---------------------------------------------------------------- high half


corollary_4_4_high = vf.Claim(
    id="aepo.corollary-4.4-high",
    source="AEPO, Corollary 4.4, first half",
    reading=vf.Reading(
        "precise", "High-temperature REINFORCE induces a relative increase in policy entropy",
        "Corollary 4.4"),
    title="High-temperature REINFORCE raises entropy relative to T = 1",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=vf.Statement(
        latex=r"High temperature induces a relative increase: $F(T) \ge F(1)$ for $T > 1$.",
        margin=_rate_above_one,
    ),
    instances=vf.bandit_instances(HIGH_TEMPERATURE),
    # The smallest for three actions; with four there is one of total weight 7. F(1) > 0 in both.
    witnesses=(
        {"weights": [1, 3, 4], "correct": [False, True, False], "temperature": 2},
    ),
    repair=vf.Statement(
        latex=r"If $F(1) < 0$, then $F(T) > F(1)$ for every $T > 1$.",
        margin=_rate_above_one,
        relation=">",
        conditions=(ENTROPY_FALLS,),
    ),
    repair_is="hypothesis",
    repair_note="hypothesis $F(1) < 0$, that of Theorem 4.3, left unsaid in the corollary; then for "
                "every $T > 1$ (the counterexample has $F(1) > 0$)",
    mutants=(
        vf.mutant("absolute: F(1) < 0 implies F(T) > 0",
                  margin=lambda i: rate(i.logits, i.correct, i.temperature)),
    ),
)

# ---------------------------------------------------------------- low half


_low = vf.Statement(
    latex=r"Low temperature induces a relative decrease: if $F(1) < 0$, then $F(T) \le F(1)$ for "
          r"$T < 1$.",
    margin=lambda i: -_rate_above_one(i),
    conditions=(ENTROPY_FALLS,),
)

corollary_4_4_low = vf.Claim(
    id="aepo.corollary-4.4-low",
    source="AEPO, Corollary 4.4, second half",
    reading=vf.Reading(
        "precise", "low-temperature REINFORCE induces a relative decrease in policy entropy",
        "Corollary 4.4"),
    title="Where plain REINFORCE lowers entropy, every low temperature lowers it more",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=_low,
    instances=vf.bandit_instances(LOW_TEMPERATURE),
    symbolic=True,
    # F(1) < 0, and yet T = 1/20 lowers entropy less than T = 1.
    witnesses=(
        {"weights": [4, 7, 8], "correct": [False, True, False], "temperature": Fraction(1, 20)},
    ),
    repair=vf.Statement(
        latex=r"If $F(1) < 0$, then $F'(1) > 0$, so that $F(T) < F(1)$ for $T < 1$ close to 1; and "
              r"$F(T) < 0$ for every $T < 1$.",
        # F'(1) and -F(T).
        margin=lambda i: np.stack([
            scaled_slope(i.logits, i.correct), -rate(i.logits, i.correct, i.temperature)
        ], axis=-1),
        relation=">",
        conditions=_low.conditions,
        beyond=lambda i: (slope_at_one(i),),
    ),
    repair_note="relative decrease only near $T = 1$, decrease for every $T < 1$",
    mutants=(
        vf.Mutant(name="F(T) < 0 without the hypothesis F(1) < 0",
                  statement=vf.variant(vf.without(_low, ENTROPY_FALLS.latex),
                                       margin=lambda i: -rate(i.logits, i.correct, i.temperature))),
    ),
)
