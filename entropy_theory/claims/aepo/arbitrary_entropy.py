r"""AEPO's title: entropy can be held at an arbitrary value. False for one tabular state.

It is read for every start z in :math:`R^n`, correct set :math:`A^*` and target :math:`H^*` in (0, log
n), under exact expected updates. AEPO's switch uses :math:`T = 1.2` while :math:`H < H^*` and
:math:`T = 0.8` otherwise, with :math:`\alpha = 1` and GRPO weight 1. The statement is that it keeps the
entropy of the policy within 10 % of :math:`H^*` in the long run.

It fails. After a finite exact run the ceiling of `extension.entropy-ceiling` bounds every later
entropy, and it lies below the target. No continuation can come back, with whatever temperatures. In
general no target above :math:`\log|A^*|` can be held. With a single right answer, none can be held at
all.
"""

from fractions import Fraction

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.entropy_ceiling import after_step, ceiling
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula import limits

STEPS = 16


@vf.definition
def switched_step(
    logits: ar.Reals, correct: ar.Mask, target: ar.Reals, learning_rate: ar.Reals
) -> ar.Reals:
    """Logits after a step under AEPO's temperature switch: T = 1.2 below the target, else 0.8."""
    one = 0 * target + ar.constant(1, like=target)
    temperature = np.where(ar.less(ar.entropy(logits), target), 6 * one / 5, 4 * one / 5)
    return after_step(logits, correct, temperature, one, learning_rate)


def _after_run(i: vf.Cases) -> ar.Reals:
    """Logits after the run."""
    logits: ar.Reals = limits.run(
        lambda k, z: switched_step(z, i.correct, i.target, i.learning_rate), i.logits, STEPS)
    return logits


def _best_future(i: vf.Cases) -> ar.Reals:
    """Highest entropy that any continuation can reach, minus nine tenths of the target."""
    return ceiling(_after_run(i), i.correct) - 9 * i.target / 10


def _log_actions(i: vf.Cases) -> ar.Real:
    return ar.log_of(i.logits.shape[-1], like=i.logits)


_statement = vf.Statement(
    latex=r"AEPO's temperature switch holds the policy entropy within 10 % of any target "
          r"$\mathcal H \in (0, \log n)$; judged by the ceiling of all entropies after 16 steps, which "
          r"has to reach nine tenths of the target.",
    margin=_best_future,
    conditions=(
        vf.Condition(latex=r"$\mathcal H < \log n$", value=lambda i: _log_actions(i) - i.target),
        vf.SOME_WRONG,
    ),
)

_low_target = vf.Condition(
    latex="the target is at most 0.9 log m",
    value=lambda i: 9 * np.log(ar.total(
        0 * i.logits + ar.constant(1, like=i.logits), i.correct)) / 10 - i.target,
)

arbitrary_entropy = vf.Claim(
    id="aepo.arbitrary-entropy",
    source="AEPO, title and Section 4.2",
    reading=vf.Reading(
        "inferred", "which can stabilize entropy at arbitrary target levels",
        "Section 1, contributions; every start, the 16 steps and the 10 % are ours"),
    title="Entropy can be held at an arbitrary value: one tabular state, one token, exact expectation",
    scope="one tabular state, entropy of one token, exact expectation, the long run after 16 steps",
    statement=_statement,
    instances=vf.bandit_instances(
        vf.Scalar(name="target", low=0.05, high=2.0, grid=(Fraction(1, 2), 1), range=vf.POSITIVE),
        vf.Scalar(name="learning_rate", low=1.0, high=8.0, grid=(1, 4), range=vf.POSITIVE),
        actions=(2, 5),
    ),
    mutants=(
        vf.mutant("targets below log m are excluded too", margin=lambda i: -_best_future(i),
                  conditions=(*_statement.conditions, _low_target)),
    ),
)
