"""The logits, controllers and temperatures of a block of runs that are trained together, on any engine.

The engines differ in how they take its steps; `simulations.engine.engines` chooses one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_theory.controllers import EntropyForecast, checked_target
from entropy_theory.policy import clamped_entropy
from simulations.engine.task import Task


class RefusedError(Exception):
    """Raised, with the reason, where an engine cannot take exactly the steps of a task."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepMeasures:
    """Measures of the policies before each of the steps just taken: [steps, runs] each."""

    entropy: np.ndarray
    """Entropy in nats, averaged over states."""
    reward: np.ndarray
    """Expected reward, averaged over states."""
    temperature: np.ndarray
    """Temperature of the second batch; NaN without one."""


class Block:
    """The logits, controllers, temperatures and coefficients of some runs.

    ``step`` counts the optimizer steps taken. ``entropy``, ``temperature`` and ``coefficient`` are up
    to date after `evaluate`, and stale after `advance`.
    """

    logits: np.ndarray
    """The current logits, [runs, states, actions]."""
    entropy: np.ndarray
    """Entropy of each state, [runs, states], nats."""

    def __init__(self, task: Task, step: int) -> None:
        self.task, self.dynamics, self.rule = task, task.dynamics, task.dynamics.rule
        dynamics = self.dynamics
        self.n_runs, self.n_states, _ = task.logits.shape
        self.n_prompts, self.samples = task.n_prompts, dynamics.samples
        first = dynamics.first_run
        self.run_numbers = first + np.arange(self.n_runs) if isinstance(first, int) else np.array(first)
        self.learning_rate = self.per_run(dynamics.learning_rate, "learning_rate")[:, None, None]
        self.controller = self.rule.controller()
        self.coefficient_controller = self.rule.coefficient_controller()
        for controller in self._aimed():
            if dynamics.targets is not None:
                controller.target = checked_target(self.per_run(dynamics.targets, "targets"))
            if dynamics.target_schedule is not None:
                controller.target_schedule = self._schedule
        # Rows at temperature 1 are there unless every row is sampled at a given temperature.
        self.has_ordinary = dynamics.temperature is None
        self.temperature: np.ndarray | None = None
        if dynamics.temperature is not None:
            self.temperature = self.per_run(dynamics.temperature, "temperature")
        self.coefficient: np.ndarray | None = None
        self.forecast: EntropyForecast | None = None
        """That of the steps on the last batch, for a controller that asks for it."""
        self.step = step
        self._evaluated = -1

    def by_prompt(self, values: np.ndarray) -> np.ndarray:
        """Return the mean of [runs, states] over the tokens of a prompt's responses: [runs, prompts]."""
        return values

    def mean_entropy(self) -> np.ndarray:
        """Return the entropy averaged over prompts, [runs], nats."""
        return self.by_prompt(self.entropy).mean(axis=-1)

    @property
    def batch_number(self) -> int:
        """The number of batches drawn, that of the next step included: 1 at the start; it keys draws."""
        return self.step // self.dynamics.steps_per_batch + 1

    def target(self, step: int) -> np.ndarray:
        """Return the target entropy after ``step`` steps: [runs], nats.

        Raises:
            ValueError: a negative target of the schedule.
        """
        self._aim(step)
        held = next((controller.target for controller in self._aimed()), np.nan)
        return self.per_run(held, "targets")

    def per_run(self, value: Any, name: str) -> np.ndarray:
        """Return a number, or one per run, as an array [runs].

        Raises ValueError for any other number of them.
        """
        array = np.asarray(value, dtype=np.float64)
        if array.ndim and array.shape != (self.n_runs,):
            raise ValueError(f"{name} has {array.size} values for {self.n_runs} runs")
        return np.broadcast_to(array, (self.n_runs,)).copy()

    def _control(self) -> None:
        self._aim(self.step)
        offset = 0.0
        if self.dynamics.target_offsets is not None:
            offset = float(np.mean(self.dynamics.target_offsets))
        if self.controller is not None:
            self.temperature = self.controller.observe(self.mean_entropy() - offset)
        loop = self.coefficient_controller
        if loop is not None:
            seen = self.entropy
            if loop.reads == "clamped_entropy":
                seen = clamped_entropy(self.logits, self.rule.needs.removed_fraction)
            self.coefficient = loop.observe(
                self.by_prompt(seen).mean(axis=-1) - (offset if loop.takes_target else 0.0),
                self.forecast)

    @property
    def targets_move(self) -> bool:
        """Whether a controller follows a schedule."""
        return any(controller.target_schedule is not None for controller in self._aimed())

    def _aimed(self) -> list[Any]:
        """Return the controllers that take a target, that of the temperature first."""
        return [controller for controller in (self.controller, self.coefficient_controller)
                if controller is not None and controller.takes_target]

    def _aim(self, step: int) -> None:
        for controller in self._aimed():
            controller.aim(step, self.dynamics.steps_per_batch)

    def _schedule(self, step: int) -> np.ndarray:
        schedule: Any = self.dynamics.target_schedule
        return self.per_run(schedule(step), "target_schedule")


def diverged(step: int) -> ValueError:
    """Make the error for logits that are not finite, or too far apart, after ``step`` steps."""
    if step == 0:
        return ValueError(
            "the logits at the start differ by more than numbers hold: start from smaller ones")
    return ValueError(f"the logits diverged in step {step}: lower the learning rate")


def power(x: np.ndarray, n: int) -> np.ndarray:
    """Return x^n by repeated squaring, several times faster than numpy's."""
    if n == 1:
        return x
    half = power(x, n // 2)
    half = half * half
    return half * x if n % 2 else half


def pass_at(wrong: np.ndarray, ks: tuple[int, ...]) -> np.ndarray:
    """Return the probability of a right answer among k, [runs, ks].

    It is computed from the probability of a wrong answer, [runs, prompts].
    """
    if not ks:
        return np.empty((len(wrong), 0))
    return np.stack([(1 - power(wrong, k)).mean(axis=-1) for k in ks], axis=-1)
