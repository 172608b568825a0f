r"""Extension of Entropy Mechanism, Lemma 1: the entropy that is stationary under noise.

One action has probability p, and m others share the rest. The second order of entropy turns from - to +
at one gap of the logits at most, under isotropic noise and under SGD's. At that gap entropy is
stationary. Among many actions it is far from peaked. For a fixed p entropy rises in the end under
isotropic noise, and under SGD's if :math:`p > 1/2`, while :math:`H/\log n` tends to :math:`1 - p`.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.noise import SOURCE
from entropy_theory.claims.extensions.score_noise import (
    GAP,
    isotropic_closed,
    likely,
    rare,
    score_closed,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import after, number_of, tends_to

OTHERS = vf.Scalar(name="others", low=1, high=1e4, grid=(1, 2, 9), range=vf.Range(low=1))
FACTOR = vf.Scalar(name="factor", low=1.01, high=8.0, grid=(2,), range=vf.Range(low=1, open_low=True))
PEAK = vf.Scalar(name="peak", low=0.01, high=0.99, grid=(Fraction(1, 2),),
                 range=vf.Range(low=0, open_low=True, high=1, open_high=True))
"""The probability of the likely action, where the number of others grows."""


def _turned(i: vf.Cases, same: bool = False) -> ar.Reals:
    """The second orders at a larger gap, where they are not below zero at the smaller one."""
    one, larger = 0 * i.gap + ar.constant(1, like=i.gap), i.gap * i.factor

    def at(effect: Any, gap: ar.Reals) -> ar.Reals:
        return effect(likely(gap, i.others), rare(gap, i.others), gap, i.others)

    rows = []
    for effect in (isotropic_closed, score_closed):
        now = at(isotropic_closed if same else effect, i.gap)
        rows.append(np.where(ar.less(now, 0 * one), one, at(effect, larger)))
    return np.stack(rows, axis=-1)


def _among_many(i: Any) -> tuple[vf.Term, ...]:
    """Second orders over log m for a fixed p, as the number m of other actions grows."""
    def per(effect: Any) -> Any:
        def at(k: vf.Term) -> Any:
            others = number_of(after(after(k)))
            q = e / others
            return effect(p, q, np.log(p / q), others) / np.log(others)
        return at

    p, e = i.peak, 1 - i.peak
    return (tends_to(per(isotropic_closed), e * (p * p)),
            tends_to(per(score_closed), e * e * (p * p) * (2 * p - 1) / 2))


noise_level = vf.Claim(
    id="extension.noise-level",
    source=SOURCE,
    title="With one likely action entropy has at most one stationary level under isotropic noise and "
          "under SGD's; among many actions the likely one has at most half there, in the limit",
    scope="one tabular state with one likely action and m equal others, m any number from 1 on, coins as "
          "rewards, second order",
    statement=vf.Statement(
        latex=r"With $p = e^D/(e^D + m)$ of one action and $q = 1/(e^D + m)$ of each of $m$ others, the "
              r"second orders under isotropic noise and SGD's, where they are at least 0 at a gap $D$, "
              r"are above 0 at every larger one. For a fixed $p$, as $m$ grows through the integers, "
              r"they tend to $(1-p)\,p^2$ and $\frac12(1-p)^2p^2(2p-1)$ per unit of $\log m$.",
        margin=_turned,
        relation=">",
        beyond=_among_many,
    ),
    instances=vf.bandit_instances(OTHERS, GAP, FACTOR, PEAK, actions=(2, 2), correct=False),
    mutants=(
        vf.mutant("SGD's noise raises entropy wherever isotropic noise does",
                  margin=lambda i: _turned(i, same=True)),
    ),
)
