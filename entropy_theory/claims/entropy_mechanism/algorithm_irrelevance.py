"""Entropy Mechanism: the coefficients of the R-H law are algorithm-irrelevant.

It is read without the law. From the same start, two algorithms that have reached the same performance R
have the same entropy. Here these are one exact policy-gradient step and the natural policy gradient.
With 0/1 rewards the natural one adds t to the right logits. This multiplies the odds :math:`R/(1 - R)`
by :math:`e^t` and changes neither conditional distribution. So the t that meets a given performance is
known in closed form. The statement fails, since the policy gradient changes the conditional
distributions too.

The repair is exact. From a start with equal logits among the right and among the wrong answers, both
have the same entropy. Every permutation-equivariant algorithm then stays on one curve
(`extension.symmetric-curve`). So agreement of algorithms from such starts is not evidence about
learning.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.one_right_answer import (
    failure,
    gradient_step,
    performance,
)
from entropy_theory.claims.extensions.symmetric_curve import symmetric_start
from entropy_theory.verification import arithmetic as ar


def _log_odds(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    return np.log(performance(logits, correct)) - np.log(failure(logits, correct))


def after_policy_gradient(i: vf.Cases, start: ar.Reals) -> ar.Reals:
    """Logits after one exact step."""
    return start + ar.per_action(i.learning_rate) * gradient_step(start, i.correct)


def natural_at_same_performance(i: vf.Cases, start: ar.Reals, target: ar.Reals) -> ar.Reals:
    """Logits of the natural policy gradient from ``start`` when its performance is that of ``target``."""
    time = ar.per_action(_log_odds(target, i.correct) - _log_odds(start, i.correct))
    return start + np.where(i.correct, time, 0 * time)


def _entropy_gap(i: vf.Cases, start: ar.Reals) -> ar.Reals:
    """H under the natural gradient minus H under the policy gradient, at the same performance."""
    target = after_policy_gradient(i, start)
    return ar.entropy(natural_at_same_performance(i, start, target)) - ar.entropy(target)


algorithm_irrelevance = vf.Claim(
    id="entropy-mechanism.algorithm-irrelevance",
    source="Entropy Mechanism, 'the coefficients are algorithm-irrelevant'",
    reading=vf.Reading(
        "inferred", "The coefficients are algorithm-irrelevant",
        "slide 'What affect the coefficients?', of fitted curves of language models; one state and these "
        "two algorithms are ours"),
    title="Two algorithms with the same performance have the same entropy",
    scope="one tabular state, exact expectation, two algorithms at equal performance",
    statement=vf.Statement(
        latex=r"From the same start, policy gradient and natural policy gradient have the same entropy "
              r"when they have the same performance.",
        margin=lambda i: _entropy_gap(i, i.logits),
        relation="==",
        conditions=(vf.SOME_WRONG,),
    ),
    repair=vf.Statement(
        latex="From a start with equal logits among the right and among the wrong answers, a step of "
              "policy gradient leads to the entropy of the natural policy gradient (all right logits "
              "moved alike) at the same performance.",
        margin=lambda i: _entropy_gap(i, symmetric_start(i)),
        relation="==",
        conditions=(vf.SOME_WRONG,),
    ),
    repair_note="the start is symmetric among right answers and among wrong ones",
    instances=vf.bandit_instances(
        vf.Scalar(name="learning_rate", low=0.05, high=8.0, grid=(1, Fraction(1, 2)),
                  range=vf.POSITIVE), actions=(2, 6)),
    mutants=(
        vf.mutant("symmetric among the right answers only",
                  margin=lambda i: _entropy_gap(i, np.where(i.correct, i.logits[..., :1], i.logits))),
    ),
)
