r"""Extension: "the coefficients are algorithm-irrelevant" can be pure symmetry.

Start with equal logits among the m right and among the :math:`n - m` wrong answers of a prompt. Take an
algorithm that treats actions of a kind alike: permuting the logits of right actions, or of wrong ones,
permutes its expected update in the same way. In exact steps of any size it stays for ever on

.. math::

    H = h(R) + R \log m + (1 - R) \log(n - m),

the largest entropy that its performance allows, where h is the entropy of two outcomes. This is
exact. REINFORCE, GRPO, natural gradient, entropy bonus and tempered sampling are such algorithms.
On one curve they differ in speed alone.

Above :math:`R = m/n` the curve falls, :math:`dH/dR = \log(m (1 - R)/((n - m) R)) < 0`, so entropy
determines performance there. The curve is not a law :math:`R = -a e^H + b`
(`entropy-mechanism.performance-law`), and a start that is not symmetric leaves it.
"""

from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import TEMPERATURE, unit_step
from entropy_theory.claims.entropy_mechanism.one_right_answer import (
    failure,
    gradient_step,
    performance,
)
from entropy_theory.claims.extensions.entropy_range_at_reward import binary, widest
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import equal, for_every, implies


def symmetric_start(i: vf.Cases) -> ar.Reals:
    """One logit for the right and one for the wrong actions."""
    return two_logits(i.logits, i.correct)


@vf.definition
def two_logits(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """The first logit for the right actions and the second for the wrong ones."""
    return np.where(correct, ar.per_action(logits[..., 0]), ar.per_action(logits[..., 1]))


@vf.definition
def mixed_step(logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals, bonus: ar.Reals) -> ar.Reals:
    """REINFORCE, tempered REINFORCE and an entropy bonus together, per unit learning rate."""
    return (gradient_step(logits, correct) + unit_step(logits, correct, temperature)
            + ar.per_action(bonus) * ar.entropy_gradient(logits))


@vf.definition
def natural_step(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """The natural policy gradient per unit learning rate: 1_{A*} - R."""
    return np.where(correct, ar.per_action(failure(logits, correct)),
                    -ar.per_action(performance(logits, correct)))


def _trained(i: vf.Cases, logits: ar.Reals, uneven: bool = False) -> ar.Reals:
    """Logits after a mixed step (REINFORCE, tempered REINFORCE, entropy bonus) and a natural one."""
    rate = ar.per_action(i.learning_rate)
    after = logits + rate * mixed_step(logits, i.correct, i.temperature, i.bonus)
    natural = natural_step(after, i.correct)
    if uneven:
        natural = natural * np.arange(1, logits.shape[-1] + 1)
    return after + rate * natural


@vf.definition
def off_the_curve(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """H minus the largest entropy that the performance allows."""
    spread = binary(performance(logits, correct), failure(logits, correct)) + widest(logits, correct)
    return ar.entropy(logits) - spread


def _off_the_curve(i: vf.Cases, logits: ar.Reals) -> ar.Reals:
    return off_the_curve(logits, i.correct)


def _every_such_policy(i: Any) -> tuple[vf.Term, ...]:
    """Any policy with equal logits among the right and among the wrong actions is on the curve."""
    right = i.correct
    one, other = right[..., :, None], right[..., None, :]
    of_a_kind = (one & other) | (~one & ~other)

    def on_the_curve(policy: vf.Term) -> vf.Term:
        alike = ~of_a_kind | equal(policy[..., :, None], policy[..., None, :])
        return implies(alike, equal(off_the_curve(policy, right), 0))

    return (for_every("policy", (vf.ACTIONS,), on_the_curve),)


symmetric_curve = vf.Claim(
    id="extension.symmetric-curve",
    source="Extension of Entropy Mechanism, 'algorithm-irrelevant'",
    title="From a symmetric start policy gradient, tempered REINFORCE, entropy bonus and natural "
          "gradient share one R-H curve",
    scope="one tabular state, exact expectation, along 2 steps of any size",
    statement=vf.Statement(
        latex=r"Policies with equal logits among the right and among the wrong answers are on "
              r"$H = h(R) + R\log m + (1-R)\log(n-m)$, and an exact step that mixes policy gradient, "
              r"tempered REINFORCE and entropy bonus and one of the natural gradient stay there.",
        margin=lambda i: _off_the_curve(i, _trained(i, symmetric_start(i))),
        relation="==",
        conditions=(vf.SOME_WRONG,),
        beyond=_every_such_policy,
    ),
    instances=vf.bandit_instances(
        vf.Scalar(name="learning_rate", low=0.05, high=4.0, grid=(1,), range=vf.POSITIVE),
        TEMPERATURE,
        vf.Scalar(name="bonus", low=0.01, high=4.0, grid=(1,), range=vf.POSITIVE),
        actions=(2, 6),
    ),
    mutants=(
        vf.mutant("an update that tells actions of a kind apart",
                  margin=lambda i: _off_the_curve(i, _trained(i, symmetric_start(i), uneven=True))),
    ),
)
