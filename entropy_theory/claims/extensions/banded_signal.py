r"""Extension of AEPO, Theorem 4.3: importance weights masked to a band (IcePop), with a reward.

The setting is that of ``uncorrected_signal``. The repair is the bound by the masked probability of
``weighted_signal``.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.reweighted_coin import fall
from entropy_theory.claims.extensions.truncated_signal import AT_MODERATE, MODERATE
from entropy_theory.claims.extensions.uncorrected_signal import (
    INSTANCES,
    SAME,
    SAMPLES,
    SCOPE,
    SOURCE,
    advantage_of,
    agreement,
    tempered_ratio,
)
from entropy_theory.claims.extensions.weighted_signal import surprise_spread
from entropy_theory.verification import arithmetic as ar

CLEAR = (r"if the first order $h_\pi$ of the exact step has $|h_\pi| > \pi(\text{masked})\, \mathbb "
         r"E_\pi|\log\pi + H|$, the step with this mask moves entropy in its direction.")


@vf.definition
def banded_weight(logits: ar.Reals, temperature: ar.Reals) -> ar.Reals:
    """1 where pi/mu is from 1/2 to 5, else 0."""
    ratio = tempered_ratio(logits, temperature)
    one = 0 * ratio + ar.constant(1, like=ratio)
    return np.where(ar.less(5 * ratio, one) | ar.less(2 * one, ratio), 0 * one, one)


def _banded(i: vf.Cases) -> ar.Reals:
    return banded_weight(i.logits, i.temperature)


def clear_of_masked(weights: vf.Margin, parts: int = 1) -> vf.Condition:
    """The exact step's first order is above the masked probability, or a part of it, times D."""
    def room(i: vf.Cases) -> ar.Reals:
        masked = ar.mean(ar.softmax(i.logits), 1 - weights(i))
        return np.abs(fall(i.logits, advantage_of(i))) - masked * surprise_spread(i.logits) / parts

    return vf.Condition(latex=r"$|h_\pi| > \pi(\text{masked})\, \mathbb E_\pi|\log\pi + H|$",
                        relation=">", value=room)


banded_signal = vf.Claim(
    id="extension.banded-signal",
    source=SOURCE,
    title="Importance weights masked to the band from 1/2 to 5 (IcePop) do not move entropy against the "
          "exact step, for samples at a temperature from 3/5 to 5/3",
    scope=SCOPE,
    statement=vf.Statement(
        latex=AT_MODERATE + r"the step with importance weights $\pi/\mu$ where $\frac12 \le \pi/\mu "
                            r"\le 5$ and 0 elsewhere " + SAME,
        margin=lambda i: agreement(i, _banded(i)),
        conditions=(MODERATE,),
    ),
    instances=INSTANCES,
    repair=vf.Statement(latex=SAMPLES + CLEAR, margin=lambda i: agreement(i, _banded(i)), relation=">",
                        conditions=(clear_of_masked(_banded),)),
    repair_note=r"the exact first order must be above the policy's masked probability times "
                r"$\mathbb E_\pi|\log\pi + H|$",
    witnesses=({"weights": [1, 3, 11, 12], "correct": [False, True, False, True],
                "temperature": Fraction(3, 2)},),
    mutants=(
        vf.mutant("an eighth of that is enough", conditions=(clear_of_masked(_banded, parts=8),)),
    ),
)
