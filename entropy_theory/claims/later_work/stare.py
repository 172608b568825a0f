r"""STARE (arXiv 2606.19236): advantage and surprisal decide what a token does to entropy.

The abstract: a token's entropy change is its advantage times "an entropy sensitivity function over the
next-token distribution, yielding an advantage-surprisal four-quadrant structure and a near-criticality
property". At one state the change is :math:`-A (c_k - C)`, with :math:`c_k = \pi_k (\log \pi_k + H)`
and :math:`C = \mathbb E c`.

- The four quadrants are true. :math:`c - C` changes sign once, at a logit :math:`z_+ \ge \mathbb E z`.
  Tokens above it lower entropy if their advantage is positive, and raise it if negative. Tokens below
  it have the opposite effect.
- Criticality, read as balance, is true. The mean of :math:`c - C` over the policy is 0, so with one
  advantage for all tokens the two sides cancel.

The remedy is a weight :math:`W > 1` on the least likely tokens of right answers. It raises entropy
where these are below :math:`e^{-H}`. Elsewhere it may lower entropy. For example, if one answer is
right and the likeliest, it is also the least likely of the right ones.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import excess
from entropy_theory.claims.entropy_mechanism.lemma_2 import units
from entropy_theory.claims.entropy_mechanism.token_contributions import relative_log_prob, some
from entropy_theory.claims.extensions.loss_coefficient import expected_step, moves_entropy
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import equal, for_every, has_derivative


@vf.definition
def crossing(logits: ar.Reals) -> ar.Reals:
    """z+ = max(E z, max{z_a : c_a < C}): where c - C changes sign."""
    middle = ar.per_action(ar.mean(ar.softmax(logits), logits))
    return ar.largest(np.where(ar.less(excess(logits), 0 * logits), logits, middle))


def quadrants(i: vf.Cases) -> ar.Reals:
    """(z_a - z+)(c_a - C)."""
    return (i.logits - ar.per_action(crossing(i.logits))) * excess(i.logits)


stare = vf.Claim(
    id="later-work.stare",
    source="STARE (arXiv 2606.19236), the four quadrants and criticality",
    reading=vf.Reading(
        "precise",
        "yielding an advantage-surprisal four-quadrant structure and a near-criticality property",
        "abstract; the paper's formulas are not at hand"),
    title="One surprisal divides the tokens that raise entropy from those that lower it; they balance",
    scope="one tabular state, one sampled token or its mean, on-policy, first order; judged: the "
          "abstract, made precise",
    statement=vf.Statement(
        latex=r"Token $k$ with advantage $A$ changes entropy by $-A(c_k-C)$. There is a logit "
              r"$z_+$ above which $c_k\ge C$ and below which $c_k\le C$, and $\mathbb E_\pi[c-C]=0$.",
        margin=quadrants,
        beyond=lambda i: (
            for_every("advantage", (), lambda x: has_derivative(
                lambda t: ar.entropy(i.logits[..., None, :] + ar.per_action(ar.per_action(t * x)) * (
                    units(i.logits) - ar.softmax(i.logits)[..., None, :])), 0,
                -ar.per_action(x) * excess(i.logits)).all()),
            equal(ar.mean(ar.softmax(i.logits), excess(i.logits)), 0),
        ),
    ),
    instances=vf.bandit_instances(correct=False),
    mutants=(
        vf.mutant("the crossing at the mean logit", margin=lambda i: relative_log_prob(
            i.logits) * excess(i.logits)),
    ),
)

# ---------------------------------------------------------------- the remedy

LEVEL = vf.Scalar(name="level", low=0.01, high=1.0, grid=(1, Fraction(1, 2), Fraction(1, 4)),
                  range=vf.Range(low=0, high=1))


@vf.definition
def reweighted(logits: ar.Reals, correct: ar.Mask, level: ar.Reals) -> ar.Mask:
    """Right answers of at most this probability."""
    return correct & ~ar.less(ar.per_action(level), ar.softmax(logits))


@vf.definition
def raised(logits: ar.Reals, selected: ar.Mask) -> ar.Reals:
    """The rate of entropy per unit of weight on these right answers: -sum of pi_a (c_a - C)."""
    return -ar.total(ar.softmax(logits) * excess(logits), selected)


def _selected(i: vf.Cases) -> ar.Mask:
    return reweighted(i.logits, i.correct, i.level)


def _step(i: vf.Cases) -> ar.Reals:
    one = 0 * i.logits + ar.constant(1, like=i.logits)
    return expected_step(i.logits, np.where(_selected(i), one, 0 * one))


SOME_SELECTED = some(_selected, "some right answer is reweighted")
SELECTED_ARE_RARE = vf.Condition(
    latex=r"those that are reweighted have $\pi_a<e^{-H}$",
    value=lambda i: ~np.any(
        _selected(i) & ~ar.less(relative_log_prob(i.logits), 0 * i.logits), axis=-1))

stare_reweighting = vf.Claim(
    id="later-work.stare-reweighting",
    source="STARE (arXiv 2606.19236), the weight W of surprising tokens",
    reading=vf.Reading(
        "precise",
        "identifies entropy-critical token subsets via batch-internal surprisal quantiles, selectively "
        "reweights their effective advantages", "abstract; the weights are those of the public code"),
    title="More weight on the least likely right tokens raises entropy",
    scope="one tabular state, rewards 0 and 1, on-policy, exact expectation, first order; judged: the "
          "abstract and the public code",
    statement=vf.Statement(
        latex=r"A unit more of weight on the right answers with $\pi_a\le t$, $0\le t\le1$, does not "
              r"lower the rate of entropy.",
        margin=lambda i: raised(i.logits, _selected(i)),
        conditions=(SOME_SELECTED,),
    ),
    instances=vf.bandit_instances(LEVEL),
    repair=vf.Statement(
        latex=r"It raises it if every right answer that is reweighted has $\pi_a<e^{-H}$.",
        margin=lambda i: raised(i.logits, _selected(i)),
        relation=">",
        conditions=(SOME_SELECTED, SELECTED_ARE_RARE),
        beyond=lambda i: (moves_entropy(i.logits, _step(i), raised(i.logits, _selected(i))),),
    ),
    repair_is="hypothesis",
    repair_note="hypothesis: the reweighted answers are below $e^{-H}$",
    mutants=(
        vf.mutant("wherever they are", conditions=(SOME_SELECTED,)),
    ),
)
