r"""Extension: a bonus on the clamped entropy never lowers the full entropy, to first order.

K is the kept set, a top set of :math:`\pi` with all its ties, so that every removed action is less
likely than every kept one. Its probability is :math:`P = \pi(K)`, and :math:`\tilde\pi = \pi/P` on K
has the entropy :math:`\tilde H`. With K held fixed, :math:`d\tilde H/dz_a = -\tilde S_a` on K, with
:math:`\tilde S_a = \tilde\pi_a u_a` and :math:`u = \log \tilde\pi + \tilde H`. So a vanilla step of
strength :math:`\eta \lambda` changes the full entropy at first order by
:math:`\eta \lambda \sum_K S_a \tilde S_a`, with :math:`S_a = \pi_a (\log \pi_a + H)`. With
:math:`D = H + \log P - \tilde H`,

.. math::

    \sum_K S_a \tilde S_a = P \{ \mathbb E_{\tilde\pi}[\tilde\pi u^2] + D
    \operatorname{Cov}_{\tilde\pi}(\tilde\pi, \log \tilde\pi) \},

    D = (1 - P)(\mathbb E_{\text{removed}}[-\log \pi] - \mathbb E_{\text{kept}}[-\log \pi]) \ge 0.

So the change is never negative. This also holds where K splits a tie (`rate_nonneg` in Clamping.v).
For other kept sets D can be negative and entropy can fall.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import own_covariance
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import for_every, has_derivative

FLOOR = vf.Scalar(name="floor", low=0.001, high=1.0,
                  grid=(Fraction(7, 20), Fraction(7, 9), Fraction(1, 7)),
                  range=vf.Range(low=0, open_low=True, high=1))
"""Kept are the actions with pi_a >= floor max pi: every top set with all its ties arises so."""


@vf.definition
def top_set(logits: ar.Reals, floor: ar.Reals) -> ar.Mask:
    """The kept set: pi_a >= floor max pi."""
    level = ar.largest(logits)[..., None] + np.log(ar.per_action(floor))
    return ~ar.less(logits, level)


def kept(i: vf.Cases) -> ar.Mask:
    """The top set {pi_a >= floor max pi}."""
    return top_set(i.logits, i.floor)


@vf.definition
def renormalized(logits: ar.Reals, inside: ar.Mask) -> ar.Reals:
    """The policy given the kept set, zero elsewhere."""
    p = ar.softmax(logits)
    return np.where(inside, p, 0 * p) / ar.total(p, inside)[..., None]


@vf.definition
def clamped_entropy(logits: ar.Reals, inside: ar.Mask) -> ar.Reals:
    """The entropy of the policy given the kept set."""
    conditional = renormalized(logits, inside)
    return -ar.total(conditional * np.log(conditional), inside)


@vf.definition
def clamped_tilt(logits: ar.Reals, inside: ar.Mask) -> ar.Reals:
    """S~, minus the gradient of the clamped entropy, zero elsewhere."""
    conditional = renormalized(logits, inside)
    return conditional * ar.centered(conditional, logits)


@vf.definition
def rate(logits: ar.Reals, inside: ar.Mask) -> ar.Reals:
    """The rate of the full entropy, sum_K S_a S~_a."""
    return ar.total(own_covariance(logits) * clamped_tilt(logits, inside))


def _bonus_without_top_set(i: vf.Cases) -> ar.Reals:
    return rate(i.logits, i.correct)


clamped_bonus = vf.Claim(
    id="extension.clamped-bonus",
    source="Extension of AEnt, section 4.1",
    title="A clamped-entropy bonus never lowers the full entropy, to first order",
    scope="one tabular state, first order",
    statement=vf.Statement(
        latex=r"For a kept top set $\mathcal K$ with all its ties: $\sum_{a\in\mathcal K}S_a\tilde S_a "
              r"\ge 0$, so a bonus on the clamped entropy never lowers the full entropy to first order.",
        margin=lambda i: rate(i.logits, kept(i)),
        beyond=lambda i: (
            for_every("direction", (vf.ACTIONS,), lambda v: has_derivative(
                lambda t: clamped_entropy(i.logits + ar.per_action(t) * v, kept(i)), 0,
                -ar.total(clamped_tilt(i.logits, kept(i)) * v))),
            has_derivative(
                lambda t: ar.entropy(i.logits - ar.per_action(t) * clamped_tilt(i.logits, kept(i))), 0,
                rate(i.logits, kept(i))),
        ),
    ),
    instances=vf.bandit_instances(FLOOR, correct=False),
    mutants=(
        vf.mutant("any kept set", margin=_bonus_without_top_set, instances=vf.bandit_instances()),
    ),
)
