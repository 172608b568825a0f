r"""Extension of AEPO, Theorem 4.3: importance weights that are truncated (TIS) or masked (IcePop).

Rewards are coins without a baseline, and the sampler is sharper than the policy action by action. The
theorem is that of ``reweighted_coin``. A lower bound on :math:`\pi/\mu` takes out the likeliest tokens,
which are the ones that lower entropy.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.reweighted_coin import (
    EXPECTED,
    SHARPER,
    SHIFT,
    fall,
    over_policy,
)
from entropy_theory.verification import arithmetic as ar

LOW = vf.Scalar(name="low", low=0.05, high=1.0, grid=(Fraction(1, 2), Fraction(9, 10)),
                range=vf.Range(low=0, open_low=True, high=1))
HIGH = vf.Scalar(name="high", low=1.0, high=20.0, grid=(2, 1), range=vf.Range(low=1))


def _bounded_above(i: vf.Cases) -> ar.Reals:
    """Falls of entropy with weights truncated at ``high``, and with tokens above it left out."""
    ratio = over_policy(i.logits, i.shift)
    one = 0 * ratio + ar.constant(1, like=ratio)
    high = ar.per_action(i.high)
    kept = np.where(ar.less(high * ratio, one), 0 * one, one)
    return np.stack([fall(i.logits, ar.minimum(one, high * ratio)), fall(i.logits, kept)], axis=-1)


def _masked(i: vf.Cases) -> ar.Reals:
    """The fall of entropy with tokens left out whose ratio is not between ``low`` and ``high``."""
    ratio = over_policy(i.logits, i.shift)
    one = 0 * ratio + ar.constant(1, like=ratio)
    outside = ar.less(ar.per_action(i.high) * ratio, one) | ar.less(one, ar.per_action(i.low) * ratio)
    return fall(i.logits, np.where(outside, 0 * one, one))


masked_weights = vf.Claim(
    id="extension.masked-weights",
    source="Extension of AEPO, Theorem 4.3 (corrections of a mismatched sampler)",
    title="A sharper sampler with importance weights masked to a band does not raise entropy, where the "
          "reward is a coin of positive mean",
    scope="one tabular state, a reward of one mean for all actions and no baseline, exact expectation, "
          "first order",
    statement=vf.Statement(
        latex=EXPECTED + r"if $\mu_a/\pi_a \ge \mu_b/\pi_b$ wherever $\pi_a > \pi_b$, weights $\pi/\mu$ "
              r"where $low \le \pi/\mu \le high$ and 0 elsewhere do not raise entropy to first order, "
              r"$0 < low \le 1 \le high$.",
        margin=_masked,
        conditions=(SHARPER,),
    ),
    instances=vf.bandit_instances(LOW, HIGH, correct=False, vectors=(SHIFT,)),
    repair=vf.Statement(
        latex=EXPECTED + r"if $\mu_a/\pi_a \ge \mu_b/\pi_b$ wherever $\pi_a > \pi_b$, neither "
              r"weighting by $\min(\pi/\mu, high)$ nor by $\pi/\mu$ where $\pi/\mu \le high$ and 0 "
              r"elsewhere raises entropy to first order, $high \ge 1$.",
        margin=_bounded_above,
        conditions=(SHARPER,),
    ),
    repair_note="without the lower bound on the ratio: truncated, or masked from above alone",
    mutants=(
        vf.mutant("truncation leaves no first order", relation="==", margin=_bounded_above),
    ),
)
