"""Decides whether a task's steps can be compiled exactly, and prepares what they are made of.

It needs numba (``pip install 'policy-entropy[fast]'``), a rule that declares to read no more than a table
can hold (`tables`), answers that are right or wrong, one optimizer step a batch, and AEPO's two-point
controller or none.
"""

from __future__ import annotations

import dataclasses
import importlib.util
from dataclasses import dataclass

import numpy as np

from entropy_theory.controllers import TemperatureSwitch
from simulations.engine.block import RefusedError
from simulations.engine.compiled.tables import Probe, Tables, tabulate
from simulations.engine.compiled.tabulated_runs import Answers, TabulatedRuns
from simulations.engine.dynamics import Dynamics, cut_options
from simulations.engine.task import Task

SHORT = 64
"""The largest number of actions of which any may be right; beyond, right answers stand together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Compilation:
    """The compiled steps of a task."""

    task: Task
    tables: Tables
    answers: Answers
    in_parallel: bool = True

    def block(self, part: slice, final: np.ndarray) -> TabulatedRuns:
        """Make a block of runs, as `Engine.block`."""
        tables = dataclasses.replace(self.tables, scales=self.tables.scales[part])
        answers = dataclasses.replace(self.answers, mask_of=self.answers.mask_of[part])
        return TabulatedRuns(self.task.take_runs(part), tables, answers, final)


def of(task: Task) -> Compilation:
    """Prepare a task. Raises RefusedError where its steps cannot be compiled exactly."""
    if task.tree is not None or task.features is not None:
        raise RefusedError("tables know no token trees and no shared parameters")
    values = _right_and_wrong(task.reward)
    shape = task.logits.shape
    _check(task.dynamics, shape, task.reward, values)
    return Compilation(
        task=task, tables=tabulate(_probe(task.dynamics, shape, values)),
        answers=_answers(task.reward, values, shape[:2]))


def _right_and_wrong(reward: np.ndarray) -> tuple[float, float]:
    values = np.unique(reward)
    if len(values) == 1 and values[0] == 1:  # every answer is right
        return 1.0, 0.0
    if len(values) != 2:
        raise RefusedError(f"answers have {len(values)} different rewards, not two")
    return float(values[1]), float(values[0])


def _check(
    dynamics: Dynamics, shape: tuple[int, ...], reward: np.ndarray, values: tuple[float, float]
) -> None:
    if importlib.util.find_spec("numba") is None:
        raise RefusedError("numba is not installed (pip install 'policy-entropy[fast]')")
    if dynamics.steps_per_batch > 1:
        raise RefusedError("it takes several optimizer steps on the same samples")
    if type(dynamics.rule.controller()) not in (type(None), TemperatureSwitch):
        raise RefusedError("its controller is not the two-point switch of temperatures")
    n_cuts = int((np.diff(reward == values[0], axis=-1) != 0).sum(axis=-1).max())
    if shape[-1] > SHORT and n_cuts > shape[-1] // 16:
        raise RefusedError(f"right answers lie scattered, in {n_cuts} pieces of a state")


def _probe(
    dynamics: Dynamics, shape: tuple[int, ...], values: tuple[float, float]
) -> Probe:
    n_runs, n_states, _ = shape
    samples = dynamics.samples
    controller = dynamics.rule.controller()
    temperatures: tuple[float, ...] = ()
    if isinstance(controller, TemperatureSwitch):
        temperatures = (float(controller.temperature_high), float(controller.temperature_low))
    elif dynamics.temperature is not None:
        temperatures = tuple(np.unique(dynamics.temperature).tolist())
    return Probe(
        rule=dynamics.rule, values=values, n_runs=n_runs, n_states=n_states, exact=samples is None,
        ordinary=(dynamics.temperature is None) * (samples.group_size if samples else 1),
        tempered=bool(temperatures) * (samples.tempered if samples else 1),
        temperatures=temperatures,
        one_run=lambda run: cut_options(dynamics.rule, n_runs, slice(run, run + 1)),
    )


def _answers(
    reward: np.ndarray, values: tuple[float, float], shape: tuple[int, ...]
) -> Answers:
    """Return which answers are right, for logits of ``shape`` [runs, states]."""
    right = np.ascontiguousarray(reward == values[0])
    numbers: dict[bytes, int] = {}
    index = [numbers.setdefault(row.tobytes(), len(numbers))
             for row in np.packbits(right, axis=-1).reshape(-1, -(-right.shape[-1] // 8))]
    of_row = np.broadcast_to(np.reshape(index, right.shape[:2]), shape)
    packed = np.stack([np.frombuffer(row, dtype=np.uint8) for row in numbers])
    masks = np.unpackbits(packed, axis=-1, count=right.shape[-1])
    return Answers(
        values=values, masks=masks, mask_of=np.ascontiguousarray(of_row, dtype=np.int64))


