r"""Extension of AEPO, Theorem 4.3: DPPO's mask as the correction of a mismatched sampler.

A coin of mean 1 as the reward, no baseline, tokens drawn from :math:`\mu`. DPPO weighs them by
:math:`\pi/\mu` and leaves those out that it would push up although :math:`\pi` is already above
:math:`\mu` by more than :math:`\delta`. What is left of the first order (`extension.reweighted-coin`)
is the masked tokens' own: with :math:`c_a = \pi_a (\log \pi_a + H)` and C = E c, entropy moves at the
rate

.. math::

    \sum_{\pi_a - \mu_a > \delta} \pi_a (c_a - C).

A sharper sampler may be far below the policy at a token that is nearly as likely as the first. Its mask
then leaves the first token alone, and the rest with it, and raises entropy. Tokens of at most
:math:`e^{-H}` have :math:`c \le 0 \le C`: where these alone are masked entropy does not rise, whatever
the sampler.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.reweighted_coin import EXPECTED, SHARPER, SHIFT, fall
from entropy_theory.verification import arithmetic as ar

DELTA = vf.Scalar(name="delta", low=0.01, high=0.5, grid=(Fraction(1, 5), Fraction(1, 20)),
                  range=vf.Range(low=0))


@vf.definition
def above_sampler(logits: ar.Reals, shift: ar.Reals) -> ar.Reals:
    """pi - mu, for samples of mu = softmax(z + shift)."""
    return ar.softmax(logits) - ar.softmax(logits + shift)


def _masked(i: vf.Cases) -> ar.Reals:
    """The fall of entropy with tokens left out that are above the sampler by more than ``delta``."""
    above = above_sampler(i.logits, i.shift)
    one = 0 * above + ar.constant(1, like=above)
    return fall(i.logits, np.where(ar.less(ar.per_action(i.delta), above), 0 * one, one))


def _room(i: vf.Cases) -> ar.Reals:
    """The least of delta - (pi_a - mu_a) over tokens of more than e^-H, 0 at the others."""
    room = ar.per_action(i.delta) - above_sampler(i.logits, i.shift)
    ahead = ar.centered(ar.softmax(i.logits), i.logits)
    return ar.smallest(np.where(ar.less(0 * ahead, ahead), room, 0 * room))


SPARED = vf.Condition(latex=r"$\pi_a - \mu_a \le \delta$ wherever $\pi_a > e^{-H}$", relation=">=",
                      value=_room)

dppo_mask = vf.Claim(
    id="extension.dppo-mask",
    source="Extension of AEPO, Theorem 4.3 (corrections of a mismatched sampler)",
    title="A sharper sampler with DPPO's mask does not raise entropy, where the reward is a coin of "
          "positive mean",
    scope="one tabular state, a reward of one mean for all actions and no baseline, total variation, "
          "exact expectation, first order",
    statement=vf.Statement(
        latex=EXPECTED + r"if $\mu_a/\pi_a \ge \mu_b/\pi_b$ wherever $\pi_a > \pi_b$, weights $\pi/\mu$ "
              r"where $\pi - \mu \le \delta$ and 0 elsewhere do not raise entropy to first order, "
              r"$\delta \ge 0$.",
        margin=_masked,
        conditions=(SHARPER,),
    ),
    instances=vf.bandit_instances(DELTA, correct=False, vectors=(SHIFT,)),
    repair=vf.Statement(
        latex=EXPECTED + r"if $\pi_a - \mu_a \le \delta$ wherever $\pi_a > e^{-H}$, weights $\pi/\mu$ "
              r"where $\pi - \mu \le \delta$ and 0 elsewhere do not raise entropy to first order, "
              r"$\delta \ge 0$.",
        margin=_masked,
        conditions=(SPARED,),
    ),
    repair_note=r"the mask must spare tokens of more than $e^{-H}$; then any sampler will do",
    mutants=(
        vf.mutant("the mask leaves no first order", relation="==", margin=_masked),
        vf.mutant("it does not, whatever it leaves out", conditions=()),
    ),
)
