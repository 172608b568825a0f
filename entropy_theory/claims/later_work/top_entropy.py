r"""Top-entropy tokens, "80/20" (arXiv 2506.01939): whose entropy does policy gradient move?

The abstract: RLVR is "primarily adjusting the entropy of high-entropy tokens". The paper then trains on
the fifth of the tokens with the most entropy. Read for two states under the exact policy gradient of
one reward, the state of more entropy should move its entropy by at least as much.

It need not. At the uniform policy, which has the most, entropy does not move to first order. The
sentence is right about what the mask leaves out. Rewards in [0, 1] move a state's entropy by no more
than :math:`H^2` per unit learning rate. So a mask of states below H loses at most :math:`H^2` of each.

Proof: the rate is :math:`-\operatorname{Cov}_\pi(r, c)` with :math:`c_a = \pi_a (\log \pi_a + H)`, half
a sum over pairs of actions. Two c differ by at most 2 H, and :math:`\sum_{a \ne b} \pi_a \pi_b = \sum
\pi (1 - \pi) \le H`.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.sign_rules import is_the_fall, plain_covariance
from entropy_theory.claims.extensions.level_set_diverse_bonus import OTHER
from entropy_theory.verification import arithmetic as ar

REWARD = vf.Vector(name="reward", low=0.0, high=1.0, grid=(0, 1), range=vf.Range(low=0, high=1))


def _moves(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    return np.abs(plain_covariance(logits, reward))


def _within(i: vf.Cases, power: int = 2) -> ar.Reals:
    return ar.entropy(i.logits) ** power - _moves(i.logits, i.reward)


top_entropy = vf.Claim(
    id="later-work.top-entropy",
    source="Top-entropy tokens, 80/20 (arXiv 2506.01939)",
    reading=vf.Reading(
        "inferred", "primarily adjusting the entropy of high-entropy tokens", "abstract"),
    title="Of two states, policy gradient moves the entropy of the one that has more by at least as much",
    scope="two tabular states, one reward in [0, 1], on-policy, exact expectation, first order; judged: "
          "the abstract, made precise",
    statement=vf.Statement(
        latex=r"If $H(\pi_1)\ge H(\pi_2)$, then $|dH(\pi_1)/d\eta|\ge|dH(\pi_2)/d\eta|$.",
        margin=lambda i: _moves(i.logits, i.reward) - _moves(i.other, i.reward),
        conditions=(vf.Condition(
            latex=r"$H(\pi_1)\ge H(\pi_2)$", relation=">=",
            value=lambda i: ar.entropy(i.logits) - ar.entropy(i.other)),),
    ),
    instances=vf.bandit_instances(correct=False, vectors=(OTHER, REWARD)),
    repair=vf.Statement(
        latex=r"$|dH/d\eta|\le H^2$ at every state, for rewards in $[0,1]$.",
        margin=_within,
        beyond=lambda i: (is_the_fall(i.logits, i.reward, "plain"),),
    ),
    repair_is="correction",
    repair_note="the rate is at most $H^2$; the most entropy, of the uniform policy, does not move",
    mutants=(
        vf.mutant("at most H^3", margin=lambda i: _within(i, 3)),
    ),
)
