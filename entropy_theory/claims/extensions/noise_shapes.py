r"""Extension of Entropy Mechanism, Lemma 1: the noise of SGD, of Adam and of independent logits
compared.

Without a signal a policy-gradient step is noise. Its covariance in the logits is, up to a factor,

.. math::

    \text{SGD}\quad S = \operatorname{diag}(\pi) - \pi \pi'

    \text{Adam}\quad S_{ab}/\sqrt{S_{aa} S_{bb}}

    \text{isotropic}\quad \text{ the identity}

S is the covariance of a sample's score :math:`e_k - \pi` under a coin, and is called score-shaped. Adam
is without momentum, once its mean squares have settled. Isotropic noise is independent at each logit.

The second orders of entropy follow from moments of :math:`\pi` and of :math:`w = \sqrt{\pi/(1 - \pi)}`.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.isotropic_noise import isotropic_effect
from entropy_theory.claims.extensions.noise import SOURCE, noise_covariance, noise_effect
from entropy_theory.verification import arithmetic as ar


@vf.definition
def score_effect(logits: ar.Reals) -> ar.Reals:
    """The second order under SGD's noise, from moments of pi."""
    p = ar.softmax(logits)
    square, cube = ar.total(p * p), ar.total(p * p * p)
    return -(square + square * square - 2 * cube + (1 + 2 * square) * ar.covariance(p, logits, p)
             - 3 * ar.covariance(p, logits, p * p)) / 2


@vf.definition
def rest(policy: ar.Reals) -> ar.Reals:
    """1 - pi_a, summed over the other actions."""
    return ar.total(np.where(ar.same_action(policy), 0 * policy[..., None, :], policy[..., None, :]))


@vf.definition
def odds_root(logits: ar.Reals) -> ar.Reals:
    """w = sqrt(pi/(1 - pi))."""
    p = ar.softmax(logits)
    return np.sqrt(p / rest(p))


@vf.definition
def adam_effect(logits: ar.Reals) -> ar.Reals:
    """The second order under Adam's noise, from moments of pi and w."""
    p, w = ar.softmax(logits), odds_root(logits)
    return (ar.covariance(p, logits, w * w) - ar.mean(p, w) * ar.covariance(p, logits, w)
            - (1 - ar.covariance(p, w, w)) / 2)


@vf.definition
def score_covariance(logits: ar.Reals) -> ar.Reals:
    """S = sum_k pi_k (e_k - pi)(e_k - pi)'."""
    return noise_covariance(logits, ar.identity(logits) - ar.softmax(logits)[..., :, None])


@vf.definition
def scaled(covariance: ar.Reals, own: ar.Reals) -> ar.Reals:
    """S_ab/sqrt(S_aa S_bb), from S and its diagonal."""
    return covariance / (np.sqrt(own)[..., :, None] * np.sqrt(own)[..., None, :])


def _shapes(i: vf.Cases, scaling: bool = True) -> ar.Reals:
    """Second orders from covariances minus those from moments."""
    p = ar.softmax(i.logits)
    of_sgd = score_covariance(i.logits)
    of_adam = scaled(of_sgd, p * rest(p)) if scaling else of_sgd
    return np.stack([
        noise_effect(i.logits, ar.identity(i.logits)) - isotropic_effect(i.logits),
        noise_effect(i.logits, of_sgd) - score_effect(i.logits),
        noise_effect(i.logits, of_adam) - adam_effect(i.logits)], axis=-1)


noise_shapes = vf.Claim(
    id="extension.noise-shapes",
    source=SOURCE,
    title="Second order of entropy under the noise of SGD, of Adam and of independent logits",
    scope="one tabular state, coins as rewards, one step, Adam without momentum and with mean squares "
          "that have settled, second order",
    statement=vf.Statement(
        latex=r"The second order of entropy under noise of covariance $C$ is $\mathrm{Cov}_\pi(\pi, "
              r"\log\pi) - \frac12(1 - \sum\pi^2)$ for $C = I$; $-\frac12[s + s^2 - 2\sum\pi^3 + "
              r"(1 + 2 s)\,\mathrm{Cov}_\pi(\pi, \log\pi) - 3\,\mathrm{Cov}_\pi(\pi^2, \log\pi)]$, $s = "
              r"\sum\pi^2$, for $C = S = \sum_k \pi_k (e_k - \pi)(e_k - \pi)^\top$ (SGD); and "
              r"$\mathrm{Cov}_\pi(\log\pi, w^2) - \mathbb E[w]\,\mathrm{Cov}_\pi(\log\pi, w) - "
              r"\frac12(1 - \mathrm{Var}_\pi(w))$, $w = \sqrt{\pi/(1 - \pi)}$, for $C_{ab} = "
              r"S_{ab}/\sqrt{S_{aa} S_{bb}}$ (Adam).",
        margin=_shapes,
        relation="==",
    ),
    instances=vf.bandit_instances(correct=False),
    mutants=(
        vf.mutant("Adam's noise is SGD's", margin=lambda i: _shapes(i, scaling=False)),
    ),
)
