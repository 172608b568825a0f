r"""Clip-low and clip-high (arXiv 2509.26114): clip-low raises entropy, clip-high lowers it.

This is the setting of that paper, made exact for one tabular state. Rewards are random and symmetric,
so the advantage of any sampled token is +c or -c with equal chance. Without clipping the expected step
is zero. PPO's clip takes out the +c tokens with ratio :math:`r_a > 1 + \varepsilon_{\text{high}}` and
the -c tokens with :math:`r_a < 1 - \varepsilon_{\text{low}}`. The effective advantage that is left is

.. math::

    \tilde A_a = (c/2) (1[r_a < 1 - \varepsilon_{\text{low}}] - 1[r_a > 1 + \varepsilon_{\text{high}}]).

The first-order entropy change is :math:`-\eta \sum_a \pi_a \tilde A_a (c_a - C)`, with
:math:`c_a = \pi_a (\log \pi_a + H)` of mean C. It is judged for :math:`\varepsilon_{\text{low}} =
\varepsilon_{\text{high}} = \varepsilon`. The halves do not interact, since clip-low's effect depends on
:math:`\varepsilon_{\text{low}}` alone and clip-high's on :math:`\varepsilon_{\text{high}}` alone.

Each half holds exactly if the actions that left the band on its side have
:math:`\sum \pi_a (c_a - C) < 0`. Clip-low raises entropy if the actions that became rarer are rare
ones. Clip-high lowers it if those that became likelier are (still) rare ones. For an arbitrary drift
either half fails.

Repair: both halves hold if the actions that left the band are below :math:`e^{-H}`. The second half
fails after sharpening. Where the actions that became likelier are the likeliest ones, clip-high raises
entropy too.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.token_contributions import (
    first_order,
    only,
    relative_log_prob,
    score_step,
    some,
)
from entropy_theory.verification import arithmetic as ar

EPSILON = vf.Scalar(name="epsilon", low=0.05, high=0.9, grid=(Fraction(1, 5), Fraction(1, 2)),
                    range=vf.Range(low=0, open_low=True, high=1, open_high=True))
DRIFT = vf.Vector(name="drift", low=-1.5, high=1.5, grid=(0, 1, -1), range=vf.ANY)
@vf.definition
def ratio(logits: ar.Reals, drift: ar.Reals) -> ar.Reals:
    """pi / pi_old, where the logits have drifted since pi_old."""
    return ar.softmax(logits) / ar.softmax(logits - drift)


@vf.definition
def above(logits: ar.Reals, drift: ar.Reals, epsilon: ar.Reals) -> ar.Mask:
    """Actions whose ratio is above 1 + epsilon."""
    return ar.less(1 + ar.per_action(epsilon), ratio(logits, drift))


@vf.definition
def below(logits: ar.Reals, drift: ar.Reals, epsilon: ar.Reals) -> ar.Mask:
    """Actions whose ratio is below 1 - epsilon."""
    return ar.less(ratio(logits, drift), 1 - ar.per_action(epsilon))


def _above(i: vf.Cases) -> ar.Mask:
    return above(i.logits, i.drift, i.epsilon)


def _below(i: vf.Cases) -> ar.Mask:
    return below(i.logits, i.drift, i.epsilon)


def _outside(i: vf.Cases) -> ar.Mask:
    return _above(i) | _below(i)


def _expected_step(i: vf.Cases, clip_low: bool, clip_high: bool) -> ar.Reals:
    """Expected logit step of the clipped objective over A = +1 and A = -1, per learning rate.

    Tokens are sampled from pi_old, and the gradient of ``r_a A`` is ``A r_a (e_a - pi)``. So an
    unclipped token has the weighted score ``pi_old_a r_a A = pi_a A``.
    """
    probabilities = ar.softmax(i.logits)
    positive = only(~_above(i), probabilities) if clip_high else probabilities
    negative = only(~_below(i), probabilities) if clip_low else probabilities
    return score_step(i.logits, (positive - negative) / 2)


def _effect_of_clip_low(i: vf.Cases) -> ar.Reals:
    return first_order(i.logits, _expected_step(i, clip_low=True, clip_high=False))


def _effect_of_clip_high(i: vf.Cases) -> ar.Reals:
    return first_order(i.logits, _expected_step(i, clip_low=False, clip_high=True))


def _where_it_acts(i: vf.Cases) -> ar.Reals:
    """Least of the effect of clip-low and minus that of clip-high, each where an action has left."""
    one = 0 * i.epsilon + ar.constant(1, like=i.epsilon)
    low = np.where(np.any(_below(i), axis=-1), _effect_of_clip_low(i), one)
    high = np.where(np.any(_above(i), axis=-1), -_effect_of_clip_high(i), one)
    return ar.minimum(low, high)


SOME_OUTSIDE = some(_outside, r"some ratio is outside $[1 - \epsilon, 1 + \epsilon]$")
OUTSIDE_ARE_RARE = vf.Condition(
    latex=r"every action whose ratio is outside the band has $\pi_a < e^{-H}$",
    value=lambda i: ~np.any(
        _outside(i) & ~ar.less(relative_log_prob(i.logits), 0 * i.logits), axis=-1),
)

clip_low_high = vf.Claim(
    id="later-work.clip-low-high",
    source="Clip-low and clip-high under random rewards (arXiv 2509.26114)",
    reading=vf.Reading(
        "precise", "we show that clip-low increases entropy, while clip-high decreases it",
        "abstract; symmetric rewards, one softmax and the first order are those of Theorems 1 and 2, as "
        "public reviews tell, and their text is not at hand"),
    title="Under random rewards clip-low raises entropy and clip-high lowers it",
    scope="one tabular state, random symmetric rewards, exact expectation, first order; judged: the "
          "abstract's sentence in the setting it names",
    statement=vf.Statement(
        latex=r"Random symmetric rewards: PPO's lower clip does not lower entropy and its upper clip "
              r"does not raise it, to first order.",
        margin=_where_it_acts,
        conditions=(SOME_OUTSIDE,),
    ),
    instances=vf.bandit_instances(EPSILON, actions=(2, 5), correct=False, vectors=(DRIFT,)),
    repair=vf.Statement(
        latex=r"If every action whose ratio is outside $[1-\epsilon, 1+\epsilon]$ has $\pi_a < e^{-H}$, "
              r"the lower clip raises entropy (if any ratio is below the band) and the upper clip "
              r"lowers it (if any is above).",
        margin=_where_it_acts,
        relation=">",
        conditions=(SOME_OUTSIDE, OUTSIDE_ARE_RARE),
    ),
    repair_is="hypothesis",
    repair_note="hypothesis: the actions whose ratio has left the band are below $e^{-H}$",
    mutants=(
        vf.mutant("clip-low lowers entropy too",
                  margin=lambda i: np.where(
                      np.any(_below(i), axis=-1), -_effect_of_clip_low(i), 0 * i.epsilon + 1)),
    ),
)
