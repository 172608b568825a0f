"""Records a block of runs while it is trained: on a schedule, and at every step of the tail."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simulations.engine.announcement import Announcement
from simulations.engine.block import StepMeasures
from simulations.engine.columns import Columns
from simulations.engine.runs import Runs
from simulations.engine.trajectory import BY_RECORD, FORECASTS, Forecasts, Trajectory


def train(block: Runs, final: np.ndarray, report: Callable[[int], None]) -> Trajectory:
    """Take all steps of a block, and return what was recorded of it.

    Args:
        block: the runs, at their start.
        final: [runs, states, actions], the array for their last logits; the trajectory holds it.
        report: called now and then with the number of steps taken since the last call, times runs.

    Raises:
        ValueError: logits that stop being finite, with the step.
    """
    recorder = _Recorder(block)
    recorder.train(report)
    final[...] = block.logits
    return recorder.trajectory(final)


class _Recorder:
    """Collects what `Trajectory` holds of a block."""

    def __init__(self, block: Runs) -> None:
        self.block, self.record, self.measures = block, block.task.record, Columns(block)
        self.columns: dict[str, list[np.ndarray]] = {name: [] for name in BY_RECORD}
        self.steps: list[int] = []
        self.logits: list[np.ndarray] = []
        self.forecasts: dict[str, list[np.ndarray]] = {name: [] for name in FORECASTS}
        self.tail_steps = 0
        self.tail_entropy, self.tail_square, self.tail_reward = np.zeros((3, block.n_runs))
        self.tail_switches = np.zeros(block.n_runs, dtype=int)

    def train(self, report: Callable[[int], None]) -> None:
        """Take all steps, recording on the way."""
        block, dynamics = self.block, self.block.dynamics
        steps, every = dynamics.steps, dynamics.record_every
        tail = min(dynamics.tail or max(steps // 6, 1), steps)
        while block.step < steps:
            step = block.step
            in_tail = step >= steps - tail
            ends = [steps, step + block.chunk(), (step // every + 1) * every]
            if not in_tail:
                ends.append(steps - tail)
            announced = None
            if step % every == 0:
                self._policy()
                if self.record.forecasts:
                    announced = Announcement.of(block)
                    ends.append(step + 1)
            taken = block.advance(min(ends) - step, measured=in_tail)
            if announced is not None:
                for name, values in announced.compared(block.logits).items():
                    self.forecasts[name].append(values)
            if taken is not None:
                self._tail(taken)
            report((block.step - step) * block.n_runs)
        self._policy()

    def _policy(self) -> None:
        """Add a record of the current policies."""
        block = self.block
        block.evaluate()
        self.steps.append(block.step)
        now = self.measures.now()
        now["temperature"] = _or_nan(block.temperature, block.n_runs)
        now["coefficient"] = _or_nan(block.coefficient, block.n_runs)
        for name, values in now.items():
            self.columns[name].append(values)
        if self.record.logits:
            self.logits.append(block.logits.copy(order="C"))

    def _tail(self, steps: StepMeasures) -> None:
        """Add steps of the tail, which have just been taken."""
        block = self.block
        if block.controller is not None:  # it chooses the next temperature
            block.evaluate()
        if self.tail_steps == 0:
            self.tail_origin = steps.entropy[0].copy()
        self.tail_steps += len(steps.entropy)
        # From the first value on: a spread far below the entropy would be lost in its square.
        deviation = steps.entropy - self.tail_origin
        self.tail_entropy += deviation.sum(axis=0)
        self.tail_square += np.einsum("sr,sr->r", deviation, deviation)
        self.tail_reward += steps.reward.sum(axis=0)
        if block.temperature is not None:
            temperatures = np.concatenate([steps.temperature, block.temperature[None]])
            self.tail_switches += (np.diff(temperatures, axis=0) != 0).sum(axis=0)

    def trajectory(self, final_logits: np.ndarray) -> Trajectory:
        """Return all that was collected."""
        deviation = self.tail_entropy / self.tail_steps
        # Not below 0: the first deviation is 0, so that the difference is a share of the mean square.
        variance = self.tail_square / self.tail_steps - deviation**2
        columns = {name: np.asarray(values) for name, values in self.columns.items()}
        changes = {name: np.asarray(values) for name, values in self.forecasts.items()}
        return Trajectory(
            step=np.asarray(self.steps),
            **columns,
            pass_at=self.record.pass_at,
            final_logits=final_logits,
            tail_entropy=self.tail_origin + deviation,
            tail_reward=self.tail_reward / self.tail_steps,
            tail_spread=np.sqrt(variance),
            tail_switches=self.tail_switches,
            saturated=self._count("coefficient_saturated"),
            held=self._count("coefficient_held"),
            logits=np.asarray(self.logits),
            forecasts=Forecasts(**changes) if self.record.forecasts else None,
        )

    def _count(self, name: str) -> np.ndarray:
        """Return what the coefficient's controller reports under this name, [runs], or 0."""
        loop = self.block.coefficient_controller
        found = {} if loop is None else loop.report()
        return np.zeros(self.block.n_runs) + np.asarray(found.get(name, 0.0))


def _or_nan(values: np.ndarray | None, n_runs: int) -> np.ndarray:
    return np.full(n_runs, np.nan) if values is None else np.array(values)
