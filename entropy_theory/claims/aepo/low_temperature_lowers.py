r"""AEPO, section 4.1: "and decreases under low-temperature sampling".

It is read as it stands, :math:`F(T) \le 0` for every :math:`T < 1` (in the weak form). This is false.
With one correct answer that is the less likely of two, :math:`F(T) = \pi^T(a^*)(C - c_{a^*}) > 0` at
every temperature, low ones included. A policy that has not yet found the answer gains entropy from it
at any T.

The repair is exact. F, c and C are those of `aepo.theorem-4.3a`. Let :math:`w = c - C` on :math:`A^*`,
with W the sum of its negative parts. Let D be the distance from the largest correct logit to the
nearest correct one with :math:`w < 0`. Leave out the policies with :math:`c = C` on all of :math:`A^*`.
Then :math:`F(T) < 0` for :math:`T < 1` under any of three conditions: :math:`F(1) < 0`, all actions are
correct, or :math:`W e^{-D/T} < \max_{A^*} w`.

The last condition holds for all small T exactly if :math:`\max_{A^*} c > C`. So it does if the
likeliest action is correct and the policy is not uniform.
"""

from fractions import Fraction

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.sign_change import COLD, EXCESS_ON_CORRECT, largest_excess
from entropy_theory.claims.aepo.tempered_reinforce import LOW_TEMPERATURE, rate
from entropy_theory.verification import arithmetic as ar


def _fall(i: vf.Cases) -> ar.Reals:
    """-F(T)."""
    return -rate(i.logits, i.correct, i.temperature)


low_temperature_lowers = vf.Claim(
    id="aepo.low-temperature-lowers",
    source="AEPO, section 4.1 (Figure 2), second half, as an absolute statement",
    reading=vf.Reading(
        "precise", "and decreases under low-temperature sampling", "Section 4.1, of Figure 2"),
    title="Low-temperature sampling lowers entropy",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=vf.Statement(
        latex=r"Entropy decreases under low-temperature sampling: $F(T) \le 0$ for $T < 1$.",
        margin=_fall,
    ),
    instances=vf.bandit_instances(LOW_TEMPERATURE),
    witnesses=({"weights": [1, 2], "correct": [True, False], "temperature": Fraction(1, 2)},),
    repair=vf.Statement(
        latex=r"Unless $c = C$ on all of $\mathcal A^*$: $F(T) < 0$ for $T < 1$ if $F(1) < 0$, or every "
              r"action is correct, or $W e^{-D/T} < \max_{\mathcal A^*} c - C$, with $W = \sum_{\mathcal "
              r"A^*}(C - c)_+$ and $D$ from the largest right logit down to the next one with $c < C$.",
        margin=_fall,
        relation=">",
        conditions=(EXCESS_ON_CORRECT, COLD),
    ),
    repair_is="hypothesis",
    repair_note=r"hypothesis: entropy falls at $T = 1$, or all actions are correct, or $W e^{-D/T} "
                r"< \max c - C$ over $A^*$: $T$ is low enough",
    mutants=(
        vf.mutant("max c > C over A* is enough, for every T < 1",
                  conditions=(
                      vf.Condition(latex="max c > C", value=lambda i: largest_excess(i.logits,
                                                                                     i.correct)),
                  )),
    ),
)
