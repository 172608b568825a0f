"""The compiled path of the engine: the same steps as `Runs.advance`, by `kernels`.

It needs numba (``pip install 'policy-entropy[fast]'``), a rule that can be tabulated (`tabulated`),
answers that are right or wrong, one optimizer step a batch, and AEPO's two-point controller or none.
Everything else, and whatever is too short to be worth loading a compiler, takes NumPy's steps; both
agree to rounding. numba is imported when the first step is taken, not with this module.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from entropy_theory.controllers import TemperatureSwitch
from entropy_theory.update_rules import UpdateRule
from simulations.engine.compiled.compiled_runs import Answers, CompiledRuns
from simulations.engine.compiled.tables import NotTabulatedError, Question, Tables, tabulate
from simulations.engine.runs import Runs, Steps, diverged
from simulations.engine.sampling import ORDINARY, TEMPERED, lanes, seed_key

if TYPE_CHECKING:
    from simulations.engine.recorder import Record
    from simulations.engine.simulation import Dynamics

ENGINES = ("auto", "numpy", "compiled")
WORTH = 0.5
"""Seconds that NumPy would take, from which on "auto" loads the compiled loops (as long, once a process;
compiling them, once an installation, takes ten)."""
_SHORT = 64
"""Actions up to which rows are advanced side by side."""
_STEP_SECONDS, _ENTRY_SECONDS = 4e-4, 1e-8  # of NumPy, roughly: of a step, and of each logit in it


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """How a simulation's steps are compiled; `stepper` gives them for a block of its runs."""

    tables: Tables
    answers: Answers

    def runs(
        self, logits: np.ndarray, dynamics: Dynamics, record: Record, part: slice, final: np.ndarray
    ) -> CompiledRuns:
        """The runs ``part`` of the simulation, at their start; ``final`` is where they end.

        Args:
            logits, final: [runs, states, actions], float64, of these runs. ``final`` becomes the
                logits themselves if that is the precision.
            dynamics: of these runs.
        """
        own = final if dynamics.precision == "float64" else np.empty(final.shape, np.float32)
        own[...] = logits
        return CompiledRuns(own, self._answers(part), dynamics, record)

    def stepper(self, runs: Runs, part: slice) -> Stepper:
        """What takes the steps of the runs ``part`` of the simulation."""
        return Stepper(runs, self.tables, self._answers(part), self.tables.scales[part])

    def _answers(self, part: slice) -> Answers:
        return dataclasses.replace(self.answers, mask_of=self.answers.mask_of[part])


def plan(
    dynamics: Dynamics, shape: tuple[int, ...], reward: np.ndarray,
    one_run: Callable[[int], UpdateRule],
) -> Plan | None:
    """How to compile a simulation, or None for NumPy.

    Args:
        dynamics: with ``engine`` "auto", "numpy" or "compiled".
        shape: of the logits, [runs, states, actions].
        reward: [runs or 1, states or 1, actions].
        one_run: the rule with those of its options that are one a run cut to that run.

    Raises:
        ValueError: ``engine`` is "compiled" and cannot be, with the reason.
    """
    if dynamics.engine == "numpy":
        return None
    insists = dynamics.engine == "compiled"
    if not insists and _numpy_seconds(dynamics.steps, shape) < WORTH:
        return None
    try:
        values = _right_and_wrong(reward)
        _check(dynamics, shape, reward, values)
        question = _question(dynamics, shape, values, one_run)
        return Plan(tables=tabulate(question), answers=_answers(reward, values, shape[:2]))
    except NotTabulatedError as reason:
        if insists:
            raise ValueError(
                f"engine 'compiled' cannot simulate '{dynamics.rule.name}' here: {reason}; "
                "use engine 'auto' or 'numpy'"
            ) from None
        return None


