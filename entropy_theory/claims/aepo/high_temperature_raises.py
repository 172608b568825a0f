r"""AEPO, section 4.1: "entropy increases under high-temperature sampling".

It is read as it stands, :math:`F(T) \ge 0` for every :math:`T > 1` (in the weak form, as F vanishes at
a uniform policy). This is false. With one correct answer that is the likeliest, :math:`F(T) < 0` at
every temperature. Then F is :math:`-\pi^T(a^*)(c_{a^*} - C)`, and c is largest at the likeliest action.
Corollary 4.4 is about an increase relative to :math:`T = 1`, which need not be an increase.

The repair is exact. F, c and C are those of `aepo.theorem-4.3a`. Let :math:`w = c - C` on :math:`A^*`,
with sum S and with W the sum of its negative parts, and let R be the range of the correct logits. Leave
out the policies with :math:`c = C` on all of :math:`A^*`, where F is zero. Then :math:`F(T) > 0` for
:math:`T > 1` under any of three conditions: :math:`F(1) > 0`, all actions are correct, or :math:`S < 0`
and :math:`T > R W/|S|`.

:math:`S < 0`, that the mean of c over :math:`A^*` is below C, is also necessary
(`extension.sign-change-temperature`). :math:`F(1) = 0` would do as well, by a theorem beside the
kernel's proof. It is not a hypothesis here, since no arithmetic could decide it for an instance.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.sign_change import EXCESS_ON_CORRECT, HOT, sum_of_excess
from entropy_theory.claims.aepo.tempered_reinforce import HIGH_TEMPERATURE, rate
from entropy_theory.verification import arithmetic as ar


def _rate(i: vf.Cases) -> ar.Reals:
    return rate(i.logits, i.correct, i.temperature)


high_temperature_raises = vf.Claim(
    id="aepo.high-temperature-raises",
    source="AEPO, section 4.1 (Figure 2), first half, as an absolute statement",
    reading=vf.Reading(
        "precise", "entropy increases under high-temperature sampling", "Section 4.1, of Figure 2"),
    title="High-temperature sampling raises entropy",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=vf.Statement(
        latex=r"Entropy increases under high-temperature sampling: $F(T) \ge 0$ for $T > 1$.",
        margin=_rate,
    ),
    instances=vf.bandit_instances(HIGH_TEMPERATURE),
    witnesses=({"weights": [1, 2], "correct": [False, True], "temperature": 2},),
    repair=vf.Statement(
        latex=r"Unless $c = C$ on all of $\mathcal A^*$: $F(T) > 0$ for $T > 1$ if $F(1) > 0$, or every "
              r"action is correct, or $\sum_{\mathcal A^*}(c - C) = S < 0$ and $T > R W/|S|$, with $R$ "
              r"the range of the right logits and $W = \sum_{\mathcal A^*}(C - c)_+$.",
        margin=_rate,
        relation=">",
        conditions=(EXCESS_ON_CORRECT, HOT),
    ),
    repair_is="hypothesis",
    repair_note="hypothesis: entropy rises at $T = 1$, or all actions are correct, or $T$ is "
                "above $R W/|S|$, which exists only if the mean of $c$ over $A^*$ is below $C$",
    mutants=(
        vf.mutant("a mean of c below C is enough, for every T > 1",
                  conditions=(
                      vf.Condition(latex="S < 0", value=lambda i: -sum_of_excess(i.logits, i.correct)),
                  )),
    ),
)
