r"""Extension of AEPO, Theorem 4.3: a sampler whose log-probabilities are off by rounding, or stale.

Tokens are drawn from :math:`\mu`, and no weight corrects them. The expected step is

.. math::

    \sum_a \mu_a A_a (e_a - \pi).

With :math:`\varepsilon = \max_a |\log \mu_a - \log \pi_a|` its weights (``weighted_signal``) have
:math:`|\mu/\pi - 1| \le e^\varepsilon - 1`. So its first order of entropy is within

.. math::

    \tfrac12 (e^\varepsilon - 1) \max|A|\, \mathbb E_\pi|\log \pi + H| \le (e^\varepsilon - 1) \max|A|\, H

of the exact step's. It has the exact step's sign wherever that is larger. A coin of mean c without a
baseline has :math:`A = c`, whose exact step is 0. With the mean as baseline it has :math:`A = 0`, and no
sampler moves entropy to first order.

Truncation at :math:`c \ge e^\varepsilon` changes no weight. Neither do masks with a band around
:math:`[e^{-\varepsilon}, e^\varepsilon]`. There these corrections are the exact step.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.reweighted_coin import SHIFT, fall
from entropy_theory.claims.extensions.weighted_signal import ADVANTAGE, surprise_spread
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative


@vf.definition
def sampled_step(logits: ar.Reals, shift: ar.Reals, advantage: ar.Reals) -> ar.Reals:
    """sum_a mu_a A_a (e_a - pi), for samples of mu = softmax(z + shift)."""
    drawn = ar.softmax(logits + shift)
    return drawn * advantage - ar.softmax(logits) * ar.per_action(ar.mean(drawn, advantage))


@vf.definition
def sampled_fall(logits: ar.Reals, shift: ar.Reals, advantage: ar.Reals) -> ar.Reals:
    """The fall of entropy by this step, to first order."""
    return ar.covariance(ar.softmax(logits), logits, sampled_step(logits, shift, advantage))


@vf.definition
def farthest(logits: ar.Reals, shift: ar.Reals) -> ar.Reals:
    """Epsilon = max|log mu - log pi|."""
    return ar.largest(np.abs(ar.log_growth(logits, shift)))


def _bounded(i: vf.Cases, parts: int = 2) -> ar.Reals:
    """The bound less the bias of either sign, and what the bound by H adds to it."""
    apart, largest = np.expm1(farthest(i.logits, i.shift)), ar.largest(np.abs(i.advantage))
    spread = surprise_spread(i.logits)
    bias = sampled_fall(i.logits, i.shift, i.advantage) - fall(i.logits, i.advantage)
    bound = apart * largest * spread / parts
    return np.stack([bound - bias, bound + bias, 2 * ar.entropy(i.logits) - spread], axis=-1)


rounded_sampler = vf.Claim(
    id="extension.rounded-sampler",
    source="Extension of AEPO, Theorem 4.3 (rewards and samplers of any kind)",
    title="A sampler within eps of every log-probability moves the first-order entropy change by at most "
          "half of e^eps - 1, times the largest advantage and the mean of |log pi + H|",
    scope="one tabular state, any sampler and advantages, no correction, exact expectation, first order",
    statement=vf.Statement(
        latex=r"Let $h_\mu$ be the first order of entropy along the step $\sum_a \mu_a A_a (e_a - \pi)$, "
              r"$\varepsilon = \max_a|\log\mu_a - \log\pi_a|$ and $D = \mathbb E_\pi|\log\pi + H|$. Then "
              r"$|h_\mu - h_\pi| \le \frac12 (e^\varepsilon - 1) \max|A|\, D$, and $D \le 2 H$.",
        margin=_bounded,
        beyond=lambda i: (has_derivative(
            lambda t: ar.entropy(
                i.logits + ar.per_action(t) * sampled_step(i.logits, i.shift, i.advantage)), 0,
            -sampled_fall(i.logits, i.shift, i.advantage)),),
    ),
    instances=vf.bandit_instances(correct=False, vectors=(SHIFT, ADVANTAGE)),
    mutants=(
        vf.mutant("a quarter of it bounds the bias", margin=lambda i: _bounded(i, parts=4)),
    ),
)
