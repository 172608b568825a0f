"""Cells of a sweep: the runs that one call of the engine computes, and what is kept of them.

Runs may share a call if they differ only in values that the engine takes for each run. These are the
start, the learning rate, the temperature and the target entropy. Options of rules may differ, too, if
they may be arrays with one number per run (coefficients, alpha).
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from entropy_theory.update_rules.rule import UpdateRule, components
from simulations.computing.store import Progress
from simulations.engine.dynamics import Dynamics
from simulations.engine.simulation import simulate
from simulations.engine.trajectory import Record, Trajectory
from simulations.problems.bandits import Bandit
from simulations.problems.shared_parameters import Coupled, Random
from simulations.problems.token_trees import TokenProblem

Problem = Bandit | TokenProblem
Features = Coupled | Random


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """The runs of one call of the engine."""

    problem: Problem
    features: Features | None
    """Parameters that states and actions share; None: every logit is its own."""
    dynamics: Dynamics
    record: Record
    starts: tuple[tuple[int, int], ...]
    """(seed, number) of each run's start."""
    run_keys: tuple[str, ...]
    """For each run, a digest of all that determines it."""

    @property
    def updates(self) -> int:
        """The number of logits changed in all steps of all runs, which is the unit of progress."""
        return len(self.starts) * logits_per_run(self.problem) * self.dynamics.steps


def shape_of(problem: Problem) -> tuple[int, int]:
    """Return the problem's (states, actions)."""
    prompts = len(problem.accuracies)
    if isinstance(problem, Bandit):
        return prompts, problem.n_actions
    return prompts * problem.tree.n_states, problem.n_tokens


def logits_per_run(problem: Problem) -> int:
    """Return the number of logits of a run: states times actions."""
    return math.prod(shape_of(problem))


def stacked(dynamics: Sequence[Dynamics], first_run: int) -> Dynamics:
    """Join the dynamics of several runs, which differ in `per_run_values` only, into one.

    Args:
        dynamics: those of each run.
        first_run: number of the first run, by which its samples are keyed.
    """
    whole = dataclasses.replace(dynamics[0], first_run=first_run)
    columns = [per_run_values(one) for one in dynamics]
    for path in columns[0]:
        values = tuple(column[path] for column in columns)
        if len(set(values)) == 1:
            continue
        if path == ("rule", "target"):
            whole = dataclasses.replace(whole, targets=values)
        else:
            whole = _replaced(whole, path, values)
    return whole


def per_run_values(dynamics: Dynamics) -> dict[tuple[str, ...], float]:
    """Return the numbers that may differ from run to run, by their place in the dynamics."""
    found: dict[tuple[str, ...], Any] = {("learning_rate",): dynamics.learning_rate}
    if dynamics.temperature is not None:
        found["temperature",] = dynamics.temperature
    rule = dynamics.rule
    loops = (rule.controller(), rule.coefficient_controller())
    # Targets given to the engine go to every controller that has one.
    one_loop = sum(loop is not None and loop.takes_target for loop in loops) == 1
    moves = dynamics.target_schedule is not None or any(
        loop is not None and loop.target_schedule is not None for loop in loops)
    target = getattr(rule, "target", None)
    if one_loop and not moves and target is not None:
        found["rule", "target"] = target
    for path, part in components(rule):
        names = [step for step in path if isinstance(step, str)]
        if len(names) == len(path):  # The terms of a sum have no names.
            found |= {("rule", *names, name): value for name, value in _per_run_options(part).items()}
    return found


def _per_run_options(rule: UpdateRule) -> dict[str, float]:
    """Return the rule's own options that are one number and may be one per run (annotated ``Array``)."""
    values = {field.name: getattr(rule, field.name)
              for field in dataclasses.fields(rule) if field.type == "Array"}
    return {name: value for name, value in values.items() if isinstance(value, (int, float))}


def _replaced(record: Any, path: tuple[str, ...], value: Any) -> Any:
    first, *rest = path
    inner = _replaced(getattr(record, first), tuple(rest), value) if rest else value
    return dataclasses.replace(record, **{first: inner})


def run_cell(cell: Cell, progress: Progress) -> xr.Dataset:
    """Train the runs of a cell, and return variables over (step, run), (step, run, k) and (run).

    A run that cannot be simulated (its logits diverge) is NaN, and the attribute ``errors`` has its error
    by its place. The other runs are then computed without it. ``progress`` counts ``Cell.updates``.
    """
    left = cell.updates

    def report(updates: int) -> None:
        nonlocal left
        updates = min(updates, left)
        left -= updates
        progress(updates)

    parts = list(_train(cell, slice(0, len(cell.starts)), report))
    report(left)
    errors = {part.start: found for part, found in parts if isinstance(found, str)}
    datasets = [found for _, found in parts if isinstance(found, xr.Dataset)]
    dataset = xr.Dataset()
    if datasets:
        lost = xr.full_like(datasets[0].isel(run=[0]), np.nan)
        dataset = xr.concat(
            [lost if isinstance(found, str) else found for _, found in parts], dim="run")
    return dataset.assign_attrs(run_keys=json.dumps(cell.run_keys), errors=json.dumps(errors))


def _train(cell: Cell, part: slice, report: Progress) -> Iterator[tuple[slice, xr.Dataset | str]]:
    """Yield the Datasets of consecutive runs, or the error of a single one.

    Where a part fails, its halves are tried.
    """
    problem = cell.problem
    logits = starts(problem, cell.starts[part])
    try:
        run = simulate(
            logits,
            problem.reward if isinstance(problem, Bandit) else problem.correct,
            cell.dynamics.take_runs(len(cell.starts), part),
            tree=None if isinstance(problem, Bandit) else problem.tree,
            features=None if cell.features is None else cell.features.features(*shape_of(problem)),
            record=cell.record,
            progress=lambda steps: report(int(steps) * logits.size),
        )
    except ValueError as error:
        if part.stop - part.start == 1:
            yield part, str(error)
            return
        middle = (part.start + part.stop) // 2
        yield from _train(cell, slice(part.start, middle), report)
        yield from _train(cell, slice(middle, part.stop), report)
    else:
        yield part, _as_dataset(run)


def starts(problem: Problem, chosen: Sequence[tuple[int, int]]) -> np.ndarray:
    """Starting logits [runs, states, actions] of each (seed, number)."""
    drawn = {
        seed: problem.starts(1 + max(n for s, n in chosen if s == seed), seed)
        for seed in {seed for seed, _ in chosen}
    }
    return np.stack([drawn[seed][number] for seed, number in chosen])


def _as_dataset(run: Trajectory) -> xr.Dataset:
    """Return the columns that hold a number for each run, or for each record and run."""
    n_records, n_runs = run.entropy.shape
    columns: dict[str, Any] = {"pass_at_k": (("step", "run", "k"), run.pass_at_k)}
    for field in dataclasses.fields(run):
        value = getattr(run, field.name)
        for dims, shape in ((("run",), (n_runs,)), (("step", "run"), (n_records, n_runs))):
            if field.name != "step" and np.shape(value) == shape:
                columns[field.name] = (dims, np.asarray(value, dtype=float))
    return xr.Dataset(columns, coords={"step": run.step, "k": list(run.pass_at)})
