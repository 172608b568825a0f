"""The engine: many tabular policies trained at once by one update rule, exactly or from samples.

A run is one policy. Runs differ in their start, right answers, target entropy, temperature, learning rate
or options of the rule. They are advanced together, never one by one, in blocks whose arrays stay in the
processor's cache. A run's results depend on its number alone (``first_run`` + its place), not on its
block.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from entropy_theory.support import cores
from entropy_theory.token_tree import TokenTree
from simulations.engine.array_types import Features, Rewards, Starts
from simulations.engine.dynamics import Dynamics
from simulations.engine.engines import engine_for
from simulations.engine.recorder import train
from simulations.engine.task import Task
from simulations.engine.traced.reads import pools
from simulations.engine.trajectory import Record, Trajectory, concatenate

BLOCK = 2**17
"""The largest number of logits of a block of several runs: 1 MiB an array."""


def simulate(
    logits: Starts,
    reward: Rewards,
    dynamics: Dynamics,
    *,
    tree: TokenTree | None = None,
    features: Features | None = None,
    record: Record | None = None,
    progress: Callable[[int], object] | None = None,
) -> Trajectory:
    """Train every run for ``dynamics.steps`` steps.

    Args:
        logits: [runs, states, actions], the starts; finite. They are not changed.
        reward: boolean (right answers, with reward 1) or numbers (graded), broadcastable to the same.
            With a ``tree``, [runs or 1, prompts, responses].
        dynamics: rule, step size, sampling, schedule and seed; the same seed gives the same result.
        tree: the tree of responses of several tokens; states are prompts x states of the tree,
            prompt-major. With None answers are single actions.
        features: [states * actions, d]: parameters theta shared by states and actions, logits = start
            + features @ theta, theta moving by gradient steps. With [parts, states * actions, d] each of
            so many equal parts of the runs has its own. With None every logit is a parameter.
        record: records beside the columns that always are; `Record()` by default.
        progress: called now and then with the number of steps taken since the last call.

    Raises:
        ValueError: an invalid problem (`problems.check_problem`), or per-run values whose number is not
            that of the runs. A rule whose coefficients change in a second call, or steps of it that the
            engine cannot take. Logits that stop being finite, with the step.
    """
    task = Task.checked(logits, reward, dynamics, tree=tree, features=features, record=record,
                        pools=pools(dynamics.rule, np.size(logits, 0) if np.ndim(logits) else 1))
    engine = engine_for(task)
    report = _Report(task.n_runs, progress)
    # Written block by block, so that the trajectories' parts are never held beside the whole.
    final = np.empty(task.logits.shape)

    def trajectory(part: slice) -> Trajectory:
        return train(engine.block(part), final[part], report)

    parts = list(blocks(task.n_runs, max(task.logits[0].size, task.row_tokens), engine.in_parallel,
                        task.part_runs))
    if not engine.in_parallel or len(parts) == 1 or threads() == 1:
        return concatenate([trajectory(part) for part in parts], final)
    with ThreadPoolExecutor(threads()) as pool:
        return concatenate(list(pool.map(trajectory, parts)), final)


def blocks(n_runs: int, one_run: int, parallel: bool, part_runs: int = 1) -> Iterator[slice]:
    """Cut runs into blocks that are advanced together; ``one_run`` is the size of a run's largest array.

    Blocks that may run in parallel are at least four, each of at least 32 runs if there are enough. Where
    the cache bounds them they are whole groups of 16 runs, which traces advance side by side. Blocks are
    made of whole parts of ``part_runs`` runs.
    """
    size = max(1, BLOCK // one_run)
    if parallel:
        size -= size % 16 if size > 16 else 0
        size = min(size, max(32, math.ceil(n_runs / 4)))
    size = max(size - size % part_runs, part_runs)
    for start in range(0, n_runs, size):
        yield slice(start, min(start + size, n_runs))


def threads() -> int:
    """The number of threads for blocks: OMP_NUM_THREADS, else the processors this process may use."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return cores.usable()


class _Report:
    """Calls ``progress`` with the steps that all runs together have taken."""

    def __init__(self, n_runs: int, progress: Callable[[int], object] | None) -> None:
        self.n_runs, self.progress = n_runs, progress
        self.taken = self.told = 0
        self.lock = threading.Lock()

    def __call__(self, steps: int) -> None:
        """Add ``steps`` newly taken steps, times runs, of any block."""
        with self.lock:
            self.taken += steps
            new = self.taken // self.n_runs - self.told
            if self.progress is not None and new > 0:
                self.progress(new)
                self.told += new
