r"""Extension of Entropy Mechanism, Lemma 1: noise of its own at each logit, of variance 1.

Its mean change of entropy, to second order (``noise_shapes``,
``entropy_change.of_isotropic_noise``), is

.. math::

    \operatorname{Cov}_\pi(\pi, \log \pi) - (1 - \sum \pi^2)/2 = \sum_{a < b} \pi_a \pi_b [(\pi_a -
    \pi_b) \log(\pi_a/\pi_b) - 1].

With p the largest probability, it is not below zero where :math:`(2 p - 1) \log(p/(1 - p)) \ge 1` and
:math:`p > 1/2`, which is :math:`p \ge .8240`. With D the range of the logits, it is not above zero
where :math:`D \tanh(D/2) \le 1`, which is :math:`D \le 1.5434`. With two actions these are one
threshold. Entropy itself decides nothing. Two equally likely actions and any number of rare ones have
as small an entropy over log n as one likes, and noise lowers it.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar


@vf.definition
def isotropic_effect(logits: ar.Reals) -> ar.Reals:
    """Cov_pi(pi, log pi) - (1 - sum pi^2)/2."""
    p = ar.softmax(logits)
    return ar.covariance(p, logits, p) - ar.total(p * (1 - p)) / 2


def _by_range_and_peak(i: vf.Cases) -> ar.Reals:
    """The effect where one action is likely enough, and minus it where the range is short enough."""
    p, effect = ar.softmax(i.logits), isotropic_effect(i.logits)
    one = 0 * effect + ar.constant(1, like=effect)
    first, rest = ar.largest(p), ar.total(p, ~ar.is_likeliest(i.logits))
    peaked = ~ar.less(first, one / 2) & ~ar.less((first - rest) * np.log(first / rest), one)
    decayed = np.exp(ar.smallest(i.logits) - ar.largest(i.logits))
    flat = ~ar.less(one + decayed, (ar.largest(i.logits) - ar.smallest(i.logits)) * (1 - decayed))
    return np.stack([np.where(peaked, effect, one), np.where(flat, -effect, one)], axis=-1)


def _by_entropy(i: vf.Cases) -> ar.Reals:
    """The effect where entropy is at most two fifths of log n."""
    effect = isotropic_effect(i.logits)
    small = ar.less(5 * ar.entropy(i.logits), 2 * ar.log_of(i.logits.shape[-1], like=i.logits))
    return np.where(small, effect, 0 * effect + ar.constant(1, like=effect))


isotropic_noise = vf.Claim(
    id="extension.isotropic-noise",
    source="Extension of Entropy Mechanism, Lemma 1 (noise of mean zero)",
    title="To second order independent noise of the logits does not lower the entropy of peaked "
          "policies, nor raise that of flat ones",
    scope="one softmax policy, noise of mean zero and one variance at each logit, independent, second "
          "order",
    statement=vf.Statement(
        latex=r"$E = \mathrm{Cov}_\pi(\pi, \log\pi) - \frac12(1 - \sum\pi^2)$ has $E \ge 0$ where $p = "
              r"\max\pi \ge \frac12$ and $(2p - 1)\log\frac p{1 - p} \ge 1$, and $E \le 0$ where "
              r"$D\tanh\frac D2 \le 1$ for the range $D$ of the logits.",
        margin=_by_range_and_peak,
    ),
    instances=vf.bandit_instances(correct=False),
    mutants=(
        vf.mutant("it raises entropy wherever H is below two fifths of log n", margin=_by_entropy),
    ),
)
