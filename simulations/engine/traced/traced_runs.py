"""Runs whose steps are taken by machine code that is made from the rule's own code.

A trace holds while its guards do. A step for which they do not hold is taken by NumPy, and the next one
is traced anew. A rule that cannot be traced is left to NumPy, with the reason.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import importlib.util
import logging
import math
import pickle
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulations.engine.block import RefusedError, StepMeasures, diverged
from simulations.engine.runs import Runs
from simulations.engine.task import Task, is_ours
from simulations.engine.traced.intervals import Interval
from simulations.engine.traced.plan import Step
from simulations.engine.traced.step import carried, keep_carried, loops, state, traced_step
from simulations.engine.traced.views import NotTraceable

MOST_LOGITS = 2**20
"""The largest number of logits of a run that is traced."""
MOST_NUMBERS = 2**23
"""How many numbers a step may keep in memory, of all runs that are advanced side by side."""
MOST_TRACES = 12
"""The largest number of traces of a block; a rule that needs more has conditions that keep changing."""
_AT_ONCE = 2**20
"""The largest number of logits of a task that is traced once for all runs; others are traced by block."""
_PROBED = 4
MOST_KEPT = 64
"""The largest number of tasks, and of blocks of large ones, whose code is kept for another call."""
_NOT_TRACED = ("steps", "record_every", "tail", "engine", "target_schedule")
_KEPT: dict[bytes | None, _Code] = {}
_LOCK = threading.Lock()
_said: set[tuple[str, str]] = set()


@dataclass(frozen=True, kw_only=True, slots=True)
class TracedEngine:
    """Takes steps by machine code from a trace of the rule."""

    task: Task
    code: _Code | None
    """The code for the first steps of all runs; with None each block makes its own."""
    in_parallel: bool = True

    def block(self, part: slice) -> Runs:
        return TracedRuns(
            self.task.take_runs(part), code=None if self.code is None else self.code.take_runs(part))


def of(task: Task) -> TracedEngine:
    """Prepare the engine for a task.

    Raises:
        RefusedError: a task, or a rule, that this engine cannot run.
    """
    if importlib.util.find_spec("llvmlite") is None:
        raise RefusedError("llvmlite is not installed (pip install 'policy-entropy[fast]')")
    if task.tree is not None or task.features is not None:
        raise RefusedError("traces are not made for token trees or for features")
    if task.dynamics.steps_per_batch > 1:
        raise RefusedError("it takes several optimizer steps on the same samples")
    loop = task.dynamics.rule.coefficient_controller()
    if loop is not None and loop.forecasts:
        raise RefusedError("its controller steers by the forecast of each step, which traces do not make")
    sampler = task.dynamics.sampler
    if sampler is not None and sampler.rounding != "none" and task.dynamics.precision == "float32":
        raise RefusedError("its sampler rounds, which traces do in double precision")
    n_states, n_actions = task.logits.shape[1:]
    kept = 1 + task.dynamics.optimizer.n_moments + (sampler.steps_old if sampler else 0)
    if n_states * n_actions * kept > MOST_LOGITS:
        raise RefusedError(
            f"{n_states} states of {n_actions} actions" + f", {kept} times" * (kept > 1)
            + f" are more than the {MOST_LOGITS} logits up to which runs are traced")
    at_once = task.logits.size <= _AT_ONCE
    probe = Runs(task if at_once else task.take_runs(slice(0, min(_PROBED, task.n_runs))))
    try:
        code = _code_at_start(probe)
    except Exception as error:  # (The rule's own code runs here, on arrays that are not NumPy's.)
        raise RefusedError(_reason(error)) from error
    return TracedEngine(task=task, code=code if at_once else None)


class TracedRuns(Runs):
    """A block of runs on bandits and prompts, many steps at a time."""

    def __init__(self, task: Task, step: int = 0, code: _Code | None = None) -> None:
        super().__init__(task, step)
        self._code = code
        self._traces = 0
        self.left: str | None = None
        """Why NumPy takes the steps that are left; None: it does not."""

    def chunk(self) -> int:
        steps: int = min(2**24 // self.logits.size, 2**16 // self.n_runs, 2**14)
        return max(1, steps)

    def advance(self, steps: int, *, measured: bool) -> StepMeasures | None:
        taken: list[StepMeasures] = []
        while steps:
            done, part = self._advance_compiled(steps, measured)
            if not done:
                done = 1 if self.left is None else steps
                part = super().advance(done, measured=measured)
            if part is not None:
                taken.append(part)
            steps -= done
        return _joined(taken) if measured else None

    def _advance_compiled(self, steps: int, measured: bool) -> tuple[int, StepMeasures | None]:
        """Take steps by machine code until a guard stops it; return how many, perhaps none."""
        if self.left is not None:
            return 0, None
        found = loops(self)
        if self._code is None and not self._trace():
            return 0, None
        held = [copy.copy(getattr(self, loop.name)) for loop in found]
        done, part = self._run(steps, measured)
        if done < steps:  # Some runs stopped there and others went on: all go there again.
            for loop, controller in zip(found, held, strict=True):
                setattr(self, loop.name, controller)
            if done:
                _, part = self._run(done, measured)
            self._code = None
        self.step += done
        with np.errstate(over="ignore", invalid="ignore"):
            if not math.isfinite(self.logits.sum()):
                raise diverged(self.step)
        return done, part

    def _trace(self) -> bool:
        """Make code for the steps from here; return whether there is any."""
        self._traces += 1
        try:
            if self._traces > MOST_TRACES:
                raise NotTraceable("its conditions change all the time")
            self._code = _code_at_start(self) if self.step == 0 else _Code.of(
                traced_step(self, asked_again=self._traces == 1), self.n_runs)
        except Exception as error:  # (As in `of`.)
            self.left = _reason(error)
            if (self.rule.name, self.left) not in _said:
                _said.add((self.rule.name, self.left))
                logging.getLogger(__name__).warning(
                    "'%s' goes on with NumPy after step %d: %s", self.rule.name, self.step, self.left)
        return self.left is None

    def _run(self, steps: int, measured: bool) -> tuple[int, StepMeasures | None]:
        """Return how many steps all runs can take; if they can take all, these are taken."""
        code: Any = self._code
        logits = code.packed(carried(self).reshape(self.n_runs, -1), code.program.dtype)
        memory = code.packed(self._memory())
        targets = self._targets(steps)
        stop, out = code(
            logits, memory, targets, steps, self.step, measured, self._evaluated == self.step)
        if stop < steps:
            return stop, None
        keep_carried(self, code.unpacked(logits).reshape(self.n_runs, -1, self.logits.shape[-1]))
        self._keep(code.unpacked(memory))
        if not measured:
            return steps, None
        entropy, reward, *rest = out
        return steps, StepMeasures(
            entropy=entropy, reward=reward,
            temperature=rest[0] if rest else np.broadcast_to(np.nan, entropy.shape))

    def _memory(self) -> np.ndarray:
        """Return what controllers chose and hold, in the order of the trace: [runs, numbers]."""
        numbers = [value for loop in loops(self) for value in state(self, loop)]
        if not numbers:
            return np.zeros((self.n_runs, 1))
        return np.stack([
            np.full(self.n_runs, value, dtype=np.int64).view(np.float64)
            if isinstance(value, int) else value for value in numbers], axis=1)

    def _keep(self, memory: np.ndarray) -> None:
        at = 0
        for loop in loops(self):
            controller = getattr(self, loop.name)
            for place, name in enumerate(controller.state):
                column = np.ascontiguousarray(memory[:, at + 1 + place])
                whole = isinstance(getattr(controller, name), (int, np.integer))
                setattr(controller, name, int(column.view(np.int64)[0]) if whole else column)
            at += 1 + len(controller.state)

    def _targets(self, steps: int) -> np.ndarray:
        """Return targets that move, [steps or 1, runs], nats; one row of zeros where none do."""
        if not self.targets_move:
            return np.zeros((1, self.n_runs))
        return np.stack([self.target(self.step + i) for i in range(steps)])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Code:
    """The machine code for the steps of a block, and what it needs beside logits."""

    program: Any
    call: Callable[..., None]
    by_run: np.ndarray
    """The constants that runs do not share, [runs, numbers]."""
    choices: tuple[Interval, ...]
    """The range in which each controller's choice before the first step must lie."""

    @property
    def n_runs(self) -> int:
        return len(self.by_run)

    @classmethod
    def of(cls, step: Step, n_runs: int) -> _Code:
        from simulations.engine.traced import machine

        program = _written(step, n_runs)
        constants = [np.zeros((n_runs, 1))] if not program.by_run else program.by_run
        return cls(program=program, call=machine.function(program),
                   by_run=np.concatenate(constants, axis=1), choices=step.choices)

    def take_runs(self, part: slice) -> _Code:
        return dataclasses.replace(self, by_run=self.by_run[part])

    def packed(self, values: np.ndarray, dtype: Any = np.float64) -> np.ndarray:
        return _packed(values, self.program.lanes, dtype)

    def unpacked(self, values: np.ndarray) -> np.ndarray:
        if self.program.lanes == 1:
            return values[..., 0]
        return values.transpose(0, 2, 1).reshape(-1, values.shape[1])[: self.n_runs]

    def __call__(
        self, logits: np.ndarray, memory: np.ndarray, targets: np.ndarray, steps: int, taken: int,
        measured: bool, observed: bool,
    ) -> tuple[int, np.ndarray]:
        """Take steps in place.

        Args:
            logits, memory: packed. Both are changed.
            targets: [steps or 1, runs], nats.
            steps: number of steps to take.
            taken: number of steps taken before.
            measured: whether to return measures of the policies before each step.
            observed: whether the controllers have chosen for the first step.

        Returns:
            The number of steps after which a guard stopped some run (``steps`` if none did). The
            measures, [numbers, steps, runs].
        """
        program, n_groups = self.program, len(logits)
        width = n_groups * program.lanes
        filled = np.empty((len(targets), width))
        filled[:, : self.n_runs], filled[:, self.n_runs :] = targets, targets[:, -1:]
        out = np.empty((max(program.n_measured, 1), steps if measured else 0, width))
        stops = np.full(n_groups, steps, dtype=np.int64)
        work = np.empty(program.work * program.lanes)
        arrays = (logits, memory, program.shared, self.packed(self.by_run), filled, out, stops, work)
        self.call(*(array.ctypes.data for array in arrays), 0, n_groups, steps, taken, len(targets),
                  n_groups, int(measured), int(observed))
        return int(stops.min()), out[..., : self.n_runs]


