"""Advantage estimators: from the rewards of a batch to one number a sequence.

Each takes the batch and the rows to compute over (ordinary or tempered ones; prompts are never
mixed across the two) and returns [..., sequences, positions], the sequence's advantage repeated
over its tokens. Groups are prompts (``group``); within a group the mean counts sequences by their
``weight``, so that equally weighted samples and an exact listing of a state's actions are the same
computation. All but `reward` raise ValueError where a reward or a prompt varies within a sequence.

Rewards that differ by rounding alone count as equal, everywhere (`entropy_theory.rounding`): an advantage
that is rounding alone is 0.
"""

from entropy_theory.advantages.estimators import (
    ESTIMATORS,
    batch_normalized,
    check_listing,
    equal_reward_groups,
    expected_group_normalized,
    group_centered,
    group_centered_batch_normalized,
    group_largest,
    group_mean,
    group_normalization_gain,
    group_normalized,
    leave_one_out,
    overlong_penalty,
    reward,
    right_answers,
    without_signal,
)

__all__ = [
    "ESTIMATORS",
    "batch_normalized",
    "check_listing",
    "equal_reward_groups",
    "expected_group_normalized",
    "group_centered",
    "group_centered_batch_normalized",
    "group_largest",
    "group_mean",
    "group_normalization_gain",
    "group_normalized",
    "leave_one_out",
    "overlong_penalty",
    "reward",
    "right_answers",
    "without_signal",
]
