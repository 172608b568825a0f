"""A block of runs on the compiled path: logits in place, and nothing else of their size.

What a record says of a policy are sums over its actions; `kernels.describe_rows` takes them
without an array of the block's size, so that memory stays that of the logits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from simulations.engine.runs import Runs, Steps, diverged, power

if TYPE_CHECKING:
    from simulations.engine.recorder import Record
    from simulations.engine.simulation import Dynamics


@dataclass(frozen=True, kw_only=True, slots=True)
class Answers:
    """Which answers are right; the others are wrong."""

    values: tuple[float, float]
    """The rewards of right and of wrong answers."""
    masks: np.ndarray
    """Distinct masks of right answers, uint8 [masks, actions]."""
    mask_of: np.ndarray
    """Which mask a state of a run has, int64 [runs, states]."""


class CompiledRuns(Runs):
    """As `Runs`, for `compiled.Stepper` and `Recorder` alone: it takes no steps of its own."""

    def __init__(
        self, logits: np.ndarray, answers: Answers, dynamics: Dynamics, record: Record
    ) -> None:
        """``logits``: [runs, states, actions], contiguous, in the precision of the dynamics; changed in
        place. ``answers``: of these runs."""
        self.n_runs, self.n_states, _ = logits.shape
        self.logits, self.answers_of, self.record = logits, answers, record
        self._begin(dynamics)
        masks = answers.masks
        self._has_right = np.asarray(masks.any(axis=-1))
        # A record calls right the answers with a state's largest reward: all, where all are alike.
        self._correct = masks if self._has_right.all() else np.where(
            self._has_right[:, None], masks, np.uint8(1))

    def look(self) -> None:
        """Describe the policies; a controller then chooses the temperature.

        Raises:
            ValueError: logits that are not finite, with the step.
        """
        if self._looked == self.step:
            return
        from simulations.engine.compiled import kernels

        self._looked = self.step
        n_rows, n_actions = self.n_runs * self.n_states, self.logits.shape[-1]
        found = np.empty((7, n_rows))
        kernels.describe_rows(
            self.logits.reshape(-1), n_actions, self.answers_of.mask_of.reshape(-1), self._correct,
            self.record.distinct_of, found)
        if not np.isfinite(found[0].sum()):
            raise diverged(self.step)
        self._found = found.reshape(7, self.n_runs, self.n_states)
        self.entropy = self._found[0]
        self._control()

    def add_deviations(
        self, steps: Steps, origin: np.ndarray, total: np.ndarray, square: np.ndarray
    ) -> None:
        """Add to [runs] the sums over steps of the entropy less ``origin``, and of its square."""
        from simulations.engine.compiled import kernels

        kernels.add_deviations(np.ascontiguousarray(steps.entropy), origin, total, square)

    def columns(self) -> dict[str, np.ndarray]:
        """What `Recorder` keeps of the current policies."""
        self.look()
        high, low = self.answers_of.values
        entropy, right, wrong, within, covariance, covariance_pg, distinct = self._found
        is_right = self._has_right[self.answers_of.mask_of]
        reward = np.where(is_right, high * right + low * wrong, low)
        covariance, covariance_pg = (high - low) * covariance, (high - low) * covariance_pg
        ks = self.record.pass_at
        return {
            "entropy": self.mean_entropy(),
            "reward": reward.mean(axis=-1),
            "entropy_within_correct": within.mean(axis=-1),
            "covariance": covariance.mean(axis=-1),
            "covariance_pg": covariance_pg.mean(axis=-1),
            "distinct_answers": distinct.mean(axis=-1),
            "response_length": self.response_length(),
            "pass_at_k": np.stack([(1 - power(wrong, k)).mean(axis=-1) for k in ks], axis=-1)
            if ks else np.empty((self.n_runs, 0)),
            "entropy_by_state": entropy.copy(),
            "reward_by_state": reward,
            "covariance_by_state": covariance,
        }