def _code_at_start(runs: Runs) -> _Code:
    """Return the code for runs at their start: that of an earlier call of the same task, if any.

    Of a user's rule nothing is kept: what its code reads may have changed since.
    """
    key = _key(runs) if is_ours(runs.rule) else None
    with _LOCK:
        code = _KEPT.pop(key, None)
    if code is None or not all(
            choice.low <= number <= choice.high
            for loop, choice in zip(loops(runs), code.choices, strict=True)
            for number in np.ravel(state(runs, loop)[0])):
        code = _Code.of(traced_step(runs, asked_again=True), runs.n_runs)
    if key is not None:
        with _LOCK:
            _KEPT[key] = code
            while len(_KEPT) > MOST_KEPT:
                del _KEPT[next(iter(_KEPT))]
    return code


def _key(runs: Runs) -> bytes | None:
    """Return a digest of all that a trace at the start depends on; None where something has none."""
    task, dynamics = runs.task, runs.dynamics
    settings = {each.name: getattr(dynamics, each.name) for each in dataclasses.fields(dynamics)
                if each.name not in _NOT_TRACED}
    start = task.logits if runs.reference is not None else task.logits.shape
    moves = dynamics.target_schedule is not None
    try:
        return hashlib.sha256(pickle.dumps((settings, moves, start, task.reward))).digest()
    except Exception:  # (A function of a notebook cannot be told from another one.)
        return None


