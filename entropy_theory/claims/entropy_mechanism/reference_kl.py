r"""Entropy Mechanism, Figure 10: a KL penalty towards a reference policy controls entropy "at the
cost of performance drop".

The figure is a measurement on language models. The objective itself has an exact answer at one state
with 0/1 rewards. The maximizer of :math:`\mathbb E R - \beta \operatorname{KL}(\pi \|
\pi_{\text{ref}})` is :math:`\pi_{\text{ref}} e^{R/\beta}`, renormalized. With p the reference's
probability of a right answer, its performance is

.. math::

    p e^{1/\beta}/(p e^{1/\beta} + 1 - p),\quad 1 - \text{ performance } = (1 - p)/(p e^{1/\beta} + 1 -
    p) > 0.

If some action is wrong (:math:`p < 1`), this is strictly above the reference's and strictly below 1 for
every :math:`\beta > 0`. At least the share :math:`e^{-1/\beta}` of the reference's failures stays.
Without the penalty, performance approaches 1. So the cost is built in, and it is large where the
reference is weak. For :math:`p = 1/100` and :math:`\beta = 1/4` performance is 0.36.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar

OTHER = vf.Vector(name="other", low=-3.0, high=3.0, grid=(0, 1), range=vf.ANY)
BETA = vf.Scalar(name="beta", low=0.05, high=5.0, grid=(1, Fraction(1, 4)), range=vf.POSITIVE)


@vf.definition
def penalized_optimum(reference: ar.Reals, correct: ar.Mask, beta: ar.Reals) -> ar.Reals:
    """Logits of the reference plus R/beta."""
    one = 0 * reference + ar.constant(1, like=reference)
    return reference + np.where(correct, one, 0 * one) / ar.per_action(beta)


@vf.definition
def penalized(logits: ar.Reals, reference: ar.Reals, correct: ar.Mask, beta: ar.Reals) -> ar.Reals:
    """E R - beta KL(pi || pi_ref) of the policy with these logits."""
    policy = ar.softmax(logits)
    divergence = ar.mean(policy, ar.log_softmax(logits) - ar.log_softmax(reference))
    return ar.total(policy, correct) - beta * divergence


def _loss_of_another(i: vf.Cases, best: ar.Reals) -> ar.Reals:
    """How far another policy's objective is below that of the policy with these logits."""
    of = (i.logits, i.correct, i.beta)
    return penalized(best, *of) - penalized(i.other, *of)


def _optimum(i: vf.Cases) -> ar.Reals:
    return penalized_optimum(i.logits, i.correct, i.beta)


def _failures(i: vf.Cases) -> tuple[ar.Reals, ar.Reals]:
    """Probability of a wrong answer: of the optimum, of the reference."""
    return ar.total(ar.softmax(_optimum(i)), ~i.correct), ar.total(ar.softmax(i.logits), ~i.correct)


def _conclusions(i: vf.Cases) -> ar.Reals:
    """The shortfall of another policy, and the failures that the penalty costs and saves."""
    failures, of_reference = _failures(i)
    return np.stack([
        _loss_of_another(i, _optimum(i)),
        failures - np.exp(-1 / i.beta) * of_reference,
        of_reference - failures,
    ], axis=-1)


reference_kl = vf.Claim(
    id="entropy-mechanism.reference-kl",
    source="Entropy Mechanism, Figure 10 ('control entropy at the cost of performance drop')",
    reading=vf.Reading(
        "inferred", "Reference KL: control entropy at the cost of performance drop",
        "slide 'Can we directly use entropy regularization in RL?', of the runs of Figure 10: an "
        "observation, no law"),
    title="A KL penalty towards a reference costs performance (one tabular state, exact optimum)",
    scope="one tabular state, rewards 0 and 1, optimum of the penalized objective",
    statement=vf.Statement(
        latex=r"For every $\beta > 0$ no softmax policy has a larger $E R - "
              r"\beta\,\mathrm{KL}(\pi\|\pi_{ref})$ than softmax$(\log\pi_{ref} + R/\beta)$, and of the "
              r"reference's failures this one keeps at least $e^{-1/\beta} > 0$, and not all.",
        margin=_conclusions,
        conditions=(vf.SOME_WRONG,),
        beyond=lambda i: (ar.less(0 * i.beta, _failures(i)[0]), ar.less(*_failures(i))),
    ),
    instances=vf.bandit_instances(BETA, vectors=(OTHER,)),
    mutants=(
        vf.mutant("the reference itself is optimal", margin=lambda i: _loss_of_another(i, i.logits)),
    ),
)
