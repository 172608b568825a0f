"""How the coefficients of R = -a e^H + b depend on algorithm and capacity (Cui et al., Figures 6, 7).

Figure 6: GRPO, RLOO, PRIME and REINFORCE++ share one curve, so the coefficients are called
algorithm-irrelevant. In exact expectation RLOO and REINFORCE++ *are* the policy gradient, up to one step
size for all prompts, so one curve is a matter of course. The same algorithms are also run on sampled
groups. GRPO weighs prompts by their difficulty, and the natural gradient weighs actions by their rarity:
those are other algorithms.

Figure 7: within a family of models a and b are linear in the logarithm of the size N. Three quantities
stand for size here:

- ``prior``: right answers stand s nats above the noise of the starting logits. Losses fall as powers of
  N, so that s grows like log N; every policy remains reachable. Size as knowledge.
- ``features``: logits are linear in d random features of (prompt, answer), shared by all prompts. The
  start is the least-squares fit of d features to a teacher's logits, and the same d parameters are then
  trained. Size as number of parameters, in pretraining and in reinforcement learning.
- ``features, one start``: the same without the pretraining: every d starts from the same logits. Size as
  what can be reached alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from entropy_theory import performance_law as law
from entropy_theory.update_rules import UpdateRule, get
from simulations.computing.store import Experiment, Progress
from simulations.engine.sampling import Samples
from simulations.engine.trajectory import Trajectory
from simulations.experiments.curves import matched_horizon, resample, value_when_reached
from simulations.experiments.grid import Grid, gridded, over, trained
from simulations.problems.bandits import Bandit
from simulations.problems.shared_parameters import random_features

POINTS = 236
STAND_INS = ("prior", "features", "features, one start")


@dataclass(frozen=True, kw_only=True, slots=True)
class Algorithm:
    """An algorithm, how far it moves in a step, and whether its groups are sampled."""

    rule: UpdateRule
    pace: float = 1.0
    """Learning rate of a prompt over ``Config.learning_rate``: it makes curves about equally long."""
    sampled: bool = False
    steps: float = 1.0
    """Number of steps over ``Config.steps``."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings."""

    n_actions: int = 20
    right_answers: tuple[int, ...] = (1, 5)
    prompts: int = 24
    n_starts: int = 3
    steps: int = 600
    learning_rate: float = 1.0
    """The learning rate of each prompt, whatever the number of prompts."""
    group_size: int = 8
    shares: tuple[float, ...] = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
    """Shares of the starting entropy at which algorithms are compared."""
    priors: tuple[float, ...] = (0.0, 0.5, 1.0, 1.5, 2.0)
    """The values of s, as many as ``features`` has."""
    features: tuple[int, ...] = (30, 60, 120, 240, 480)
    teacher: float = 3.0
    """How much larger the teacher's logits of right answers are, nats."""
    capacity_right: int = 2


PROFILES = {
    "smoke": Config(right_answers=(5,), prompts=4, n_starts=2, steps=100, learning_rate=4.0,
                    priors=(0.0, 1.0, 2.0), features=(15, 30, 60)),
    "default": Config(),
    "full": Config(n_actions=30, prompts=48, n_starts=12, steps=2000,
                   priors=(0.0, 0.4, 0.8, 1.2, 1.6, 2.0), features=(45, 90, 180, 360, 720, 1440)),
}


def algorithms(config: Config) -> dict[str, Algorithm]:
    """The algorithms compared, by the name they are shown under.

    Leave-one-out advantages are G / (G - 1) times those centered by the group, which cost less.
    """
    leave_one_out = config.group_size / (config.group_size - 1)
    return {
        "GRPO": Algorithm(rule=get("grpo", group_size=config.group_size)),
        "policy gradient (RLOO)": Algorithm(
            rule=get("reinforce", estimator="group-centered"), pace=2.0),
        "REINFORCE++": Algorithm(rule=get("reinforce", estimator="reinforce++")),
        "natural gradient": Algorithm(rule=get("natural-gradient"), pace=0.6, steps=0.2),
        "GRPO, sampled": Algorithm(rule=get("grpo"), sampled=True),
        "RLOO, sampled": Algorithm(
            rule=get("reinforce", estimator="group-centered"), pace=2.0 * leave_one_out, sampled=True),
        "REINFORCE++, sampled": Algorithm(
            rule=get("reinforce", estimator="reinforce++"), sampled=True),
    }


