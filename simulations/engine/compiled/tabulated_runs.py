"""A block of runs whose steps are compiled: logits change in place, without another array of their size.

The steps are those of `Runs.advance`, by `kernels` and a rule's `tables`. The numbers of a record are
sums over a policy's actions; `kernels.describe_rows` computes them without an array of the block's size,
so that no more memory is needed than for the logits. numba is imported when the first step is taken.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_theory.controllers import TemperatureSwitch
from entropy_theory.rounding import lowest
from simulations.engine.announcement import Announcement
from simulations.engine.block import Block, StepMeasures, diverged, pass_at
from simulations.engine.compiled.tables import Tables
from simulations.engine.runs import Runs
from simulations.engine.sampling import ORDINARY, TEMPERED, lanes, seed_key
from simulations.engine.task import Task


@dataclass(frozen=True, kw_only=True, slots=True)
class Answers:
    """Which answers are right; the others are wrong."""

    values: tuple[float, float]
    """The rewards of right and of wrong answers."""
    masks: np.ndarray
    """Distinct masks of right answers, uint8 [masks, actions]."""
    mask_of: np.ndarray
    """The number of the mask that a state of a run has, int64 [runs, states]."""


class TabulatedRuns(Block):
    """A block of runs on bandits and prompts, many steps of a few rows at a time."""

    def __init__(self, task: Task, tables: Tables, answers: Answers, final: np.ndarray) -> None:
        """Make the runs of a task, at their start.

        Args:
            task: the task of these runs.
            tables: the rule's tables, with the scales of these runs.
            answers: the answers of these runs.
            final: [runs, states, actions], contiguous, float64; it becomes the logits themselves if that
                is the precision.
        """
        super().__init__(task, step=0)
        own = final if self.dynamics.precision == "float64" else np.empty(final.shape, np.float32)
        own[...] = task.logits
        self.logits, self.answers_of, self.tables = own, answers, tables
        masks = answers.masks
        self._has_right = np.asarray(masks.any(axis=-1))
        # A record calls right the answers with a state's largest reward: all, where all are alike.
        self._correct = masks if self._has_right.all() else np.where(
            self._has_right[:, None], masks, np.uint8(1))
        n_runs, n_states, _ = own.shape
        self.switch = isinstance(self.controller, TemperatureSwitch)
        self.tempers = self.switch or not self.has_ordinary
        # States see each other through the mean entropy that the switch reads, and not otherwise.
        self.states = n_states if self.switch else 1
        mask_of = answers.mask_of.reshape(-1)
        self.masks = (mask_of, *_pieces(masks), masks)
        self._kept = np.empty(0)
        self.eta = np.repeat(self.learning_rate.ravel() / n_states, n_states)
        self.scales = np.ascontiguousarray(np.repeat(tables.scales, n_states, axis=0))
        samples = self.samples
        self.lanes, self.tempered_lanes = (
            lanes(kind, self.run_numbers, n_states, size if samples and present else 0)
            .reshape(n_runs * n_states, -1)
            for kind, size, present in (
                (ORDINARY, samples.group_size if samples else 0, self.has_ordinary),
                (TEMPERED, samples.tempered if samples else 0, self.tempers),
            )
        )

    def chunk(self) -> int:
        """The number of steps that are best taken at once: some 10 ms of work, measures in cache."""
        work = 2**23 // self.logits.size
        return max(1, min(work, 2**14 // self.n_runs))

    def evaluate(self) -> None:
        if self._evaluated == self.step:
            return
        from simulations.engine.compiled import kernels

        self._evaluated = self.step
        n_rows, n_actions = self.n_runs * self.n_states, self.logits.shape[-1]
        found = np.empty((7, n_rows))
        kernels.describe_rows(
            self.logits.reshape(-1), n_actions, self.answers_of.mask_of.reshape(-1), self._correct,
            self.task.record.distinct_of, found)
        if not np.isfinite(found[0].sum()):
            raise diverged(self.step)
        self._found = found.reshape(7, self.n_runs, self.n_states)
        self.entropy = self._found[0]
        self._control()

    def advance(self, steps: int, *, measured: bool) -> StepMeasures | None:
        from simulations.engine.compiled import kernels

        n_rows = self.n_runs * self.n_states
        n_actions = self.logits.shape[-1]
        temperature_high, temperature_low = self._temperatures()
        *of_steps, degrees = self._buffers(steps if measured else 0)
        bad = np.full(n_rows, -1)
        rows = np.ascontiguousarray(self.logits.reshape(n_rows, n_actions))
        tables = self.tables
        rule = (self.eta, self.scales, tables.ordinary, tables.tempered, tables.bonus)
        batches = (temperature_high, temperature_low, self._targets(steps), self.tempers, self.lanes,
                   self.tempered_lanes,
                   np.uint64(seed_key(self.dynamics.seed)), self.batch_number, *of_steps, degrees, bad)
        keeps_wrong = bool(tables.tempered[len(tables.tempered) // 2 :].any())
        kernels.long_rows(
            rows.reshape(-1), n_actions, 0, n_rows // self.states, self.states, steps,
            *self.masks, *rule, keeps_wrong, *batches)
        if not np.shares_memory(rows, self.logits):
            self.logits[...] = rows.reshape(self.logits.shape)
        if (bad >= 0).any():
            raise diverged(self.step + int(bad[bad >= 0].min()))
        self.step += steps
        if not measured:
            return None
        shape = (steps, self.n_runs, self.n_states)
        entropy, right = (
            values.reshape(shape)[..., 0] if self.n_states == 1
            else values.reshape(shape).mean(axis=-1) for values in of_steps)
        high, low = self.answers_of.values
        return StepMeasures(
            entropy=entropy,
            reward=right if (high, low) == (1, 0) else low + (high - low) * right,
            temperature=(degrees.reshape(shape)[..., 0] if self.tempers
                         else np.broadcast_to(np.nan, shape[:2])),
        )

    def announce(self) -> Announcement:
        """Return the forecast of the next step, from rows that NumPy writes out."""
        return Runs(dataclasses.replace(self.task, logits=self.logits), self.step).announce()

    def add_deviations(
        self, values: np.ndarray, origin: np.ndarray, total: np.ndarray, square: np.ndarray
    ) -> None:
        from simulations.engine.compiled import kernels

        kernels.add_deviations(np.ascontiguousarray(values), origin, total, square)

    def columns(self) -> dict[str, np.ndarray]:
        self.evaluate()
        high, low = self.answers_of.values
        entropy, right, wrong, within, covariance, covariance_pg, distinct = self._found
        is_right = self._has_right[self.answers_of.mask_of]
        reward = np.where(is_right, high * right + low * wrong, low)
        covariance, covariance_pg = (high - low) * covariance, (high - low) * covariance_pg
        return {
            "entropy": self.mean_entropy(),
            "reward": reward.mean(axis=-1),
            "entropy_within_correct": within.mean(axis=-1),
            "covariance": covariance.mean(axis=-1),
            "covariance_pg": covariance_pg.mean(axis=-1),
            "distinct_answers": distinct.mean(axis=-1),
            "response_length": np.ones(self.n_runs),
            "pass_at_k": pass_at(wrong, self.task.record.pass_at),
            "entropy_by_state": entropy.copy(),
            "reward_by_state": reward,
            "covariance_by_state": covariance,
        }

    def _buffers(self, steps: int) -> list[np.ndarray]:
        """Return arrays [steps, rows] for entropy, reward and the second batch's temperature.

        They are the same memory in every call.
        """
        n_rows = self.n_runs * self.n_states
        if len(self._kept) < 3 * steps * n_rows:
            self._kept = np.empty(3 * steps * n_rows)
        parts = self._kept[: 3 * steps * n_rows].reshape(3, steps, n_rows)
        return [parts[0], parts[1], parts[2][: steps if self.tempers else 0]]

    def _temperatures(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the temperatures below the target and elsewhere, [rows] each."""
        n_rows = self.n_runs * self.n_states
        if self.switch:
            loop: Any = self.controller
            return np.full(n_rows, float(loop.temperature_high)), np.full(
                n_rows, float(loop.temperature_low))
        fixed = np.nan if self.temperature is None else np.repeat(self.temperature, self.n_states)
        return (np.broadcast_to(fixed, n_rows).copy(),) * 2

    def _targets(self, steps: int) -> np.ndarray:
        """Return the entropies below which the second batch is hot, [0, 1 or steps, rows], nats."""
        shape = (self.n_runs, self.n_states)
        if not self.switch:
            return np.zeros((0, self.n_runs * self.n_states))
        targets = [self.target(self.step + i) for i in range(steps if self.targets_move else 1)]
        # The loops compare with the smallest entropy that is at the target, as `TemperatureSwitch` does.
        return np.stack([lowest(t, np.broadcast_to(t[:, None], shape).ravel()) for t in targets])


def _pieces(masks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut masks into runs of right or of wrong actions, at most PIECE long: starts, ends and kinds."""
    from simulations.engine.compiled.kernels import PIECE

    starts, stops, kinds = [0], [], []
    for mask in masks:
        cuts = np.flatnonzero(np.diff(mask)) + 1
        for start, stop in zip([0, *cuts], [*cuts, len(mask)], strict=True):
            ends = [*range(start + PIECE, stop, PIECE), stop]
            stops += ends
            kinds += [int(mask[start])] * len(ends)
        starts.append(len(stops))
    return np.array(starts), np.array(stops), np.array(kinds)
