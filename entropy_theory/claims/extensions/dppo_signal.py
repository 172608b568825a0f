r"""Extension of AEPO, Theorem 4.3: DPPO's mask, with a reward.

The setting is that of ``uncorrected_signal``. The mask is at DPPO's default, .2 of total variation. The
repair is the bound by the masked probability of ``weighted_signal``.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.banded_signal import CLEAR, clear_of_masked
from entropy_theory.claims.extensions.uncorrected_signal import (
    INSTANCES,
    SAME,
    SAMPLES,
    SCOPE,
    SOURCE,
    agreement,
)
from entropy_theory.verification import arithmetic as ar


@vf.definition
def dppo_weight(logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals) -> ar.Reals:
    """0 where pi - mu is above 1/5 at a right action or below -1/5 at a wrong one, else 1."""
    ahead = 5 * (ar.softmax(logits) - ar.softmax(logits, temperature))
    one = 0 * ahead + ar.constant(1, like=ahead)
    return np.where(ar.less(one, np.where(correct, ahead, -ahead)), 0 * one, one)


def _by_distance(i: vf.Cases) -> ar.Reals:
    return dppo_weight(i.logits, i.correct, i.temperature)


dppo_signal = vf.Claim(
    id="extension.dppo-signal",
    source=SOURCE,
    title="DPPO's mask at .2 does not move entropy against the exact step, for samples at a temperature "
          "from 1/2 to 2",
    scope=SCOPE,
    statement=vf.Statement(
        latex=SAMPLES + r"the step with importance weights $\pi/\mu$, and 0 where $\pi - \mu > \frac15$ "
              r"at right actions or $\mu - \pi > \frac15$ at wrong ones, " + SAME,
        margin=lambda i: agreement(i, _by_distance(i)),
    ),
    instances=INSTANCES,
    repair=vf.Statement(latex=SAMPLES + CLEAR, margin=lambda i: agreement(i, _by_distance(i)),
                        relation=">", conditions=(clear_of_masked(_by_distance),)),
    repair_note=r"the exact first order must be above the policy's masked probability times "
                r"$\mathbb E_\pi|\log\pi + H|$",
    witnesses=({"weights": [1, 2, 3, 5, 8], "correct": [False, False, False, True, False],
                "temperature": Fraction(1, 2)},),
    mutants=(
        vf.mutant("a sixteenth of that is enough", conditions=(clear_of_masked(_by_distance, parts=16),)),
    ),
)
