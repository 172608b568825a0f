r"""Lemmas that AEPO's ablations share: without "positives only at T != 1" the right answers draw apart.

An expected step of ablation (2) or (3) moves the right answers by :math:`dz_a = x \pi_a + y \pi^T_a`,
with :math:`x = \eta \kappa (1 - p)` from GRPO and :math:`y \ge 0` from the extra term, and every wrong
logit down. So :math:`z_i \ge z_j` gives :math:`dz_i \ge dz_j` among the right answers: exactly, for any
temperature, weight and step size, their conditional distribution q = pi( . | A*) moves towards its
likeliest answers, and :math:`H(q)` never rises.
"""

from typing import Any

import numpy as np

from entropy_theory.claims.aepo.tempered_reinforce import unit_step
from entropy_theory.claims.extensions.entropy_ceiling import count, gap
from entropy_theory.claims.extensions.solved_face import conditional_entropy
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.formula.definitions import definition


def advantage_step(logits: Reals, correct: Mask, temperature: Reals) -> Reals:
    """The centered-reward step ``sum_a pi^T_a (1_{A*}(a) - P_T)(e_a - pi) = pi^T (1_{A*} - P_T)``.
    """
    tempered = ar.softmax(logits, temperature)
    # 1 - P_T is summed over the wrong answers, so that it keeps its digits near a solved state.
    right, wrong = ar.total(tempered, correct), ar.total(tempered, ~correct)
    return tempered * np.where(correct, ar.per_action(wrong), -ar.per_action(right))


@definition
def plain_step(logits: Reals, correct: Mask) -> Reals:
    """grad p = pi (1_{A*} - p): expected GRPO, and REINFORCE at T = 1, per unit weight."""
    pi = ar.softmax(logits)
    right, wrong = ar.total(pi, correct), ar.total(pi, ~correct)
    return pi * np.where(correct, ar.per_action(wrong), -ar.per_action(right))


@definition
def centered_reward_step(logits: Reals, correct: Mask, temperature: Reals) -> Reals:
    """The step on samples of pi^T with advantages: pi^T (1_{A*} - P_T)."""
    return advantage_step(logits, correct, temperature)


def conditional_entropy_fall(before: Reals, after: Reals, correct: Mask) -> Reals:
    """H(q) - H(q') on the right answers."""
    return conditional_entropy(before, correct) - conditional_entropy(after, correct)


def right_pairs(before: Reals, after: Reals, correct: Mask) -> Reals:
    """(z_i - z_j)(dz_i - dz_j) for pairs of right answers, 0 for other pairs."""
    step = after - before
    both = correct[..., :, None] & correct[..., None, :]
    products = ((before[..., :, None] - before[..., None, :])
                * (step[..., :, None] - step[..., None, :]))
    return np.where(both, products, 0 * products)


def draw_apart(before: Reals, after: Reals, correct: Mask) -> Reals:
    """Fall of H(q), pairs of right answers, and growth of Phi."""
    return np.stack([conditional_entropy_fall(before, after, correct),
                     right_pairs(before, after, correct),
                     gap(after, correct) - gap(before, correct)], axis=-1)


def log_of_likeliest(logits: Any, correct: Any) -> Any:
    """log k, with k the number of likeliest right answers."""
    ties = correct & ~ar.less(logits, ar.per_action(ar.largest(logits, correct)))
    return np.log(count(logits, ties))


def rewards_only(logits: Reals, correct: Mask, temperature: Reals) -> Reals:
    """AEPO's own term, R instead of the advantage."""
    return unit_step(logits, correct, temperature)
