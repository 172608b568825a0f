r"""Extension of Entropy Mechanism, Lemma 1: the noise of samples that another policy drew.

The reward is a coin, and its mean is the baseline. No sampler :math:`\mu` then moves entropy to first
order. The noise of one sample has the covariance

.. math::

    C_\mu = \sum_k \mu_k (e_k - \pi)(e_k - \pi)' = \operatorname{diag}(\mu) - \mu \pi' - \pi \mu' + \pi
    \pi',

so the second order is linear in :math:`\mu`. It is the mean over :math:`\mu` of :math:`Q_k/2`, with
:math:`Q_k` that of one drawn action k (`extension.second-order`). One action is ahead of m others by
the gap D. With :math:`E = e^{-D}`, :math:`x = m E` and :math:`N = 1 + x`,

.. math::

    Q_{\text{likely}} = (m E^3/N^5)(m + 1)^2 [(1 - x) D - N],

    Q_{\text{rare}} - Q_{\text{likely}} = (E/N^4) F,

    F = (2/(m E^2)) N^5 (\text{the policy's own second order}) - E (m + 1)^2 [(1 - x) D - N].

If the last bracket is above zero, :math:`F (1 - x) \ge (m - 1) E N^3`. Otherwise F is at least its
first part. So where the policy's own noise does not lower entropy, a rare draw raises it by at least as
much as a likely one.

In a group whose advantages sum to zero the baseline :math:`\pi` drops out, and the covariance is that
of :math:`\operatorname{diag}(\mu) - \mu \mu'`. This is not judged here.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.noise import SOURCE, noise_covariance, noise_effect
from entropy_theory.claims.extensions.reweighted_coin import SHIFT
from entropy_theory.claims.extensions.score_noise import GAP, ONE_LIKELY, dominated
from entropy_theory.verification import arithmetic as ar


@vf.definition
def sampler_effect(logits: ar.Reals, sampler: ar.Reals) -> ar.Reals:
    """The second order under noise of covariance C_mu, mu = softmax(sampler)."""
    scores = ar.identity(logits) - ar.softmax(logits)[..., :, None]
    return noise_effect(logits, noise_covariance(sampler, scores))


def _weaker(i: vf.Cases, anywhere: bool = False) -> ar.Reals:
    """Own second order minus the sampler's, times the sampler's excess of the likely action."""
    z = dominated(i.gap, i.correct)
    own, sampler = sampler_effect(z, z), z + i.shift
    excess = ar.total(ar.softmax(sampler) - ar.softmax(z), i.correct)
    weaker = (own - sampler_effect(z, sampler)) * excess
    return weaker if anywhere else np.where(ar.less(own, 0 * own), 0 * own, weaker)


sampler_noise = vf.Claim(
    id="extension.sampler-noise",
    source=SOURCE,
    title="Where the noise of a policy's own samples does not lower entropy, a sampler that draws the "
          "likely action more often raises it no more",
    scope="one tabular state with one likely action and n - 1 equal others, coins as rewards, their mean "
          "as baseline, one sample a step, any sampler, second order",
    statement=vf.Statement(
        latex=r"Let $E(\mu)$ be the second order of entropy under noise of covariance $\sum_k \mu_k "
              r"(e_k - \pi)(e_k - \pi)^\top$. With one action $r$ ahead of $n - 1$ equal others, where "
              r"$E(\pi) \ge 0$, $E(\mu) \le E(\pi)$ if $\mu_r > \pi_r$, and $E(\mu) \ge E(\pi)$ if "
              r"$\mu_r < \pi_r$.",
        margin=_weaker,
        conditions=(ONE_LIKELY,),
    ),
    instances=vf.bandit_instances(GAP, vectors=(SHIFT,)),
    mutants=(
        vf.mutant("also where its own noise lowers entropy",
                  margin=lambda i: _weaker(i, anywhere=True)),
    ),
)
