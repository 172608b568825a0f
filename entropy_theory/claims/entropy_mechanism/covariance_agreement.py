r"""Entropy Mechanism, Theorems 1 and 2 side by side: do the two covariances agree in sign?

The slides draw one picture for two rules. Theorem 1 has :math:`\operatorname{Cov}(\log \pi, \pi A)` for
the policy gradient, and Theorem 2 :math:`\operatorname{Cov}(\log \pi, A)` for the natural policy
gradient. Tokens are selected by :math:`(\log \pi - \operatorname{mean})(A - \operatorname{mean})`.
Averaged over tokens drawn from the policy at one state, this product is the covariance of Theorem 2,
whatever rule is trained.

The two can have opposite signs. So the product may announce a fall where the plain policy gradient
raises entropy. The smallest examples with one right answer are weights (1, 1, 2, 3) with
:math:`A^* = \{3\}`, and for three actions (1, 4, 5) with :math:`A^* = \{2\}`. With graded rewards (1,
2, 4) suffices.

With one right answer :math:`a^*` they disagree exactly if :math:`0 < c^* < C`, where
:math:`c^* = \pi^* (\log \pi^* + H)` and C is the mean of c over the policy. Then :math:`a^*` is
likelier than :math:`e^{-H}`, but not by enough. The natural gradient lowers entropy and the plain
gradient raises it. The reverse cannot happen.

Repair: they agree, strictly, if the reward is ordered like the policy or in the opposite order.
This covers two actions, and one right answer that is the likeliest or the least likely.
"""

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.sign_rules import (
    BANDITS,
    NOT_CONSTANT,
    NOT_UNIFORM,
    expected_reward,
    natural_covariance,
    ordered,
    pair_products,
    plain_covariance,
)
from entropy_theory.verification import arithmetic as ar


def _agreement(i: vf.Cases) -> ar.Reals:
    """Above zero where both covariances are positive or both negative; zero where one vanishes."""
    plain = plain_covariance(i.logits, i.reward)
    natural = natural_covariance(i.logits, i.reward)
    return ar.maximum(ar.minimum(plain, natural), ar.minimum(-plain, -natural))


ORDERED_EITHER_WAY = vf.Condition(
    latex="the reward is ordered like the policy, or in the opposite order",
    value=lambda i: ar.maximum(ordered(pair_products(i)), ordered(-pair_products(i))),
    relation=">=",
)

covariance_agreement = vf.Claim(
    id="entropy-mechanism.covariance-agreement",
    source="Entropy Mechanism, Theorems 1 and 2, and the code of Clip-Cov and KL-Cov",
    title="The covariances of plain and natural policy gradient agree in sign",
    scope="one tabular state, exact expectation",
    statement=vf.Statement(
        latex=r"$\mathrm{Cov}_\pi(\log\pi, \pi A)$ and $\mathrm{Cov}_\pi(\log\pi, A)$ never have "
              r"opposite signs.",
        margin=_agreement,
    ),
    instances=BANDITS,
    witnesses=(
        {"weights": [1, 4, 5], "reward": [0, 1, 0]},
        {"weights": [1, 1, 2, 3], "reward": [0, 0, 1, 0]},
    ),
    repair=vf.Statement(
        latex=r"$\mathrm{Cov}_\pi(\log\pi, \pi A)$ and $\mathrm{Cov}_\pi(\log\pi, A)$ have the same "
              r"sign, not zero, if the reward is ordered like the policy or in the opposite order.",
        margin=_agreement,
        relation=">",
        conditions=(ORDERED_EITHER_WAY, NOT_UNIFORM, NOT_CONSTANT),
    ),
    repair_is="hypothesis",
    repair_note="hypothesis: the reward is ordered like the policy or in the opposite order",
    mutants=(
        vf.mutant("E r > 1/2 instead",
                  conditions=(
                      vf.Condition(latex="E r > 1/2", value=lambda i: 2 * expected_reward(i) - 1),
                      NOT_UNIFORM, NOT_CONSTANT)),
    ),
)
