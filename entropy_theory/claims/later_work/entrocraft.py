r"""Entrocraft (arXiv 2604.26326): entropy steered by keeping positives only or negatives only.

The rule trains on positive samples only while entropy is above a band, to lower it, and on negative
samples only while it is below, to raise it. At one state with rewards 0 and 1, :math:`A^*` is the
correct set, W the rest and :math:`p = \pi(A^*)`. The exact expected steps, per unit learning rate and
unit score, are

.. math::

    \text{positives only}:\quad d_+ = 1_{A^*} \pi - p \pi,\quad \text{ negatives only}:\quad d_- = -(1_W
    \pi - (1 - p) \pi).

They are the same vector, because :math:`\mathbb E[\nabla \log \pi] = 0`. This also holds with shared
parameters and whole sequences. So both move entropy alike, at any step size, and cannot have opposite
effects in expectation. With centered advantages they still differ only by a factor for each prompt,
:math:`1 - p` against p. So positives weigh hard prompts, and negatives easy ones. The direction depends
on which actions are correct.

- If every correct action is at least as likely as every wrong one, neither raises entropy
  (:math:`F \le 0`).
- If every correct action is at most as likely as every wrong one, neither lowers it (:math:`F \ge 0`).

The proof uses :math:`w_a = \pi_a (z_a - \bar z) - C`, where :math:`\bar z = \mathbb E z` and C makes
the mean of w zero. If :math:`z_a \ge z_b` and :math:`w_b > 0`, then :math:`w_a > 0`.

The scope is the expectation over on-policy samples, and the rates are for one state. Sampling
noise, clipping, length normalization and several steps on one batch can tell the two apart. The
sign rule as such cannot.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import excess
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative


@vf.definition
def rate_of_positives(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """Entropy rate of training on positives only: -sum_{A*} pi_a (S_a - Sbar)."""
    return -ar.total(ar.softmax(logits) * excess(logits), correct)


@vf.definition
def rate_of_negatives(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """Entropy rate of training on negatives only, score -1: sum_W pi_a (S_a - Sbar)."""
    return ar.total(ar.softmax(logits) * excess(logits), ~correct)


@vf.definition
def positives_only(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """The expected step of positives: 1_{A*} pi - p pi."""
    p = ar.softmax(logits)
    return np.where(correct, p, 0 * p) - ar.total(p, correct)[..., None] * p


@vf.definition
def negatives_only(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """The expected step of negatives: -(1_W pi - (1 - p) pi)."""
    p = ar.softmax(logits)
    return -(np.where(correct, 0 * p, p) - ar.total(p, ~correct)[..., None] * p)


def wrong_actions(correct: ar.Mask) -> ar.Mask:
    """The wrong actions."""
    return ~correct


@vf.definition
def correct_above(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """The least likely correct logit minus the largest wrong one."""
    return ar.smallest(logits, correct) - ar.largest(logits, wrong_actions(correct))


@vf.definition
def correct_below(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """The least likely wrong logit minus the largest correct one."""
    return ar.smallest(logits, wrong_actions(correct)) - ar.largest(logits, correct)


def _correct_above(i: vf.Cases) -> ar.Reals:
    return correct_above(i.logits, i.correct)


def _correct_below(i: vf.Cases) -> ar.Reals:
    return correct_below(i.logits, i.correct)


def _repaired(i: vf.Cases) -> ar.Reals:
    """Both rates, with the sign that the order of the actions gives them."""
    above = ~ar.less(_correct_above(i), 0 * _correct_above(i))
    sign = np.where(above, -1, 1)
    return np.stack([sign * rate_of_positives(i.logits, i.correct),
                     sign * rate_of_negatives(i.logits, i.correct)], axis=-1)


SEPARATED = vf.Condition(
    latex="the correct actions are all the likelier ones, or all the less likely ones",
    value=lambda i: ar.maximum(_correct_above(i), _correct_below(i)), relation=">=")


_statement = vf.Statement(
    latex=r"Training on positives only lowers entropy and training on negatives only raises it.",
    # Positives lower, negatives raise.
    margin=lambda i: np.stack([-rate_of_positives(i.logits, i.correct),
                               rate_of_negatives(i.logits, i.correct)], axis=-1),
    conditions=(vf.SOME_WRONG,),
)

entrocraft = vf.Claim(
    id="later-work.entrocraft",
    source="Entrocraft (arXiv 2604.26326), the sign rule",
    reading=vf.Reading(
        "inferred",
        "we relate per-step entropy change to the advantage distribution under minimal assumptions",
        "abstract; the rule on positives and negatives is that of the public code"),
    title="Training on positives only lowers entropy, on negatives only raises it",
    scope="one tabular state, rewards 0 and 1, on-policy, exact expectation, first order; judged: the "
          "abstract's rule and its public code",
    statement=_statement,
    instances=vf.bandit_instances(),
    repair=vf.Statement(
        latex=r"Both have the same expected step. If every correct action is at least as likely as "
              r"every wrong one, neither raises entropy (first order); if at most as likely, neither "
              r"lowers it.",
        margin=_repaired,
        conditions=(vf.SOME_WRONG, SEPARATED),
        beyond=lambda i: (
            vf.elementwise("equal", positives_only(i.logits, i.correct),
                           negatives_only(i.logits, i.correct)).all(),
            has_derivative(lambda t: ar.entropy(
                i.logits + ar.per_action(t) * positives_only(i.logits, i.correct)), 0,
                rate_of_positives(i.logits, i.correct)),
            vf.elementwise("equal", rate_of_negatives(i.logits, i.correct),
                           rate_of_positives(i.logits, i.correct)),
        ),
    ),
    repair_note="both have the same expected step: neither raises entropy if the correct actions are the "
                "likelier ones, neither lowers it if they are the less likely",
    mutants=(
        vf.Mutant(name="negatives raise entropy where the correct actions are the likelier",
                  statement=vf.variant(_statement, margin=lambda i: rate_of_negatives(i.logits,
                                                                                      i.correct),
                                       conditions=(vf.SOME_WRONG, SEPARATED))),
    ),
)
