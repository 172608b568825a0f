"""DPPO (arXiv 2602.04879): the total variation of a policy, seen at one token.

DPPO masks a sampled token if (pi_k, 1 - pi_k) has moved by more than delta, "the efficient Binary
and Top-K approximations to capture the essential divergence". Let ``D_k = |pi_k - pi_old,k|`` and
``TV = (1/2) sum D``. If no token's mask acts, has the policy moved by at most delta?

With two or three tokens it has, with four or more it may not, since TV may be n/2 times the largest
D. TV is never less than any D_k, so a mask that acts is always right about the policy. The paper's
improvement bound, which is in TV, is not judged, since its text is not at hand.
"""

import numpy as np

from entropy_theory import verification as vf
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