def _written(step: Step, n_runs: int) -> Any:
    """Write the program of a step, on vectors as wide as its rows are short."""
    from simulations.engine.traced.program import program

    made = program(step, 1 if step.along_actions else 16 if n_runs > 8 else 8)
    if made.work * made.lanes > MOST_NUMBERS:
        raise NotTraceable(
            f"a step of a run keeps {made.work} numbers, above {MOST_NUMBERS // made.lanes}")
    return made


def _packed(values: np.ndarray, lanes: int, dtype: Any) -> np.ndarray:
    """Pack [runs, numbers] as [groups, numbers, lanes]; the last group is filled with the last run."""
    n_runs, n = values.shape
    if lanes == 1:
        return np.array(values[:, :, None], dtype, order="C")
    n_groups = -(-n_runs // lanes)
    filled = np.empty((n_groups * lanes, n), dtype)
    filled[:n_runs], filled[n_runs:] = values, values[-1:]
    return np.ascontiguousarray(filled.reshape(n_groups, lanes, n).transpose(0, 2, 1))


def _reason(error: Exception) -> str:
    if isinstance(error, NotTraceable):
        return str(error)
    return f"{type(error).__name__} while it was traced: {error}"


def _joined(parts: Sequence[StepMeasures]) -> StepMeasures:
    if len(parts) == 1:
        return parts[0]
    return StepMeasures(**{name: np.concatenate([getattr(part, name) for part in parts])
                           for name in ("entropy", "reward", "temperature")})
