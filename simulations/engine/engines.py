"""Chooses the engine: machine code from a trace of the rule where that takes exactly the rule's steps.

The compiled engine is prepared for the task, or refuses with a reason, and NumPy takes what it refuses.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Protocol

from simulations.engine import jax_runs
from simulations.engine.block import RefusedError
from simulations.engine.runs import Runs
from simulations.engine.task import Task
from simulations.engine.traced import traced_runs
from simulations.engine.tree_runs import TreeRuns

COMPILE_FROM_SECONDS = 0.5
"""Seconds that NumPy must need for "auto" to compile. Tracing takes a tenth of it, and loading LLVM as
long, once per process. Machine code that is not kept yet takes a second."""
SAY_FROM_SECONDS = 5.0
"""About how many seconds NumPy must need for "auto" to say why a task is left to NumPy."""
_STEP_SECONDS, _ENTRY_SECONDS = 4e-4, 1e-8  # of NumPy, roughly: of a step, and of each logit in it
_said: set[tuple[str, str]] = set()


class Engine(Protocol):
    """An engine made ready for a task."""

    @property
    def in_parallel(self) -> bool:
        """Whether its blocks gain by being trained in threads at once."""

    def block(self, part: slice) -> Runs:
        """Make the block of the runs ``part``, at their start."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NumpyEngine:
    """Takes the steps of any task by NumPy."""

    task: Task
    in_parallel: bool = False

    def block(self, part: slice) -> Runs:
        task = self.task.take_runs(part)
        return Runs(task) if task.tree is None else TreeRuns(task)


def engine_for(task: Task) -> Engine:
    """Choose the engine of a task and prepare it.

    Raises:
        ValueError: a task that the engine refuses on which ``engine`` insists, with the reason.
    """
    dynamics = task.dynamics
    seconds = dynamics.steps * (_STEP_SECONDS + _ENTRY_SECONDS * float(task.logits.size))
    insists = dynamics.engine in ("compiled", "jax")
    if dynamics.engine == "numpy" or (not insists and seconds < COMPILE_FROM_SECONDS):
        return NumpyEngine(task=task)
    try:
        return jax_runs.of(task) if dynamics.engine == "jax" else traced_runs.of(task)
    except RefusedError as reason:
        why = str(reason)
    if insists:
        raise ValueError(
            f"engine '{dynamics.engine}' cannot simulate '{dynamics.rule.name}' here: {why}; "
            "use engine 'auto' or 'numpy'")
    if seconds >= SAY_FROM_SECONDS:
        _say_once(dynamics.rule.name, why)
    return NumpyEngine(task=task)


def _say_once(name: str, why: str) -> None:
    if (name, why) not in _said:
        _said.add((name, why))
        logging.getLogger(__name__).warning("'%s' runs on NumPy, not compiled: %s", name, why)
