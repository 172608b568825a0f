r"""With rewards 0 and 1, advantages that depend on the reward alone differ in speed alone.

Let a coefficient depend on the answer's reward alone, a on right answers and -b on wrong ones. Its
expected step is :math:`(a + b) d_+`, where :math:`d_+ = 1_{A^*} \pi - p \pi`. So estimators of
advantages differ in the speed :math:`a + b`, and not in direction. The sign of dH is that of
:math:`-\sum_{A^*} \pi_a (c_a - C)`, with :math:`c_a = \pi_a (\log \pi_a + H)` and
:math:`C = \mathbb E c`.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.token_contributions import first_order
from entropy_theory.claims.extensions.loss_coefficient import expected_step, moves_entropy
from entropy_theory.claims.later_work.entrocraft import positives_only, rate_of_positives
from entropy_theory.verification import arithmetic as ar

RIGHT = vf.Scalar(name="right", low=0.05, high=5.0, grid=(1,), range=vf.Range(low=0))
WRONG = vf.Scalar(name="wrong", low=0.05, high=5.0, grid=(1,), range=vf.Range(low=0))


@vf.definition
def by_reward(correct: ar.Mask, right: ar.Reals, wrong: ar.Reals) -> ar.Reals:
    """The advantage a of right answers, and -b of wrong ones."""
    return np.where(correct, ar.per_action(right), -ar.per_action(wrong))


def _along_one_line(i: vf.Cases, size: ar.Reals) -> ar.Reals:
    """The step and its rate, minus this times those of positives."""
    step = expected_step(i.logits, by_reward(i.correct, i.right, i.wrong))
    return np.concatenate([
        step - ar.per_action(size) * positives_only(i.logits, i.correct),
        ar.per_action(first_order(i.logits, step)
                      - size * rate_of_positives(i.logits, i.correct))], axis=-1)


loss_binary_rewards = vf.Claim(
    id="extension.loss-binary-rewards",
    source="ours: GRPO, RLOO, Dr. GRPO, OPO, QAE, W-REINFORCE, NSR, GPG, difficulty weights and pass@k",
    title="With rewards 0 and 1 advantages that depend on the reward alone differ in speed alone",
    scope="one tabular state, rewards 0 and 1, advantages that depend on the reward alone, on-policy, "
          "exact expectation",
    statement=vf.Statement(
        latex=r"Advantage $a\ge0$ on right answers and $-b\le0$ on wrong ones: the expected step is "
              r"$(a+b)$ times that of positives alone, and so is the rate of entropy.",
        margin=lambda i: _along_one_line(i, i.right + i.wrong),
        relation="==",
        beyond=lambda i: (moves_entropy(
            i.logits, expected_step(i.logits, by_reward(i.correct, i.right, i.wrong)),
            (i.right + i.wrong) * rate_of_positives(i.logits, i.correct)),),
    ),
    instances=vf.bandit_instances(RIGHT, WRONG),
    mutants=(
        vf.mutant("a - b in place of a + b", margin=lambda i: _along_one_line(i, i.right - i.wrong)),
    ),
)
