"""Grids of runs: problems x starts x whatever varies, flattened for the engine and back."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from entropy_theory.update_rules import UpdateRule
from simulations.computing.store import Progress, map_cells
from simulations.computing.workers import CellFunction
from simulations.engine.dynamics import Dynamics
from simulations.engine.simulation import simulate
from simulations.engine.trajectory import Trajectory
from simulations.problems.bandits import Bandit

CURVES = ("entropy", "reward", "temperature", "entropy_within_correct")
LONG_NAMES = {
    "entropy": "policy entropy, nats",
    "reward": "probability of a right answer",
    "temperature": "sampling temperature of the second batch",
    "entropy_within_correct": "entropy given a right answer, nats",
    "tail_entropy": "mean entropy over the tail, nats",
    "tail_spread": "standard deviation of entropy over the tail, nats",
    "tail_reward": "mean probability of a right answer over the tail",
}


def over(
    function: CellFunction, axes: Mapping[str, Sequence[Any]], config: Any, seed: int,
    progress: Progress,
) -> xr.Dataset:
    """Compute a cell for each combination of values, and join them along the axes, the first outermost.

    Args:
        function: a function of a cell ``(config, seed, *values)``, and of ``progress`` as in `map_cells`.
        axes: the values of each axis, by its name. They become its coordinates.
        config, seed, progress: as those of `Experiment.compute`.
    """
    cells = [(config, seed, *values) for values in itertools.product(*axes.values())]
    parts = map_cells(function, cells, progress)
    for name, values in reversed(list(axes.items())):
        parts = [xr.concat(parts[i : i + len(values)], name) for i in range(0, len(parts), len(values))]
    return parts[0].assign_coords({name: list(values) for name, values in axes.items()})


def joined(dim: str, parts: Mapping[Any, xr.Dataset]) -> xr.Dataset:
    """Join Datasets along a new axis, whose coordinates are their keys."""
    return xr.concat(list(parts.values()), dim).assign_coords({dim: list(parts)})


def gridded(axes: Mapping[str, Any], **columns: Any) -> xr.Dataset:
    """Return columns as a Dataset over axes.

    Args:
        axes: the coordinates of each axis, by its name.
        columns: arrays over the first axes, as many as they have dimensions, or pairs (names, array).
    """
    names = tuple(axes)
    return xr.Dataset(
        {name: column if isinstance(column, tuple) else (names[: np.ndim(column)], column)
         for name, column in columns.items()},
        coords={name: list(values) for name, values in axes.items()})


def trained(
    starts: np.ndarray, correct: np.ndarray, rule: UpdateRule, config: Any, seed: int,
    progress: Progress, **options: Any,
) -> Trajectory:
    """Train runs with the learning rate, steps and records of an experiment's config.

    Args:
        starts, correct, progress: arguments of `simulate`.
        rule, seed: those of the `Dynamics`.
        config: the experiment's.
        options: those of `simulate` (record, features, tree), and further options of the `Dynamics`, or
            others than the config's.
    """
    apart = {name: options.pop(name) for name in ("record", "features", "tree") if name in options}
    names = ("learning_rate", "steps", "record_every")
    options = {name: getattr(config, name) for name in names if name not in options} | options
    dynamics = Dynamics(rule=rule, seed=seed, **options)
    return simulate(starts, correct, dynamics, progress=progress, **apart)


@dataclass(frozen=True, slots=True)
class Grid:
    """Runs over all combinations of right answers, starts and one more axis, in that order.

    The same start has the same logits whatever the number of right answers: only the mask differs.
    """

    problems: tuple[Bandit, ...]
    n_starts: int
    axis: str
    """Name of the third axis, such as "target"."""
    values: tuple[Any, ...]
    """The values on the third axis; each (problem, start) has one run for each value."""
    seed: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """The lengths of the three axes."""
        return (len(self.problems), self.n_starts, len(self.values))

    @property
    def dims(self) -> tuple[str, str, str]:
        """The names of the three axes."""
        return ("right_answers", "start", self.axis)

    @property
    def coords(self) -> dict[str, Any]:
        """The coordinates of each axis, by its name."""
        right_answers = [problem.n_correct for problem in self.problems]
        starts = np.arange(self.n_starts)
        return {"right_answers": right_answers, "start": starts, self.axis: list(self.values)}

    @property
    def logits(self) -> np.ndarray:
        """The starting logits, [runs, states, actions]."""
        return self._flat([problem.starts(self.n_starts, self.seed) for problem in self.problems])

    @property
    def correct(self) -> np.ndarray:
        """Mask of the right answers, boolean [runs, states, actions]."""
        return self._flat([problem.correct for problem in self.problems])

    @property
    def run_values(self) -> np.ndarray:
        """[runs]: the third axis' value of each run."""
        return np.broadcast_to(np.asarray(self.values), self.shape).ravel()

    def _flat(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        stacked = np.stack(parts)[:, :, None]
        tail = stacked.shape[-2:]
        return np.broadcast_to(stacked, (*self.shape, *tail)).reshape(-1, *tail)

    def unflatten(self, columns: dict[str, np.ndarray]) -> xr.Dataset:
        """Return columns of shape [runs] as a Dataset over the grid."""
        return _named(
            xr.Dataset(
                {name: (self.dims, np.reshape(c, self.shape)) for name, c in columns.items()},
                coords=self.coords,
            )
        )

    def curves(self, run: Trajectory, names: Sequence[str] = CURVES) -> xr.Dataset:
        """Return the recorded columns ``names`` of a trajectory as a Dataset over grid and step."""
        dims = (*self.dims, "step")
        columns = {n: (dims, getattr(run, n).T.reshape(*self.shape, -1)) for n in names}
        return _named(xr.Dataset(columns, coords={**self.coords, "step": run.step}))


def _named(dataset: xr.Dataset) -> xr.Dataset:
    for name, variable in dataset.data_vars.items():
        if name in LONG_NAMES:
            variable.attrs["long_name"] = LONG_NAMES[str(name)]
    return dataset
