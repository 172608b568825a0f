r"""Entropy Mechanism, Figure 10: a KL penalty towards a reference policy controls entropy "at the cost of
performance drop".

The figure is a measurement on language models. What the objective itself says is exact: at one state
with 0/1 rewards the maximizer of E R - beta KL(pi || pi_ref) is pi_ref e^{R/beta}, renormalized, so
with p the reference's probability of a right answer its performance is

    p e^{1/beta}/(p e^{1/beta} + 1 - p),      1 - performance = (1 - p)/(p e^{1/beta} + 1 - p) > 0:

strictly above the reference's and strictly below 1 for every beta > 0, if some action is wrong (p < 1):
at least the share e^{-1/beta} of the reference's failures stays. Without the penalty 1 is approached. So
the cost is built in, and it is large where the reference is weak: p = 1/100 and beta = 1/4 give 0.36.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from entropy_theory.verification import (
    Cases,
    Claim,
    Condition,
    Mutant,
    Reading,
    Scalar,
    Statement,
    Vector,
    bandit_instances,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.formula.definitions import definition
from entropy_theory.verification.formula.statement import ANY, POSITIVE

OTHER = Vector(name="other", low=-3.0, high=3.0, grid=(0, 1), range=ANY)
SOME_WRONG = Condition(latex="some action is wrong", value=lambda i: ~np.all(i.correct, axis=-1))
BETA = Scalar(name="beta", low=0.05, high=5.0, grid=(1, Fraction(1, 4)), range=POSITIVE)


@definition
def penalized_optimum(reference: Reals, correct: Mask, beta: Reals) -> Reals:
    """Logits of the reference plus R/beta."""
    one = 0 * reference + ar.constant(1, like=reference)
    return reference + np.where(correct, one, 0 * one) / ar.per_action(beta)


@definition
def penalized(logits: Reals, reference: Reals, correct: Mask, beta: Reals) -> Reals:
    """E R - beta KL(pi || pi_ref) of the policy with these logits."""
    policy = ar.softmax(logits)
    divergence = ar.mean(policy, ar.log_softmax(logits) - ar.log_softmax(reference))
    return ar.total(policy, correct) - beta * divergence


def _loss_of_another(i: Cases, best: Reals) -> Reals:
    """How far another policy's objective is below that of the policy with these logits."""
    of = (i.logits, i.correct, i.beta)
    return penalized(best, *of) - penalized(i.other, *of)


def _optimum(i: Cases) -> Reals:
    return penalized_optimum(i.logits, i.correct, i.beta)


def _failures(i: Cases) -> tuple[Reals, Reals]:
    """Probability of a wrong answer: of the optimum, of the reference."""
    return ar.total(ar.softmax(_optimum(i)), ~i.correct), ar.total(ar.softmax(i.logits), ~i.correct)


def _conclusions(i: Cases) -> Reals:
    """What another policy falls short by, the failures that the penalty costs, those that are saved."""
    failures, of_reference = _failures(i)
    return np.stack([
        _loss_of_another(i, _optimum(i)),
        failures - np.exp(-1 / i.beta) * of_reference,
        of_reference - failures,
    ], axis=-1)


_statement = Statement(
    latex=r"For every $\beta > 0$ no policy has a larger $E R - \beta\,\mathrm{KL}(\pi\|\pi_{ref})$ than "
          r"softmax$(\log\pi_{ref} + R/\beta)$, and of the reference's failures this one keeps at least "
          r"$e^{-1/\beta} > 0$, and not all.",
    margin=_conclusions,
    conditions=(SOME_WRONG,),
    beyond=lambda i: (ar.less(0 * i.beta, _failures(i)[0]), ar.less(*_failures(i))),
)

reference_kl = Claim(
    id="entropy-mechanism.reference-kl",
    source="Entropy Mechanism, Figure 10 ('control entropy at the cost of performance drop')",
    reading=Reading(
        "precise", "Reference KL: control entropy at the cost of performance drop",
        "slide 'Can we directly use entropy regularization in RL?', of Figure 10"),
    title="A KL penalty towards a reference costs performance (one tabular state, exact optimum)",
    scope="one tabular state, rewards 0 and 1, optimum of the penalized objective",
    statement=_statement,
    instances=bandit_instances(BETA, vectors=(OTHER,)),
    mutants=(
        Mutant(name="the reference itself is optimal", statement=variant(
            _statement, margin=lambda i: _loss_of_another(i, i.logits))),
    ),
)
