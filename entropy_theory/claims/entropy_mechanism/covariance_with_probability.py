r"""Entropy Mechanism, abstract: "the covariance between action probability and the change in
logits".

Lemma 1 has the covariance with the log-probability, :math:`\operatorname{Cov}_\pi(\log \pi, dz)`, and
entropy follows this one to first order. The abstract's words leave out the "log". They are read as a
statement that both have the same sign under the natural policy gradient, :math:`dz = \eta A`. There the
change in logits is the advantage, as the abstract goes on. They need not have it. With one right answer
:math:`a^*`

.. math::

    \operatorname{Cov}_\pi(\log \pi, A) > 0\quad \text{ iff}\quad \pi^* > e^{-H},\quad
    \operatorname{Cov}_\pi(\pi, A) > 0\quad \text{ iff}\quad \pi^* > \sum_a \pi_a^2.

Here :math:`e^{-H} \le \sum \pi^2`, since the entropy of order 2 is at most H. Between the two, entropy
falls while the covariance with the probability is negative.

It is true (exactly, for any number of actions) if the reward is ordered like the policy, or in the
opposite order. Then both have one sign, by Chebyshev's sum inequality.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.covariance_agreement import ORDERED_EITHER_WAY
from entropy_theory.claims.entropy_mechanism.sign_rules import BANDITS, natural_covariance
from entropy_theory.verification import arithmetic as ar


def _with_probability(i: vf.Cases) -> ar.Reals:
    """Cov_pi(pi, A)."""
    policy = ar.softmax(i.logits)
    return ar.covariance(policy, policy, i.reward)


def _with_log_probability(i: vf.Cases) -> ar.Reals:
    return natural_covariance(i.logits, i.reward)


def _one_sign(i: vf.Cases) -> ar.Reals:
    """At least zero where neither of the two is above and the other below zero."""
    a, b = _with_probability(i), _with_log_probability(i)
    return ar.maximum(ar.minimum(a, b), ar.minimum(-a, -b))


covariance_with_probability = vf.Claim(
    id="entropy-mechanism.covariance-with-probability",
    source="Entropy Mechanism, abstract ('covariance between action probability and the change in "
           "logits')",
    reading=vf.Reading(
        "inferred",
        "the change in policy entropy is driven by the covariance between action probability and the "
        "change in logits", "abstract, which does not compare it with the log-probability's"),
    title="The covariance with the probability has the sign of the one with the log-probability",
    scope="one tabular state, exact expectation",
    statement=vf.Statement(
        latex=r"$\mathrm{Cov}_\pi(\pi, A)$ and $\mathrm{Cov}_\pi(\log\pi, A)$ never have opposite signs.",
        margin=_one_sign,
    ),
    instances=BANDITS,
    # e^{-H} = 0.389 < pi* = 0.4 < sum pi^2 = 0.42.
    witnesses=({"weights": [1, 4, 5], "reward": [0, 1, 0]},),
    repair=vf.Statement(
        latex=r"They do not if the reward is ordered like the policy or in the opposite order.",
        margin=_one_sign,
        conditions=(ORDERED_EITHER_WAY,),
    ),
    repair_is="hypothesis",
    repair_note="hypothesis: the reward is ordered like the policy or in the opposite order",
)
