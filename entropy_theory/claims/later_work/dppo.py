r"""DPPO (arXiv 2602.04879): the total variation of a policy, seen at one token, and what it bounds.

DPPO masks a sampled token if :math:`(\pi_k, 1 - \pi_k)` has moved by more than :math:`\delta`, "the
efficient Binary and Top-K approximations to capture the essential divergence". Let
:math:`D_k = |\pi_k - \pi_{\text{old},k}|` and :math:`\operatorname{TV} = \tfrac12 \sum D`. If no
token's mask acts, has the policy moved by at most delta?

With two or three tokens it has, with four or more it may not, since TV may be n/2 times the largest D.
TV is never less than any :math:`D_k`, so a mask that acts is always right about the policy. Section 4.4
of the third text claims no more: there D is a lower bound of the divergence.

Theorem 3.2, Eq. 7, bounds what a policy :math:`\pi` gains over the sampler :math:`\mu`, for responses of
T tokens:

.. math::

    J(\pi) - J(\mu) \ge L'(\pi) - 2 \xi T (T - 1) D^2,\quad L'(\pi) = \mathbb E_\mu[R \sum_t (\pi/\mu -
    1)],

with D the largest TV of a state and :math:`\xi = \max |R|`. It is true, and so from the other side.
Rewards count by their range alone: :math:`\max R - \min R` may take the place of :math:`2 \xi`. So for
rewards 0 and 1 the printed penalty is twice what is needed.

Proof, by the first token a and the tree below it: :math:`J(\pi) - J(\mu) - L'` is the mean over
:math:`\mu` of the same below a, plus :math:`\sum_a (\pi - \mu)(a) (J_a(\pi) - J_a(\mu))`. The
differences in the sum are at most :math:`(\max R - \min R)(T - 1) D`, and
:math:`\sum |\pi - \mu| \le 2 D`.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.tree_rates import (
    STEP,
    expected_reward,
    response_probabilities,
    trees,
)
from entropy_theory.claims.later_work.clip_low_high import DRIFT
from entropy_theory.verification import arithmetic as ar


@vf.definition
def gap(logits: ar.Reals, drift: ar.Reals) -> ar.Reals:
    """D_a = |pi_a - pi_old,a|, the total variation between (pi_a, 1 - pi_a) and its former."""
    return np.abs(ar.softmax(logits) - ar.softmax(logits - drift))


@vf.definition
def total_variation(logits: ar.Reals, drift: ar.Reals) -> ar.Reals:
    """(1/2) sum_a |pi_a - pi_old,a|."""
    return ar.total(gap(logits, drift)) / 2


def _within_the_largest(i: vf.Cases, times: ar.Reals | int) -> ar.Reals:
    return times * ar.largest(gap(i.logits, i.drift)) - total_variation(i.logits, i.drift)


def _both_bounds(i: vf.Cases) -> ar.Reals:
    n = ar.constant(i.logits.shape[-1], like=i.logits)
    return np.stack([
        _within_the_largest(i, n / 2),
        total_variation(i.logits, i.drift) - ar.largest(gap(i.logits, i.drift))], axis=-1)


dppo_binary = vf.Claim(
    id="later-work.dppo-binary",
    source="DPPO (arXiv 2602.04879), the binary approximation of total variation",
    reading=vf.Reading(
        "precise",
        "we introduce the efficient Binary and Top-K approximations to capture the essential divergence "
        "with negligible overhead", "abstract"),
    title="If every token has moved by at most delta, the policy has (total variation)",
    scope="one state, two softmax policies; judged: the abstract's sentence, made precise",
    statement=vf.Statement(
        latex=r"$\mathrm{TV}(\pi,\pi_{old})\le\max_k|\pi_k-\pi_{old,k}|$.",
        margin=lambda i: _within_the_largest(i, 1),
    ),
    instances=vf.bandit_instances(correct=False, vectors=(DRIFT,), actions=(2, 6)),
    repair=vf.Statement(
        latex=r"$\max_k|\pi_k-\pi_{old,k}|\le\mathrm{TV}(\pi,\pi_{old})\le\frac n2"
              r"\max_k|\pi_k-\pi_{old,k}|$.",
        margin=_both_bounds,
    ),
    repair_is="correction",
    repair_note="a factor n/2; from below the largest is a bound",
    mutants=(
        vf.mutant("a factor 3/2", margin=lambda i: 3 * ar.largest(gap(i.logits, i.drift)) / 2
                  - total_variation(i.logits, i.drift)),
    ),
)

# ---------------------------------------------------------------- the improvement bound


@vf.definition
def largest_variation(logits: ar.Reals, step: ar.Reals) -> ar.Reals:
    """D, the largest over states of TV(mu, pi), mu of the logits and pi after the step."""
    return ar.largest(ar.total(np.abs(ar.softmax(logits + step) - ar.softmax(logits))) / 2)


@vf.definition
def surrogate(logits: ar.Reals, step: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """L' = E_mu[R sum_t (pi/mu - 1)]."""
    ratio = ar.softmax(logits + step) / ar.softmax(logits)
    return ar.mean(response_probabilities(logits),
                   reward * ar.token_tree(logits).sum_along(ratio - 1))


@vf.definition
def penalty(logits: ar.Reals, step: ar.Reals) -> ar.Reals:
    """T (T - 1) D^2."""
    longest, variation = ar.token_tree(logits).horizon, largest_variation(logits, step)
    return longest * (longest - 1) * variation * variation


def _beyond_surrogate(i: vf.Cases) -> ar.Reals:
    gain = expected_reward(i.logits + i.step, i.reward) - expected_reward(i.logits, i.reward)
    return gain - surrogate(i.logits, i.step, i.reward)


def _within_range(i: vf.Cases, times: int | float = 1) -> ar.Reals:
    """Room of the error, of either sign, in the penalty times the range of the rewards."""
    spread = ar.largest(i.reward) - ar.smallest(i.reward)
    return times * spread * penalty(i.logits, i.step) - np.abs(_beyond_surrogate(i))


def _improvement(i: vf.Cases) -> ar.Reals:
    printed = 2 * ar.largest(np.abs(i.reward)) * penalty(i.logits, i.step)
    return np.stack([printed + _beyond_surrogate(i), _within_range(i)], axis=-1)


dppo_bound = vf.Claim(
    id="later-work.dppo-bound",
    source="DPPO (arXiv 2602.04879), Theorem 3.2",
    reading=vf.Reading(
        "precise",
        "the policy improvement is lower-bounded by both: J(pi) - J(mu) >= L'_mu(pi) - 2 xi T (T-1) "
        "D_TV^max(mu || pi)^2",
        "Theorem 3.2, Eq. 7, of the third text (June 2026); the bound from the other side is ours"),
    title="DPPO's bound on improvement, and a tighter one: the range of rewards counts, on both sides",
    scope="tabular token tree, two softmax policies, exact expectation; judged: the printed formula",
    statement=vf.Statement(
        latex=r"$J(\pi)-J(\mu)\ge L'-2\max|R|\,T(T-1)D^2$ and $|J(\pi)-J(\mu)-L'|\le(\max R-\min R)\,"
              r"T(T-1)D^2$, with $L'=\mathbb E_\mu[R\sum_t(\pi/\mu-1)]$ and "
              r"$D=\max_s\mathrm{TV}(\mu,\pi)$, for responses of $T$ tokens.",
        margin=_improvement,
    ),
    instances=trees(reward="graded", vectors=(STEP,)),
    mutants=(
        vf.mutant("half of the range", margin=lambda i: 2 * _within_range(i, 1 / 2)),
    ),
)
