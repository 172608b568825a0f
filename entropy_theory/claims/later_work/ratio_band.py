r"""Ratios within a band keep entropy within one (REPO, arXiv 2603.11682, Theorem 2).

As quoted elsewhere, the theorem is that PPO's clip constrains the entropy to :math:`[(1 -
\varepsilon_{\text{low}}) H, (1 + \varepsilon_{\text{high}}) H]`. But a clip only takes gradients away,
and does not hold a step to its bounds. It is read for a policy with all ratios within the bounds. Then
it is true, and for any step, not only to first order.

Proof. Since :math:`\pi' - (1 - \varepsilon_{\text{low}}) \pi \ge 0` and :math:`\log \pi' \le 0`, H' is
at least :math:`1 - \varepsilon_{\text{low}}` times the cross entropy :math:`-\sum \pi \log \pi'`, which
is at least H. Since :math:`(1 + \varepsilon_{\text{high}}) \pi - \pi' \ge 0` and
:math:`\log \pi \le 0`, :math:`(1 + \varepsilon_{\text{high}}) H \ge -\sum \pi' \log \pi \ge H'`.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.later_work.clip_low_high import DRIFT, ratio
from entropy_theory.verification import arithmetic as ar

_WITHIN = vf.Range(low=0, open_low=True, high=1)
LOW = vf.Scalar(name="clip_low", low=0.05, high=1.0, grid=(Fraction(1, 2), 1), range=_WITHIN)
HIGH = vf.Scalar(name="clip_high", low=0.05, high=5.0, grid=(1, 3), range=vf.POSITIVE)


def _entropies(i: vf.Cases) -> tuple[ar.Reals, ar.Reals]:
    """H before and after the drift."""
    return ar.entropy(i.logits - i.drift), ar.entropy(i.logits)


def _band(i: vf.Cases) -> ar.Reals:
    before, after = _entropies(i)
    return np.stack([after - (1 - i.clip_low) * before, (1 + i.clip_high) * before - after], axis=-1)


def _half_band(i: vf.Cases) -> ar.Reals:
    before, after = _entropies(i)
    low, high = 1 - i.clip_low / 2, 1 + i.clip_high / 2
    return np.stack([after - low * before, high * before - after], axis=-1)


ratio_band = vf.Claim(
    id="later-work.ratio-band",
    source="REPO (arXiv 2603.11682), Theorem 2",
    reading=vf.Reading(
        "precise",
        "PPO's clipping constrains entropy change within the range [(1-eps_low) H, (1+eps_high) H]",
        "as quoted elsewhere, of policies whose ratios are within the clip; the text is not at hand"),
    title="Ratios within PPO's bounds keep entropy within the same relative bounds",
    scope="one state, two softmax policies, a step of any size; judged: the theorem as quoted elsewhere",
    proof_text="not in sources",
    statement=vf.Statement(
        latex=r"If $1-\epsilon_{low}\le\pi'_a/\pi_a\le1+\epsilon_{high}$ for every action, then "
              r"$(1-\epsilon_{low})H\le H'\le(1+\epsilon_{high})H$, $0<\epsilon_{low}\le1$, "
              r"$\epsilon_{high}>0$.",
        margin=_band,
        conditions=(
            vf.Condition(latex=r"no ratio is below $1-\epsilon_{low}$", relation=">=", value=lambda i: (
                ar.smallest(ratio(i.logits, i.drift)) - (1 - i.clip_low))),
            vf.Condition(latex=r"no ratio is above $1+\epsilon_{high}$", relation=">=", value=lambda i: (
                1 + i.clip_high - ar.largest(ratio(i.logits, i.drift)))),
        ),
    ),
    instances=vf.bandit_instances(LOW, HIGH, actions=(2, 6), correct=False, vectors=(DRIFT,)),
    mutants=(
        vf.mutant("half of the bounds", margin=_half_band),
    ),
)
