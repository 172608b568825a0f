"""The columns of `Trajectory` for the current policies of a block of runs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from entropy_theory.policy import entropy
from simulations.engine.block import pass_at, power
from simulations.engine.runs import Runs, sum_over_actions


class Columns:
    """Computes the columns of a block, without those of its controllers."""

    def __init__(self, block: Runs) -> None:
        self.block, self.correct = block, block.correct

    def now(self) -> dict[str, np.ndarray]:
        """Return the columns, each [runs, ...]; the block's policies are evaluated."""
        block, record = self.block, self.block.task.record
        p = block.probabilities
        reward = block.reward_by_prompt()
        log_p = block.log_probabilities()
        log_p += block.entropy[..., None]  # centered: its mean is 0
        weighted = block.advantage()
        weighted *= p
        covariance = block.by_prompt(sum_over_actions(weighted, log_p)[..., 0])
        weighted *= p
        covariance_pg = block.by_prompt(sum_over_actions(weighted, log_p)[..., 0])
        del log_p, weighted
        answers = block.answers()
        wrong = sum_over_actions(answers, self._incorrect)[..., 0]
        right, alike = self._right
        seen = 1 - power(1 - answers[..., right], record.distinct_of)
        within = block.answer_logits()[..., right]
        correct = self.correct[..., right]
        if not alike:
            seen *= correct
            within = np.where(correct > 0, within, -np.inf)
        return {
            "entropy": block.mean_entropy(),
            "reward": reward.mean(axis=-1),
            "entropy_within_correct": entropy(within).mean(axis=-1),
            "covariance": covariance.mean(axis=-1),
            "covariance_pg": covariance_pg.mean(axis=-1),
            "distinct_answers": seen.sum(axis=-1).mean(axis=-1),
            "response_length": block.response_length(),
            "pass_at_k": pass_at(wrong, record.pass_at),
            "entropy_by_state": block.by_prompt(block.entropy).copy(order="C"),
            "reward_by_state": reward.copy(order="C"),
            "covariance_by_state": covariance.copy(order="C"),
        }

    @cached_property
    def _incorrect(self) -> np.ndarray:
        return 1 - self.correct

    @cached_property
    def _right(self) -> tuple[Any, bool]:
        """The answers that are right somewhere (a slice where they come first, as in `problems.Bandit`),
        and whether every run and prompt has the same."""
        somewhere = self.correct.any(axis=(0, 1))
        count = int(somewhere.sum())
        return (slice(0, count) if somewhere[:count].all() else np.flatnonzero(somewhere),
                bool((self.correct == somewhere).all()))