def threads() -> int:
    """Threads for blocks of runs: OMP_NUM_THREADS, else the processors this process may use."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Stepper:
    """Takes the steps of a block of runs; call it as `Runs.advance`."""

    def __init__(self, runs: Runs, tables: Tables, answers: Answers, scales: np.ndarray) -> None:
        self.runs, self.tables, self.values = runs, tables, answers.values
        n_runs, n_states, n_actions = runs.logits.shape
        self.switch = isinstance(runs.controller, TemperatureSwitch)
        self.tempers = self.switch or not runs.has_ordinary
        # States see each other through the mean entropy that the switch reads, and not otherwise.
        self.states = n_states if self.switch else 1
        self.is_short = n_actions <= _SHORT and n_runs * n_states >= 8 and self.states <= 32
        masks, mask_of = answers.masks, answers.mask_of.reshape(-1)
        self.masks = (mask_of, masks) if self.is_short else (mask_of, *_pieces(masks), masks)
        self._kept = np.empty(0)
        self.eta = np.repeat(runs.learning_rate.ravel() / n_states, n_states)
        self.scales = np.ascontiguousarray(np.repeat(scales, n_states, axis=0))
        samples = runs.samples
        self.lanes, self.hot_lanes = (
            lanes(kind, runs.run_numbers, n_states, size if samples and present else 0)
            .reshape(n_runs * n_states, -1)
            for kind, size, present in (
                (ORDINARY, samples.group_size if samples else 0, runs.has_ordinary),
                (TEMPERED, samples.tempered if samples else 0, self.tempers),
            )
        )

    def chunk(self) -> int:
        """Steps that are well taken at once: some 10 ms of work, measurements that stay in cache."""
        work = 2**23 // self.runs.logits.size
        return max(1, min(work, 2**14 // self.runs.n_runs))

    def __call__(self, steps: int, *, measured: bool) -> Steps | None:
        """As `Runs.advance`."""
        from simulations.engine.compiled import kernels

        runs = self.runs
        n_rows = runs.n_runs * runs.n_states
        n_actions = runs.logits.shape[-1]
        hot, cold = self._temperatures()
        *of_steps, degrees = self._buffers(steps if measured else 0)
        bad = np.full(n_rows, -1)
        rows = np.ascontiguousarray(runs.logits.reshape(n_rows, n_actions))
        tables = self.tables
        rule = (self.eta, self.scales, tables.ordinary, tables.tempered, tables.bonus)
        batches = (hot, cold, self._targets(steps), self.tempers, self.lanes, self.hot_lanes,
                   np.uint64(seed_key(runs.dynamics.seed)), runs.batch_number, *of_steps, degrees, bad)
        if self.is_short:
            kernels.short_rows(
                rows, 0, n_rows, self.states, steps, *self.masks, *rule, bool(tables.bonus.any()),
                *batches)
        else:
            keeps_wrong = bool(tables.tempered[len(tables.tempered) // 2 :].any())
            kernels.long_rows(
                rows.reshape(-1), n_actions, 0, n_rows // self.states, self.states, steps,
                *self.masks, *rule, keeps_wrong, *batches)
        if not np.shares_memory(rows, runs.logits):
            runs.logits[...] = rows.reshape(runs.logits.shape)
        if (bad >= 0).any():
            raise diverged(runs.step + int(bad[bad >= 0].min()))
        runs.step += steps
        if not measured:
            return None
        shape = (steps, runs.n_runs, runs.n_states)
        entropy, right = (
            values.reshape(shape)[..., 0] if runs.n_states == 1
            else values.reshape(shape).mean(axis=-1) for values in of_steps)
        high, low = self.values
        return Steps(
            entropy=entropy,
            reward=right if (high, low) == (1, 0) else low + (high - low) * right,
            temperature=(degrees.reshape(shape)[..., 0] if self.tempers
                         else np.broadcast_to(np.nan, shape[:2])),
        )

    def _buffers(self, steps: int) -> list[np.ndarray]:
        """[steps, rows]: where entropy, reward and (of a second batch) temperature are written, the
        same memory in every call."""
        n_rows = self.runs.n_runs * self.runs.n_states
        if len(self._kept) < 3 * steps * n_rows:
            self._kept = np.empty(3 * steps * n_rows)
        parts = self._kept[: 3 * steps * n_rows].reshape(3, steps, n_rows)
        return [parts[0], parts[1], parts[2][: steps if self.tempers else 0]]

    def _temperatures(self) -> tuple[np.ndarray, np.ndarray]:
        """[rows]: below the target, and elsewhere."""
        runs = self.runs
        n_rows = runs.n_runs * runs.n_states
        if self.switch:
            loop: Any = runs.controller
            return np.full(n_rows, float(loop.temperature_high)), np.full(
                n_rows, float(loop.temperature_low))
        fixed = np.nan if runs.temperature is None else np.repeat(runs.temperature, runs.n_states)
        return (np.broadcast_to(fixed, n_rows).copy(),) * 2

    def _targets(self, steps: int) -> np.ndarray:
        """[0, 1 or steps, rows], nats."""
        runs = self.runs
        shape = (runs.n_runs, runs.n_states)
        if not self.switch:
            return np.zeros((0, runs.n_runs * runs.n_states))
        moving = runs.dynamics.target_schedule is not None
        targets = [runs.target(runs.step + i) for i in range(steps if moving else 1)]
        return np.stack([np.broadcast_to(t[:, None], shape).ravel() for t in targets])


def _numpy_seconds(steps: int, shape: tuple[int, ...]) -> float:
    return steps * (_STEP_SECONDS + _ENTRY_SECONDS * float(np.prod(shape)))


def _right_and_wrong(reward: np.ndarray) -> tuple[float, float]:
    values = np.unique(reward)
    if len(values) == 1 and values[0] == 1:  # every answer is right
        return 1.0, 0.0
    if len(values) != 2:
        raise NotTabulatedError(f"answers have {len(values)} different rewards, not two")
    return float(values[1]), float(values[0])


def _check(
    dynamics: Dynamics, shape: tuple[int, ...], reward: np.ndarray, values: tuple[float, float]
) -> None:
    if importlib.util.find_spec("numba") is None:
        raise NotTabulatedError("numba is not installed (pip install 'policy-entropy[fast]')")
    if dynamics.steps_per_batch > 1:
        raise NotTabulatedError("it takes several optimizer steps on the same samples")
    if type(dynamics.rule.controller()) not in (type(None), TemperatureSwitch):
        raise NotTabulatedError("its controller is not the two-point switch of temperatures")
    n_cuts = int((np.diff(reward == values[0], axis=-1) != 0).sum(axis=-1).max())
    if shape[-1] > _SHORT and n_cuts > shape[-1] // 16:
        raise NotTabulatedError(f"right answers lie scattered, in {n_cuts} pieces of a state")


def _question(
    dynamics: Dynamics, shape: tuple[int, ...], values: tuple[float, float],
    one_run: Callable[[int], UpdateRule],
) -> Question:
    samples = dynamics.samples
    has_ordinary = dynamics.temperature is None
    tempers = dynamics.temperature is not None or dynamics.rule.controller() is not None
    return Question(
        rule=dynamics.rule, values=values, n_runs=shape[0], n_states=shape[1],
        exact=samples is None, one_run=one_run,
        ordinary=has_ordinary * (samples.group_size if samples else 1),
        tempered=tempers * (samples.tempered if samples else 1),
    )


def _answers(
    reward: np.ndarray, values: tuple[float, float], shape: tuple[int, ...]
) -> Answers:
    """Which answers are right, for logits of ``shape`` [runs, states]."""
    right = np.ascontiguousarray(reward == values[0])
    numbers: dict[bytes, int] = {}
    index = [numbers.setdefault(row.tobytes(), len(numbers))
             for row in np.packbits(right, axis=-1).reshape(-1, -(-right.shape[-1] // 8))]
    of_row = np.broadcast_to(np.reshape(index, right.shape[:2]), shape)
    packed = np.stack([np.frombuffer(row, dtype=np.uint8) for row in numbers])
    masks = np.unpackbits(packed, axis=-1, count=right.shape[-1])
    return Answers(
        values=values, masks=masks, mask_of=np.ascontiguousarray(of_row, dtype=np.int64))


def _pieces(masks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Runs of right or of wrong actions, at most PIECE long: where masks start, ends, kinds."""
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
