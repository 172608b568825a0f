r"""Extension: which samplers and corrections move entropy when the reward is a coin.

Tokens are drawn from :math:`\mu` and trained as the policy's, each with a weight. The reward is a coin
that does not depend on the action, of mean m without a baseline. The expected step is m times a
positive number times

.. math::

    \sum_a \pi_a w_a (e_a - \pi).

Uncorrected samples have :math:`w = \mu/\pi`, and exact importance weights have :math:`w = 1`. Weights
truncated at c (TIS) have :math:`w = \min(1, c \mu/\pi)`. Masked ones (IcePop) have w 1 or 0. The first
order of entropy is :math:`-m \operatorname{Cov}_\pi(w, S)` with :math:`S_a = \pi_a (\log \pi_a + H)`.
As :math:`\pi_a` grows, :math:`S - \mathbb E S` changes sign once, from - to +. Three rules follow for
:math:`m > 0`.

- Weights that do not fall as :math:`\pi_a` grows never raise entropy. Such are samples at a lower
  temperature, of the top k or top p, under a lower bound on :math:`\pi`. Weights that do not grow never
  lower it.
- A lower entropy of the sampler is not enough. A stale sampler may have lost entropy elsewhere.
- Truncation and an upper bound on :math:`\pi/\mu` leave w monotone where :math:`\mu/\pi` is, so a
  sharper sampler still sharpens, but less. A lower bound on :math:`\pi/\mu` takes out the likeliest
  tokens, and can turn the sign.

With the mean of the rewards as baseline :math:`m = 0`, and no sampler has a first order.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative

WEIGHT = vf.Vector(name="weight", low=-2.0, high=2.0, grid=(0, 1, 2), range=vf.ANY)
SHIFT = vf.Vector(name="shift", low=-2.0, high=2.0, grid=(0, 1, -1), range=vf.ANY)


@vf.definition
def reweighted_step(logits: ar.Reals, weight: ar.Reals) -> ar.Reals:
    """sum_a pi_a w_a (e_a - pi)."""
    p = ar.softmax(logits)
    return p * ar.centered(p, weight)


@vf.definition
def fall(logits: ar.Reals, weight: ar.Reals) -> ar.Reals:
    """The fall of entropy by this step, to first order."""
    return ar.covariance(ar.softmax(logits), logits, reweighted_step(logits, weight))


@vf.definition
def least_agreement(logits: ar.Reals, values: ar.Reals) -> ar.Reals:
    """The least of (z_a - z_b)(w_a - w_b) over pairs: at least 0 where w does not fall as pi grows."""
    differences = logits[..., :, None] - logits[..., None, :]
    return ((values[..., :, None] - values[..., None, :]) * differences).min(axis=-1).min(axis=-1)


@vf.definition
def over_policy(logits: ar.Reals, shift: ar.Reals) -> ar.Reals:
    """mu/pi, for samples of mu = softmax(z + shift)."""
    return np.exp(ar.log_growth(logits, shift))


NOT_FLATTER = vf.Condition(latex=r"$w_a \ge w_b$ wherever $\pi_a > \pi_b$", relation=">=",
                           value=lambda i: least_agreement(i.logits, i.weight))
SHARPER = vf.Condition(latex=r"$\mu_a/\pi_a \ge \mu_b/\pi_b$ wherever $\pi_a > \pi_b$", relation=">=",
                       value=lambda i: least_agreement(i.logits, i.shift))
EXPECTED = r"A coin of mean 1 as the reward, no baseline, samples of $\mu$: "

reweighted_coin = vf.Claim(
    id="extension.reweighted-coin",
    source="Extension of AEPO, Theorem 4.3 (rewards that do not depend on the action)",
    title="Weights that do not fall as the probability grows do not raise entropy, where the reward is a "
          "coin of positive mean",
    scope="one tabular state, a reward of one mean for all actions and no baseline, exact expectation, "
          "first order",
    statement=vf.Statement(
        latex=r"If $w_a \ge w_b$ wherever $\pi_a > \pi_b$, the step $\sum_a \pi_a w_a (e_a - \pi)$ does "
              r"not raise entropy to first order.",
        margin=lambda i: fall(i.logits, i.weight),
        conditions=(NOT_FLATTER,),
        beyond=lambda i: (has_derivative(
            lambda t: ar.entropy(
                i.logits + ar.per_action(t) * reweighted_step(i.logits, i.weight)), 0,
            -fall(i.logits, i.weight)),),
    ),
    instances=vf.bandit_instances(correct=False, vectors=(WEIGHT,)),
    mutants=(
        vf.mutant("the weights of any sampler", conditions=()),
    ),
)
