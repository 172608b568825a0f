"""Five targets, and where they hold (AEPO, Figure 1): AEPO steers entropy, up to a ceiling.

AEPO's printed update (GRPO + alpha x REINFORCE on samples of pi^T, T switched by the entropy) runs on
bandits with one right answer and with several, in exact expectation. No target above ``log |A*|`` is
held, whatever the temperatures and alpha. The probability of a right answer tends to 1, so only the
entropy among right answers remains (claim ``aepo.arbitrary-entropy``).

Below it a race decides: T_high can spread over the right answers that GRPO has not yet driven out when
wrong answers are gone. A run that samples at T_high throughout (a target no policy can reach) shows how
far that is from each start: ``reach``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr

from entropy_theory.update_rules import get
from simulations.computing.store import Experiment, Progress
from simulations.engine.trajectory import Trajectory
from simulations.experiments.grid import Grid, trained
from simulations.problems.bandits import Bandit

TOLERANCE = 0.02
"""A target counts as held when the mean entropy of the tail is this close to it, nats, while the
temperature keeps switching. Each switch overshoots by up to a step, which grows with alpha; a
target missed by more is not held, though entropy stays near."""
SWITCHES = 10
"""The fewest temperature changes in the tail of a held target; passing through it makes one or two."""

LONG_NAMES = {
    "reach": "entropy after sampling at T_high throughout, nats",
    "held": f"tail entropy within {TOLERANCE:g} nats of the target, temperature switching",
    "sustainable": "the target is below the ceiling",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings; T_high, T_low and G as in the paper's Table 4."""

    n_actions: int = 20
    right_answers: tuple[int, ...] = (1, 2, 4, 8)
    targets: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5)
    alpha: float = 1.0
    alphas: tuple[float, ...] = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
    temperature_high: float = 1.2
    temperature_low: float = 0.8
    n_starts: int = 8
    learning_rate: float = 0.5
    steps: int = 6000
    record_every: int = 20
    group_size: int = 8


PROFILES = {
    "smoke": Config(
        right_answers=(1, 4), targets=(0.5, 2.0), alphas=(0.1, 1.0), n_starts=2, steps=600,
    ),
    "default": Config(),
    "full": Config(
        alphas=(0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0), n_starts=32, steps=20000,
        record_every=50,
    ),
}


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Entropy, reward and temperature under AEPO, and which targets are held."""
    if config.alpha not in config.alphas:
        raise ValueError(f"alpha {config.alpha} is not among the alphas {config.alphas}")
    problems = tuple(Bandit(n_actions=config.n_actions, n_correct=m) for m in config.right_answers)
    # No policy over n actions reaches log(n) + 1: the last target keeps T_high for good.
    never = math.log(config.n_actions) + 1
    grid = Grid(problems, config.n_starts, "target", (*config.targets, never), seed)
    targets, outcomes = list(config.targets), []
    for alpha, run in _scan(grid, config, seed, progress):
        outcome = grid.unflatten({
            "tail_entropy": run.tail_entropy, "tail_reward": run.tail_reward,
            "held": _is_held(run, grid.run_values)})
        reach = outcome.tail_entropy.sel(target=never, drop=True)
        outcomes.append(outcome.sel(target=targets).assign(reach=reach))
        if alpha == config.alpha:
            curves = grid.curves(run).sel(target=targets)
    scan = xr.concat(outcomes, dim="alpha").assign_coords(alpha=list(config.alphas))
    dataset = xr.merge([curves, scan])
    ceiling = xr.DataArray([math.log(m) for m in config.right_answers], dims="right_answers")
    dataset["sustainable"] = dataset.target < ceiling
    dataset = dataset.transpose("alpha", "right_answers", ..., "target", "step")
    dataset.attrs.update(alpha=config.alpha, tolerance=TOLERANCE)
    return dataset


def _scan(
    grid: Grid, config: Config, seed: int, progress: Progress
) -> Iterator[tuple[float, Trajectory]]:
    """Train AEPO on the whole grid, all runs at once; yield each alpha with its trajectory."""
    copies = dataclasses.replace(grid, values=grid.values * len(config.alphas))
    alphas = np.broadcast_to(
        np.repeat(config.alphas, len(grid.values)), (*grid.shape[:2], len(copies.values))
    ).ravel()
    rule = get(
        "aepo", alpha=alphas, temperature_high=config.temperature_high,
        temperature_low=config.temperature_low, base=get("grpo", group_size=config.group_size))
    run = trained(copies.logits, copies.correct, rule, config, seed, progress,
                  targets=tuple(copies.run_values.tolist()))
    for alpha in config.alphas:
        part = run.take_runs(np.flatnonzero(alphas == alpha))
        yield alpha, part


def _is_held(run: Trajectory, targets: np.ndarray) -> np.ndarray:
    """Whether the controller holds the tail's mean entropy at the target: boolean [runs]."""
    return (np.abs(run.tail_entropy - targets) <= TOLERANCE) & (run.tail_switches >= SWITCHES)


EXPERIMENT = Experiment.of(
    __name__, name="aepo_figure_1",
    source="AEPO, Figure 1",
    title="Which target entropies AEPO holds",
    caption="AEPO over target entropies, alpha and numbers of right answers, in exact expectation: "
            "entropy by step, and whether its mean over the tail is at the target.",
    work=lambda config: config.steps,
)
