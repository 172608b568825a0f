r"""Unlikeliness reward (arXiv 2506.02355): of the right answers the likelier are worth less.

The reward R becomes :math:`R (1 - \beta \operatorname{rank})`, where rank is the share of less likely
answers. It is meant against "distribution sharpening", to up-weight "rare but correct solutions". At
one state it adds :math:`\beta \sum_{A^*} \pi_a g_a (c_a - C)` to the rate of entropy, with
:math:`g_a = P(z < z_a)`, :math:`c_a = \pi_a (\log \pi_a + H)` and :math:`C = \mathbb E c`.

This is not negative if every right answer is at least as likely as every wrong one, and so at
solved prompts. There plain policy gradient lowers entropy, and the penalty holds against it. It can
be negative where the right answers are the less likely ones. There policy gradient raises entropy,
and the penalty takes from that.

The proof takes the level g0 of g at which :math:`c - C` changes sign. Then no term of
:math:`\sum_{A^*} \pi (g - g_0)(c - C)` is negative.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import excess
from entropy_theory.claims.extensions.loss_coefficient import expected_step, moves_entropy
from entropy_theory.claims.later_work.entrocraft import correct_above
from entropy_theory.verification import arithmetic as ar


@vf.definition
def less_likely(logits: ar.Reals) -> ar.Reals:
    """g_a, the probability of an answer that is less likely than a."""
    policy = ar.softmax(logits)
    below = ar.less(logits[..., None, :], logits[..., :, None])
    return ar.total(np.where(below, policy[..., None, :], 0 * policy[..., None, :]))


@vf.definition
def penalty(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """The part of the reward that is taken away per unit of beta: g_a on right answers."""
    return np.where(correct, less_likely(logits), 0 * logits)


@vf.definition
def gained(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """The rate of entropy per unit of beta: sum over right answers of pi_a g_a (c_a - C)."""
    return ar.total(ar.softmax(logits) * less_likely(logits) * excess(logits), correct)


unlikeliness = vf.Claim(
    id="later-work.unlikeliness",
    source="Unlikeliness reward (arXiv 2506.02355)",
    reading=vf.Reading(
        "precise", "Explicitly up-weighting rare but correct solutions",
        "as quoted elsewhere; the penalty is that of the public code"),
    title="The unlikeliness penalty on right answers never lowers the rate of entropy",
    scope="one tabular state, rewards 0 and 1, on-policy, exact expectation, first order; judged: the "
          "public code",
    statement=vf.Statement(
        latex=r"$R(1-\beta g)$ on right answers, $\beta>0$ and $g_a=P(z<z_a)$, has at least the rate of "
              r"entropy that $R$ has.",
        margin=lambda i: gained(i.logits, i.correct),
    ),
    instances=vf.bandit_instances(),
    repair=vf.Statement(
        latex=r"It has if every right answer is at least as likely as every wrong one.",
        margin=lambda i: gained(i.logits, i.correct),
        conditions=(vf.Condition(
            latex="no wrong answer is likelier than a right one",
            value=lambda i: np.where(
                np.all(i.correct, axis=-1), 0 * ar.total(i.logits),
                correct_above(i.logits, i.correct)), relation=">="),),
        beyond=lambda i: (moves_entropy(
            i.logits, -expected_step(i.logits, penalty(i.logits, i.correct)),
            gained(i.logits, i.correct)),),
    ),
    repair_is="hypothesis",
    repair_note="hypothesis: no wrong answer is likelier than a right one",
    mutants=(
        vf.mutant("right answers the less likely ones", conditions=(vf.Condition(
            latex="no right answer is likelier than a wrong one",
            value=lambda i: -ar.largest(i.logits, i.correct) + ar.smallest(i.logits, ~i.correct),
            relation=">="),)),
    ),
)
