r"""Extension of AEPO, Theorem 4.3: how far the weights of a mismatched sampler move the first order.

Tokens are drawn from :math:`\mu` and trained as the policy's, with the advantages A and each with a
weight. The expected step is

.. math::

    d = \sum_a \pi_a w_a A_a (e_a - \pi).

Uncorrected samples have :math:`w = \mu/\pi`, and exact importance weights have :math:`w = 1`. TIS has
:math:`w = \min(1, c \mu/\pi)`. Masks (IcePop, DPPO) have w 0 where they mask, and 1 elsewhere. With
:math:`l = \log \pi + H` the first order of entropy is

.. math::

    -\sum_a \pi_a l_a \pi_a (w_a A_a - \mathbb E_\pi[w A]) = -\mathbb E_\pi[w A (\pi l - \mathbb
    E_\pi[\pi l])].

It is linear in w, so :math:`u = (w - 1) A` takes it to the exact step's. Two bounds follow, with
:math:`D = \mathbb E_\pi|l|`.

- :math:`|u_a - \mathbb E_\pi u| \le 2 (1 - \pi_a) \max|u|`, and :math:`\pi_a (1 - \pi_a) \le 1/4`. So the
  first form is at most :math:`\max|u| D/2`.
- :math:`|\pi_a l_a - \mathbb E_\pi[\pi l]| \le D`. So the second form is at most :math:`D\, \mathbb
  E_\pi|u|`.

The mean :math:`\mathbb E_\pi|w - 1|` is twice the total variation of :math:`\mu` from :math:`\pi` without
a correction. It is the masked probability of a mask, and the probability that TIS takes away. D is at
most 2 H, because l has mean 0 and is at most H.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.reweighted_coin import WEIGHT, fall, reweighted_step
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative

ADVANTAGE = vf.Vector(name="advantage", low=-2.0, high=2.0, grid=(0, 1, -1), range=vf.ANY)


@vf.definition
def surprise_spread(logits: ar.Reals) -> ar.Reals:
    """D = E|log pi + H|."""
    p = ar.softmax(logits)
    return ar.mean(p, np.abs(ar.centered(p, logits)))


@vf.definition
def weighting_bias(logits: ar.Reals, weight: ar.Reals, advantage: ar.Reals) -> ar.Reals:
    """The fall of entropy with these weights less that of the exact step, to first order."""
    return fall(logits, weight * advantage) - fall(logits, advantage)


def _bounded(i: vf.Cases, share: tuple[int, int] = (1, 2)) -> ar.Reals:
    """Bounds by the mean and by the largest |w - 1| of the bias of either sign, and 2 H - D."""
    apart, largest = np.abs(i.weight - 1), ar.largest(np.abs(i.advantage))
    spread, bias = surprise_spread(i.logits), weighting_bias(i.logits, i.weight, i.advantage)
    by_mean = ar.mean(ar.softmax(i.logits), apart) * largest * spread
    by_largest = ar.largest(apart) * largest * spread
    return np.stack([share[0] * by_mean - bias, share[0] * by_mean + bias,
                     by_largest / share[1] - bias, by_largest / share[1] + bias,
                     2 * ar.entropy(i.logits) - spread], axis=-1)


weighted_signal = vf.Claim(
    id="extension.weighted-signal",
    source="Extension of AEPO, Theorem 4.3 (corrections of a mismatched sampler)",
    title="Weights on the tokens of a step move its first-order entropy change by at most their mean "
          "distance from 1, times the largest advantage and the mean of |log pi + H|",
    scope="one tabular state, any weights and advantages, exact expectation, first order",
    statement=vf.Statement(
        latex=r"Let $h(w)$ be the first order of entropy along the step $\sum_a \pi_a w_a A_a (e_a - "
              r"\pi)$, and $D = \mathbb E_\pi|\log\pi + H|$. Then $|h(w) - h(1)| \le \max|A|\, D\, "
              r"\mathbb E_\pi|w - 1|$, and $|h(w) - h(1)| \le \frac12 \max|A|\, D\, \max|w - 1|$. "
              r"$D \le 2 H$.",
        margin=_bounded,
        beyond=lambda i: (has_derivative(
            lambda t: ar.entropy(
                i.logits + ar.per_action(t) * reweighted_step(i.logits, i.weight * i.advantage)), 0,
            -fall(i.logits, i.weight * i.advantage)),),
    ),
    instances=vf.bandit_instances(correct=False, vectors=(WEIGHT, ADVANTAGE)),
    mutants=(
        vf.mutant("a quarter of the largest distance bounds it",
                  margin=lambda i: _bounded(i, share=(1, 4))),
        vf.mutant("no bias at all", margin=lambda i: _bounded(i, share=(0, 2))),
    ),
)
