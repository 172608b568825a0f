r"""Extension of AEPO, Theorem 4.3: importance weights truncated at 2 (TIS), with a reward.

Setting and reason are those of ``uncorrected_signal``: min(1, 2 mu/pi) grows with mu/pi.
"""

from fractions import Fraction

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.reweighted_coin import fall
from entropy_theory.claims.extensions.uncorrected_signal import (
    INSTANCES,
    ONE_RIGHT,
    ONE_WAY,
    REWARDS,
    SAME,
    SAMPLES,
    SCOPE,
    SOURCE,
    advantage_of,
    agreement,
    one_way,
    tempered_ratio,
)
from entropy_theory.verification import arithmetic as ar

AT_MODERATE = r"Samples at a temperature $\frac35 \le T \le \frac53$" + REWARDS
MODERATE = vf.Condition(
    latex=r"$\frac35 \le T \le \frac53$", relation=">=",
    value=lambda i: (5 * i.temperature - 3) * (5 - 3 * i.temperature))


@vf.definition
def truncated_weight(logits: ar.Reals, temperature: ar.Reals) -> ar.Reals:
    """min(1, 2 mu/pi)."""
    ratio = tempered_ratio(logits, temperature)
    return ar.minimum(0 * ratio + ar.constant(1, like=ratio), 2 * ratio)


def _truncated(i: vf.Cases) -> ar.Reals:
    return truncated_weight(i.logits, i.temperature)


truncated_signal = vf.Claim(
    id="extension.truncated-signal",
    source=SOURCE,
    title="Importance weights truncated at 2 (TIS) do not move entropy against the exact step, for "
          "samples at a temperature from 3/5 to 5/3",
    scope=SCOPE,
    statement=vf.Statement(
        latex=AT_MODERATE + r"the step with importance weights $\min(\pi/\mu, 2)$, so that $w = \min(1, "
                            r"2\mu/\pi)$, " + SAME,
        margin=lambda i: agreement(i, _truncated(i)),
        conditions=(MODERATE,),
    ),
    instances=INSTANCES,
    repair=vf.Statement(latex=SAMPLES + r"with $w = \min(1, 2\mu/\pi)$ " + ONE_WAY,
                        margin=lambda i: one_way(i, _truncated(i)), conditions=(ONE_RIGHT,)),
    repair_note="with one right action it errs in one direction: a sharper sampler towards more entropy",
    witnesses=({"weights": [1, 2, 2, 7, 8], "correct": [False, True, True, False, True],
                "temperature": Fraction(2, 3)},),
    mutants=(
        vf.mutant("also with more right actions", conditions=()),
        vf.mutant("truncation leaves the exact step", relation="==",
                  margin=lambda i: fall(i.logits, _truncated(i) * advantage_of(i)) - fall(
                      i.logits, advantage_of(i))),
    ),
)
