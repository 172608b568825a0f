r"""Entropy Mechanism: "all update steps have positive average covariance", and so entropy falls.

The first half of the sentence is an observation on trained language models, not a theorem. At one state
both covariances are negative for an open set of policies, for every n. If every right answer is less
likely than :math:`e^{-H}` (a hard prompt), the covariance is negative and the step raises entropy. With
two right answers, a success probability above 1/2 does not help. A right answer that is strictly the
likeliest does not help either.

For a binary reward there is an exact rule. With :math:`c = \pi (\log \pi + H)` entropy falls

.. math::

    \text{under the plain policy gradient}\quad \text{ exactly if}\quad \mathbb E[c|A^*] >
    \mathbb E[c|\text{wrong}],

    \text{under the natural policy gradient}\quad \text{ exactly if}\quad \mathbb E[\log \pi|A^*] >
    \mathbb E[\log \pi|\text{wrong}].

Repair, for any reward: both covariances are positive if the reward is ordered like the policy. So
they are if one answer is right and it is the likeliest. They also are if every right answer is at
least as likely as every wrong one.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.sign_rules import (
    BANDITS,
    NOT_CONSTANT,
    NOT_UNIFORM,
    ORDERED,
    as_printed,
    expected_reward,
    is_the_fall,
    natural_covariance,
    plain_covariance,
)
from entropy_theory.verification import arithmetic as ar

REPAIR_NOTE = ("hypothesis: the reward is ordered like the policy (such as one right answer, the "
               "likeliest); in general the sign is that of the sign rule")
MOSTLY_RIGHT = vf.Condition(latex="E r > 1/2", value=lambda i: 2 * expected_reward(i) - 1)
LIKELIEST_IS_BEST = vf.Condition(
    latex="the strictly likeliest action has the largest reward",
    value=lambda i: _likeliest_is_best(i),
)


def _likeliest_is_best(i: vf.Cases) -> ar.Mask:
    top = ar.is_likeliest(i.logits)
    ahead = ar.largest(i.logits) - ar.largest(i.logits, ~top) - ar.constant(1, i.logits) / 1000
    best = ar.total(i.reward, top) - ar.largest(i.reward)
    return ar.less(0 * ahead, ahead) & ~ar.less(best, 0 * best)


def _plain(i: vf.Cases) -> ar.Reals:
    return plain_covariance(i.logits, i.reward)


def _natural(i: vf.Cases) -> ar.Reals:
    return natural_covariance(i.logits, i.reward)


covariance_positive = vf.Claim(
    id="entropy-mechanism.covariance-positive",
    source="Entropy Mechanism, lessons from the entropy dynamics (Table 1)",
    reading=vf.Reading(
        "inferred", "All update steps have positive average covariance (100%)",
        "slide 'Lessons learned from entropy dynamics analysis', of a run: an observation, no law"),
    title="The covariance of policy gradient is positive, so entropy falls (any tabular state)",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=vf.Statement(
        latex=r"$\mathrm{Cov}_\pi(\log\pi, \pi A) \ge 0$: vanilla policy gradient does not raise "
              r"entropy.",
        margin=_plain,
    ),
    instances=BANDITS,
    repair=vf.Statement(
        latex=r"$\mathrm{Cov}_\pi(\log\pi, \pi A) > 0$ for a reward that is ordered like the policy.",
        margin=_plain, relation=">", conditions=ORDERED,
        beyond=lambda i: (
            as_printed(i.logits, i.reward, "plain"), is_the_fall(i.logits, i.reward, "plain")),
    ),
    repair_is="hypothesis",
    repair_note=REPAIR_NOTE,
    mutants=(
        vf.mutant("E r > 1/2 instead", conditions=(MOSTLY_RIGHT, NOT_UNIFORM, NOT_CONSTANT)),
        vf.mutant("the strictly likeliest action is best, the others in any order",
                  conditions=(LIKELIEST_IS_BEST, NOT_UNIFORM, NOT_CONSTANT)),
    ),
)

covariance_positive_npg = vf.Claim(
    id="entropy-mechanism.covariance-positive-npg",
    source="Entropy Mechanism, lessons from the entropy dynamics (Table 1), with Theorem 2",
    reading=vf.Reading(
        "inferred", "All update steps have positive average covariance (100%)",
        "slide 'Lessons learned from entropy dynamics analysis', of a run: an observation, no law"),
    title="The covariance of natural policy gradient is positive, so entropy falls (any tabular state)",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=vf.Statement(
        latex=r"$\mathrm{Cov}_\pi(\log\pi, A) \ge 0$: natural policy gradient does not raise entropy.",
        margin=_natural,
    ),
    instances=BANDITS,
    repair=vf.Statement(
        latex=r"$\mathrm{Cov}_\pi(\log\pi, A) > 0$ for a reward that is ordered like the policy.",
        margin=_natural, relation=">", conditions=ORDERED,
        beyond=lambda i: (as_printed(i.logits, i.reward, "natural"),
                          is_the_fall(i.logits, i.reward, "natural")),
    ),
    repair_is="hypothesis",
    repair_note=REPAIR_NOTE,
)
