r"""Extension of Entropy Mechanism, Lemma 1: the entropy that is stationary under Adam's noise.

One action is ahead of m others by the gap D. Adam without momentum and with :math:`\varepsilon` far
below every gradient has noise of one of two shapes, up to a factor (``noise_shapes``):

.. math::

    \beta_2 \text{ near } 1, \text{mean squares settled}\quad S_{ab}/\sqrt{S_{aa} S_{bb}},

    \beta_2 = 0, \text{the sign of one gradient}\quad \operatorname{diag}(\pi),
    \text{ up to a shift of all logits}.

With :math:`E = e^{-D}`, :math:`x = m E` and :math:`r = E \sqrt{m/(1 + (m - 1) E)}` the second orders of
entropy have the signs of

.. math::

    2 D (1 - r) - (1 + x)(2 + x - r),

    D (1 - E)(1 - (m - 2) E) - (1 + x)(1 + E + (m - 1) E^2).

Both fall as E grows, the second wherever it is not below zero. So each turns from - to + at one gap.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.entropy_ceiling import count
from entropy_theory.claims.extensions.noise import SOURCE, noise_effect
from entropy_theory.claims.extensions.noise_shapes import (
    rest,
    scaled,
    score_covariance,
    score_effect,
)
from entropy_theory.claims.extensions.score_noise import ONE_LIKELY, dominated
from entropy_theory.verification import arithmetic as ar

GAP = vf.Scalar(name="gap", low=0.05, high=8.0, grid=(Fraction(1, 2), 1, 2, 4), range=vf.POSITIVE)
FACTOR = vf.Scalar(name="factor", low=1.01, high=2.0, grid=(2,), range=vf.Range(low=1, open_low=True))


@vf.definition
def settled_effect(logits: ar.Reals) -> ar.Reals:
    """The second order under noise of covariance S_ab/sqrt(S_aa S_bb)."""
    p = ar.softmax(logits)
    return noise_effect(logits, scaled(score_covariance(logits), p * rest(p)))


@vf.definition
def sign_effect(logits: ar.Reals) -> ar.Reals:
    """The second order under noise of its own at each logit, of variance pi_a."""
    return noise_effect(logits, ar.identity(logits) * ar.softmax(logits)[..., None, :])


def _one_level(i: vf.Cases) -> ar.Reals:
    """The signs at gaps up to 1, from 2 + log m on, and beyond a gap at which entropy does not fall."""
    z = dominated(i.gap, i.correct)
    one = 0 * i.gap + ar.constant(1, like=i.gap)
    small, large = ~ar.less(one, i.gap), ~ar.less(i.gap, 2 + np.log(count(z, ~i.correct)))
    rows = []
    for effect in (settled_effect, sign_effect):
        now = effect(z)
        rows += [np.where(small, -now, one), np.where(large, now, one),
                 np.where(ar.less(now, 0 * one), one, effect(dominated(i.gap * i.factor, i.correct)))]
    return np.stack(rows, axis=-1)


def _at_sgds_level(i: vf.Cases) -> ar.Reals:
    """The second orders where that of SGD's noise is not below zero."""
    z = dominated(i.gap, i.correct)
    one = 0 * i.gap + ar.constant(1, like=i.gap)
    falls = ar.less(score_effect(z), 0 * one)
    return np.stack([np.where(falls, one, effect(z)) for effect in (settled_effect, sign_effect)],
                    axis=-1)


adam_level = vf.Claim(
    id="extension.adam-level",
    source=SOURCE,
    title="With one likely action entropy has exactly one stationary level under the noise of Adam with "
          "a small eps",
    scope="one tabular state with one likely action and n - 1 equal others, coins as rewards, second "
          "order; eps far below every gradient, no momentum, beta_2 = 0 or mean squares that have "
          "settled",
    statement=vf.Statement(
        latex=r"With one action ahead of $n - 1$ equal others by a gap $D > 0$, take the second orders "
              r"under noise of covariance $S_{ab}/\sqrt{S_{aa} S_{bb}}$ and $\mathrm{diag}(\pi)$. Each "
              r"is below 0 where $D \le 1$, and above 0 where $D \ge 2 + \log(n - 1)$. Once it is at "
              r"least 0, it is above 0 at every larger gap.",
        margin=_one_level,
        relation=">",
        conditions=(ONE_LIKELY,),
    ),
    instances=vf.bandit_instances(GAP, FACTOR),
    mutants=(
        vf.mutant("Adam's noise raises entropy wherever SGD's does", margin=_at_sgds_level),
    ),
)
