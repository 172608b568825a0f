"""Temperature-controlled REINFORCE alone (AEPO, Figure 2): the effect of T on entropy, and when.

REINFORCE trains on samples of pi^T with a binary reward, without a baseline, at one temperature per run.
The paper sees entropy rise at high T and fall at low T, the rise slower. In the tabular bandit the rate
is ``F(T) = -sum_{A*} pi^T_a (c_a - C)`` per unit learning rate (Theorem 4.3). Its sign depends on the
start. While probability still moves from wrong to right answers entropy can fall at every T. With one
right answer the sign does not depend on T at all. Only among right answers does the printed picture hold
without exception.
"""

from __future__ import annotations

from dataclasses import dataclass

import xarray as xr

from entropy_theory.entropy_change import tempered_reinforce_rate
from entropy_theory.update_rules import get
from simulations.computing.store import Experiment, Progress
from simulations.experiments.grid import Grid, joined, trained
from simulations.problems.bandits import Bandit


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings; 1.2 and 0.8 are AEPO's temperatures."""

    n_actions: int = 20
    right_answers: tuple[int, ...] = (1, 4, 8)
    temperatures: tuple[float, ...] = (0.6, 0.8, 1.0, 1.2, 1.5, 2.0)
    accuracies: tuple[float, ...] = (0.1, 0.5, 0.99)
    """Probability of a right answer at the start: hard, medium and solved prompts."""
    n_starts: int = 8
    learning_rate: float = 0.5
    steps: int = 3000
    record_every: int = 20


PROFILES = {
    "smoke": Config(right_answers=(1, 4), accuracies=(0.5, 0.99), n_starts=2, steps=200),
    "default": Config(),
    "full": Config(n_starts=64, steps=20000, record_every=100),
}


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """F(T) at the start, and entropy and reward along runs, at each temperature."""
    return joined("accuracy", {accuracy: _at(config, accuracy, seed, progress)
                               for accuracy in config.accuracies})


def _at(config: Config, accuracy: float, seed: int, progress: Progress) -> xr.Dataset:
    problems = tuple(
        Bandit(n_actions=config.n_actions, n_correct=m, accuracies=(accuracy,))
        for m in config.right_answers
    )
    grid = Grid(problems, config.n_starts, "temperature", config.temperatures, seed)
    run = trained(grid.logits, grid.correct, get("reinforce"), config, seed, progress,
                  temperature=tuple(grid.run_values.tolist()))
    found = grid.curves(run, ("entropy", "reward", "entropy_within_correct"))
    rate = tempered_reinforce_rate(grid.logits[:, 0], grid.correct[:, 0], grid.run_values)
    return found.assign(initial_rate=(grid.dims, rate.reshape(grid.shape)))


EXPERIMENT = Experiment.of(
    __name__, name="aepo_figure_2",
    source="AEPO, Figure 2",
    title="Entropy under temperature-controlled REINFORCE",
    caption="REINFORCE alone on a second batch at one temperature, over temperatures, accuracies and "
            "numbers of right answers: first-step rate of entropy, and entropy by step.",
    labels={"accuracy": "probability of a right answer at the start",
            "initial_rate": "F(T) at the start, nats per unit learning rate"},
    work=lambda config: len(config.accuracies) * config.steps,
)
