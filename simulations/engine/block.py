"""A block of runs that are trained together: what every engine's block can do.

A block owns its plan (the `Task` of its runs), takes its steps and says what a record holds of it. The
engines differ in how; `simulations.engine.engines` chooses one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from entropy_theory.policy import clamped_entropy
from simulations.engine.announcement import Announcement
from simulations.engine.task import Task

CHUNK = 200
"""Steps between calls of ``progress``, at most."""


class RefusedError(Exception):
    """An engine cannot take exactly the steps of a task; the message says why."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepMeasures:
    """What held before each of the steps just taken: [steps, runs] each."""

    entropy: np.ndarray
    """Nats, averaged over states."""
    reward: np.ndarray
    """Expected reward, averaged over states."""
    temperature: np.ndarray
    """Of the second batch; NaN without one."""


class Engine(Protocol):
    """An engine made ready for a task."""

    @property
    def in_parallel(self) -> bool:
        """Whether its blocks gain by being trained in threads at once."""

    def block(self, part: slice, final: np.ndarray) -> Block:
        """The runs ``part`` at their start; ``final`` [runs, states, actions] may be their memory."""


class Block(ABC):
    """Logits, controllers, temperatures and coefficients of some runs.

    ``step`` counts the optimizer steps taken. What is said of the policies (``entropy``, ``temperature``,
    ``coefficient``, `columns`) is up to date after `evaluate`, and stale after `advance`.
    """

    logits: np.ndarray
    """[runs, states, actions]."""
    entropy: np.ndarray
    """[runs, states], nats."""

    def __init__(self, task: Task, step: int = 0) -> None:
        self.task, self.dynamics, self.rule = task, task.dynamics, task.dynamics.rule
        dynamics = self.dynamics
        self.n_runs, self.n_states, _ = task.logits.shape
        self.n_prompts, self.samples = task.n_prompts, dynamics.samples
        self.run_numbers = dynamics.first_run + np.arange(self.n_runs)
        self.learning_rate = self.per_run(dynamics.learning_rate, "learning_rate")[:, None, None]
        self.controller = self.rule.controller()
        self.coefficient_controller = self.rule.coefficient_controller()
        if dynamics.targets is not None:
            self._set_target(self.per_run(dynamics.targets, "targets"))
        # Rows at temperature 1 are there unless every row is sampled at a given temperature.
        self.has_ordinary = dynamics.temperature is None
        self.temperature: np.ndarray | None = None
        if dynamics.temperature is not None:
            self.temperature = self.per_run(dynamics.temperature, "temperature")
        self.coefficient: np.ndarray | None = None
        self.step = step
        self._evaluated = -1

    @abstractmethod
    def evaluate(self) -> None:
        """Evaluate the policies and, at the start of a batch, let the controllers choose; once a step.

        Raises:
            ValueError: logits that are not finite, with the step.
        """

    @abstractmethod
    def advance(self, steps: int, *, measured: bool) -> StepMeasures | None:
        """Take ``steps`` steps; with ``measured``, say what was before each.

        `evaluate` comes first (policy, temperature and coefficient of the first step are then chosen;
        later steps choose their own). Controllers are left as ``steps`` observations leave them: the next
        `evaluate` observes again.

        Raises:
            ValueError: logits that are not finite, with the step.
        """

    @abstractmethod
    def columns(self) -> dict[str, np.ndarray]:
        """What `Trajectory` holds of the current policies, by name, but temperature and coefficient."""

    @abstractmethod
    def announce(self) -> Announcement:
        """What the next step's batch forecasts."""

    def chunk(self) -> int:
        """Steps that are well taken at once."""
        return CHUNK

    def add_deviations(
        self, values: np.ndarray, origin: np.ndarray, total: np.ndarray, square: np.ndarray
    ) -> None:
        """Add to ``total`` and ``square`` [runs] the sums over steps of ``values`` [steps, runs] less
        ``origin`` [runs], and of their squares."""
        deviation = values - origin
        total += deviation.sum(axis=0)
        square += np.einsum("sr,sr->r", deviation, deviation)

    def by_prompt(self, values: np.ndarray) -> np.ndarray:
        """[runs, prompts]: the mean of [runs, states] over the tokens of a prompt's responses."""
        return values

    def mean_entropy(self) -> np.ndarray:
        """[runs], nats, averaged over prompts."""
        return self.by_prompt(self.entropy).mean(axis=-1)

    @property
    def batch_number(self) -> int:
        """Batches drawn so far, that of the next step included: 1 at the start. Draws are keyed by it."""
        return self.step // self.dynamics.steps_per_batch + 1

    def target(self, step: int) -> np.ndarray:
        """[runs]: the target entropy after ``step`` steps, nats.

        Raises:
            ValueError: the schedule gives a negative one.
        """
        schedule = self.dynamics.target_schedule
        if schedule is not None:
            self._set_target(self.per_run(schedule(step), "target_schedule"))
        loop = self.controller
        held = loop.target if loop is not None and loop.takes_target else np.nan
        return self.per_run(held, "targets")

    def per_run(self, value: Any, name: str) -> np.ndarray:
        """A number, or one a run, as an array [runs]. Raises ValueError for any other number of them."""
        array = np.asarray(value, dtype=np.float64)
        if array.ndim and array.shape != (self.n_runs,):
            raise ValueError(f"{name} has {array.size} values for {self.n_runs} runs")
        return np.broadcast_to(array, (self.n_runs,)).copy()

    def _control(self) -> None:
        if self.dynamics.target_schedule is not None:
            self.target(self.step)
        if self.controller is not None:
            self.temperature = self.controller.observe(self.mean_entropy())
        if self.coefficient_controller is not None:
            seen = self.entropy
            if self.coefficient_controller.reads == "clamped_entropy":
                seen = clamped_entropy(self.logits, self.rule.removed_fraction)
            self.coefficient = self.coefficient_controller.observe(
                self.by_prompt(seen).mean(axis=-1))

    def _set_target(self, target: np.ndarray) -> None:
        if not (target >= 0).all():
            raise ValueError(f"a target entropy must be at least 0 nats, got {target.min()}")
        for controller in (self.controller, self.coefficient_controller):
            if controller is not None and controller.takes_target:
                controller.target = target


def diverged(step: int) -> ValueError:
    """What is raised for logits that are not finite after ``step`` steps."""
    return ValueError(f"the logits diverged in step {step}: lower the learning rate")


def power(x: np.ndarray, n: int) -> np.ndarray:
    """x^n by repeated squaring, several times faster than numpy's."""
    if n == 1:
        return x
    half = power(x, n // 2)
    half = half * half
    return half * x if n % 2 else half


def pass_at(wrong: np.ndarray, ks: tuple[int, ...]) -> np.ndarray:
    """[runs, ks]: the probability of a right answer among k, from that of a wrong one [runs, prompts]."""
    if not ks:
        return np.empty((len(wrong), 0))
    return np.stack([(1 - power(wrong, k)).mean(axis=-1) for k in ks], axis=-1)
