"""Chooses the engine: the fastest that takes exactly the rule's steps, by what the rule declares.

The compiled engines are asked one after the other; each is prepared for the task, or refuses with a
reason. NumPy takes what all refuse. No engine is chosen by trying how a rule behaves: a rule that reads
what it does not declare is an error (`simulations.engine.declarations`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simulations.engine.block import Engine, RefusedError
from simulations.engine.compiled import compilation
from simulations.engine.declarations import confirm
from simulations.engine.runs import Runs
from simulations.engine.task import Task
from simulations.engine.traced import traced_runs
from simulations.engine.tree_runs import TreeRuns

COMPILED: tuple[Callable[[Task], Engine], ...] = (traced_runs.of, compilation.of)
"""The compiled engines; each raises RefusedError for a task that it cannot run exactly."""
LONG, FEW = 64, 4
"""Traces advance runs side by side. Of states with more than LONG actions, or of fewer than FEW runs, the
tables are faster and are asked first."""
COMPILE_FROM_SECONDS = 0.5
"""Seconds that NumPy must need for "auto" to load the compiled loops: loading takes as long, once a
process, and compiling, once an installation, takes ten."""
SAY_FROM_SECONDS = 5.0
"""About how many seconds NumPy must need for "auto" to say why a task is left to NumPy."""
_STEP_SECONDS, _ENTRY_SECONDS = 4e-4, 1e-8  # of NumPy, roughly: of a step, and of each logit in it
_said: set[tuple[str, str]] = set()


@dataclass(frozen=True, kw_only=True, slots=True)
class NumpyEngine:
    """Takes the steps of any task by NumPy."""

    task: Task
    in_parallel: bool = False

    def block(self, part: slice, final: np.ndarray) -> Runs:
        task = self.task.take_runs(part)
        return Runs(task) if task.tree is None else TreeRuns(task)


def engine_for(task: Task) -> Engine:
    """Choose the engine of a task and prepare it.

    Raises:
        ValueError: a task that no compiled engine takes where ``engine`` is "compiled", with the reasons;
            or a rule that reads what it does not declare.
    """
    dynamics = task.dynamics
    confirm(dynamics.rule, task.n_runs)
    seconds = dynamics.steps * (_STEP_SECONDS + _ENTRY_SECONDS * float(task.logits.size))
    insists = dynamics.engine == "compiled"
    if dynamics.engine == "numpy" or (not insists and seconds < COMPILE_FROM_SECONDS):
        return NumpyEngine(task=task)
    reasons = []
    tables_first = task.logits.shape[-1] > LONG or task.n_runs < FEW
    for made_ready in COMPILED[::-1] if tables_first else COMPILED:
        try:
            return made_ready(task)
        except RefusedError as reason:
            reasons.append(str(reason))
    why = "; ".join(dict.fromkeys(reasons))
    if insists:
        raise ValueError(
            f"engine 'compiled' cannot simulate '{dynamics.rule.name}' here: {why}; "
            "use engine 'auto' or 'numpy'")
    if seconds >= SAY_FROM_SECONDS:
        _say_once(dynamics.rule.name, why)
    return NumpyEngine(task=task)


def _say_once(name: str, why: str) -> None:
    if (name, why) not in _said:
        _said.add((name, why))
        logging.getLogger(__name__).warning("'%s' runs on NumPy, not compiled: %s", name, why)
