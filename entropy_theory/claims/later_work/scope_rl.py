r"""SCOPE-RL (arXiv 2510.08141, the present text of AEPO's number): positive against negative
samples.

The text that the number had before is AEPO, and has its own source of claims. The present one has a
temperature-sign asymmetry. Drawn at a high temperature, positive samples promote entropy growth and
negative ones accelerate collapse. Its theorem is for the regime in which entropy falls.

The positive half is `aepo.corollary-4.4-high`. For the negative half at one state, the rate of
negatives drawn at T with score -1 is

.. math::

    F_-(T) = \sum_{\text{wrong}} \pi^T_a (c_a - C),\quad F_-(1) = F(1).

Here :math:`c_a = \pi_a (\log \pi_a + H)` and :math:`C = \mathbb E_\pi c`. The rate should be at most
F-(1) for :math:`T > 1`. Where entropy falls, :math:`F(1) < 0`, this is not so. Where entropy does not
fall it is so. The ratio :math:`r = \pi^T/\pi` falls with z, and z+ is the crossing of :math:`c - C`.
Then no term of :math:`\sum_{\text{wrong}} \pi (r - r(z_+))(c - C)` is positive, and
:math:`r(z_+) \le r(\mathbb E z) \le 1` by Jensen. So each half of the asymmetry has its own regime, and
they meet at :math:`F(1) = 0` alone.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import (
    ENTROPY_FALLS,
    HIGH_TEMPERATURE,
    excess,
    rate,
)
from entropy_theory.claims.extensions.loss_coefficient import moves_entropy
from entropy_theory.claims.later_work.entrocraft import negatives_only
from entropy_theory.verification import arithmetic as ar


@vf.definition
def rate_of_hot_negatives(
    logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals | None = None
) -> ar.Reals:
    """F-(T) = sum_{wrong} pi^T_a (c_a - C); F-(1) without a temperature."""
    return ar.total(ar.softmax(logits, temperature) * excess(logits), ~correct)


def _accelerated(i: vf.Cases) -> ar.Reals:
    return (rate_of_hot_negatives(i.logits, i.correct)
            - rate_of_hot_negatives(i.logits, i.correct, i.temperature))


scope_rl_negatives = vf.Claim(
    id="later-work.scope-rl-negatives",
    source="SCOPE-RL (arXiv 2510.08141v7; before: AEPO), the temperature-sign asymmetry",
    reading=vf.Reading(
        "precise",
        "high-temperature positive samples promote entropy growth, whereas negative samples suppress it",
        "abstract; entropy falls in Theorem 1, as a summary tells, and its text is not at hand"),
    title="While entropy falls, hotter negative samples lower it faster",
    scope="one tabular state, rewards 0 and 1, exact expectation, first order; judged: the abstract's "
          "sentence, made precise",
    statement=vf.Statement(
        latex=r"If $F(1)<0$ then $F_-(T)\le F_-(1)$ for $T>1$, $F_-(T)=\sum_{wrong}\pi^T_a(c_a-C)$.",
        margin=_accelerated,
        conditions=(vf.SOME_WRONG, ENTROPY_FALLS),
    ),
    instances=vf.bandit_instances(HIGH_TEMPERATURE),
    repair=vf.Statement(
        latex=r"If $F(1)\ge0$ then $F_-(T)\le F_-(1)$ for $T>1$: hotter negatives raise entropy no more.",
        margin=_accelerated,
        conditions=(vf.SOME_WRONG, vf.Condition(
            latex=r"$F(1)\ge0$ (entropy does not fall at $T=1$)",
            value=lambda i: rate(i.logits, i.correct), relation=">=")),
        beyond=lambda i: (moves_entropy(
            i.logits, negatives_only(i.logits, i.correct),
            rate_of_hot_negatives(i.logits, i.correct)),),
    ),
    repair_note="where entropy does not fall, in place of where it falls",
    mutants=(
        vf.mutant("whatever entropy does", conditions=(vf.SOME_WRONG,)),
    ),
)