def work(config: Config) -> int:
    """Return the number of engine steps in all."""
    by_algorithm = sum(_steps(config, algorithm) for algorithm in algorithms(config).values())
    return by_algorithm + config.steps * (len(config.priors) + 2 * len(config.features))


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Coefficients and curves by algorithm; coefficients by capacity."""
    by_algorithm = over(
        _algorithm, {"algorithm": list(algorithms(config))}, config, seed, progress,
    ).assign_coords(share=list(config.shares))
    axes = {"stand_in": STAND_INS, "capacity": range(len(config.features))}
    by_capacity = over(_capacity, axes, config, seed, progress).drop_vars("capacity")
    return xr.merge([by_algorithm, by_capacity])


def _steps(config: Config, algorithm: Algorithm) -> int:
    return round(config.steps * algorithm.steps)


def _algorithm(cell: tuple[Config, int, str], progress: Progress) -> xr.Dataset:
    config, seed, name = cell
    algorithm = algorithms(config)[name]
    problems = tuple(
        Bandit(n_actions=config.n_actions, n_correct=m, accuracies=(None,) * config.prompts)
        for m in config.right_answers)
    grid = Grid(problems, config.n_starts, "repeat", (0,), seed)
    run = trained(
        grid.logits, grid.correct, algorithm.rule, config, seed, progress, record_every=2,
        steps=_steps(config, algorithm),
        learning_rate=algorithm.pace * config.learning_rate * config.prompts,
        samples=Samples(group_size=config.group_size) if algorithm.sampled else None)
    dataset = grid.unflatten(_coefficients(run)).squeeze("repeat", drop=True)
    levels = run.entropy[0][:, None] * np.asarray(config.shares)
    at = value_when_reached(run.entropy, run.reward, levels, falling=True)
    dataset["reward_at_entropy"] = (
        ("right_answers", "start", "share"), at.reshape(*grid.shape[:2], len(config.shares)))
    return dataset


def _capacity(cell: tuple[Config, int, str, int], progress: Progress) -> xr.Dataset:
    config, seed, stand_in, place = cell
    size = config.priors[place] if stand_in == "prior" else config.features[place]
    problem = Bandit(n_actions=config.n_actions, n_correct=config.capacity_right,
                     accuracies=(None,) * config.prompts)
    start, features = problem.starts(config.n_starts, seed), None
    if stand_in == "prior":
        start = start + size * problem.correct
    else:
        features = random_features(config.prompts, config.n_actions, int(size), seed=(seed, 1))
        if stand_in == "features":
            start = pretrained(features, start + config.teacher * problem.correct)
    run = trained(
        start, problem.correct, get("grpo", group_size=config.group_size), config, seed, progress,
        learning_rate=config.learning_rate * config.prompts, record_every=2, features=features)
    columns = {f"capacity_{name}": values for name, values in _coefficients(run).items()}
    shown = np.exp(size) if stand_in == "prior" else size
    return gridded({"start": np.arange(config.n_starts)}, **columns, capacity_size=float(shown))


def pretrained(features: np.ndarray, teacher: np.ndarray) -> np.ndarray:
    """The logits linear in ``features`` [rows, d] nearest to a teacher's [runs, states, actions]."""
    centered = teacher - teacher.mean(axis=-1, keepdims=True)
    basis, _ = np.linalg.qr(features)
    flat = centered.reshape(len(teacher), -1)
    return (flat @ basis @ basis.T).reshape(teacher.shape)


def _coefficients(run: Trajectory) -> dict[str, np.ndarray]:
    """The law fitted to each run on the paper's schedule, and where the run starts and ends: [runs]."""
    horizon = matched_horizon(run.step, run.entropy)
    names = ("a", "b", "ceiling", "rmse")
    found = {name: np.full(len(horizon), np.nan) for name in (*names, "final_reward")}
    for i in np.flatnonzero(np.isfinite(horizon)):
        entropy, reward = (resample(run.step, values[:, [i]], horizon[[i]], POINTS)[:, 0]
                           for values in (run.entropy, run.reward))
        fitted = law.fit(entropy, reward)
        for name in names:
            found[name][i] = getattr(fitted, name)
        found["final_reward"][i] = reward[-1]
    return found | {"start_entropy": run.entropy[0], "start_reward": run.reward[0]}


LONG_NAMES = {
    "a": "performance lost per unit of e^H",
    "b": "constant of the law",
    "ceiling": "b - a, performance announced at zero entropy",
    "rmse": "root mean squared residual of the law, performance",
    "final_reward": "probability of a right answer at the end of the paper's schedule",
    "capacity_final_reward": "probability of a right answer at the end, by capacity",
    "reward_at_entropy": "probability of a right answer when entropy first falls to a share of its start",
    "share": "entropy over starting entropy",
    "start_entropy": "entropy at the start, nats",
    "capacity_size": "size: e^s of prior, number of features",
    "capacity_a": "a, by capacity",
    "capacity_b": "b, by capacity",
    "capacity_ceiling": "b - a, by capacity",
}


EXPERIMENT = Experiment.of(
    __name__, name="performance_law_coefficients",
    source="Cui et al., Figures 6 and 7",
    title="The coefficients of the law against algorithm and capacity",
    caption="The coefficients a and b of R = b - a exp(H) by algorithm and by capacity, and reward at "
            "equal entropy; over starts.",
    modes=("exact", "sampled"),
)
