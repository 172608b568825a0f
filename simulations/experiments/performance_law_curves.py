"""The law R = -a e^H + b on exact curves: how well, how surely, how early (Cui et al., Figures 1, 5).

Cui et al. fit the law to runs of language models (R^2 is not printed). Fitted to the first 36 of 236
points, it forecasts the rest to 0.9 % (mathematics) and 1.2 % (code). Here sets of prompts with one-token
answers are trained by GRPO in exact expectation. Training ends at the step at which they have spent their
entropy on the paper's schedule (`curves.matched_horizon`). The same 36 + 200 points are fitted and
predicted, and the law is compared with three rivals by corrected Akaike criterion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr

from entropy_theory import performance_law as law
from entropy_theory.update_rules import get
from simulations.computing.store import Experiment, Progress
from simulations.experiments.curves import matched_horizon, resample
from simulations.experiments.grid import Grid, over, trained
from simulations.problems.bandits import Bandit

EARLY, LATER = 36, 200
"""How many points are fitted, and how many predicted (Cui et al., Figure 5): 15 % of 236 are fitted."""
RIVALS = ("exponential", "linear", "power", "one right answer")

FAMILIES: dict[str, Callable[[int, int], Bandit]] = {
    "one right, all alike": lambda n, prompts: Bandit(
        n_actions=n, scale=0.0, accuracies=(None,) * prompts),
    "one right": lambda n, prompts: Bandit(n_actions=n, accuracies=(None,) * prompts),
    "a quarter right": lambda n, prompts: Bandit(
        n_actions=n, n_correct=max(n // 4, 1), accuracies=(None,) * prompts),
    "a tenth right, graded": lambda n, prompts: Bandit(
        n_actions=n, n_correct=max(n // 10, 1), accuracies=graded(prompts)),
    "a tenth right, graded, peaked": lambda n, prompts: Bandit(
        n_actions=n, n_correct=max(n // 10, 1), scale=3.0, accuracies=graded(prompts)),
}
"""Problem families by (answers, prompts). A graded one has a third each at accuracy 0.125, 0.5, 0.875."""


def graded(prompts: int) -> tuple[float, ...]:
    """Return the accuracies at the start: the batch accuracies of Cui et al., Figure 8."""
    return ((0.125, 0.5, 0.875) * prompts)[:prompts]


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings; ``steps`` has one entry a size: the longest run that may be needed."""

    families: tuple[str, ...] = tuple(FAMILIES)
    sizes: tuple[int, ...] = (10, 30, 100)
    steps: tuple[int, ...] = (350, 800, 1800)
    prompts: int = 24
    n_starts: int = 3
    group_size: int = 8
    learning_rate: float = 1.0
    """The learning rate of each prompt, whatever the number of prompts."""


PROFILES = {
    "smoke": Config(families=tuple(FAMILIES)[:2], sizes=(10,), steps=(160,), prompts=6, n_starts=2,
                    learning_rate=2.0),
    "default": Config(),
    "full": Config(sizes=(10, 30, 100, 300), steps=(1500, 2500, 5000, 10000), prompts=48, n_starts=12),
}


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Curves on the paper's schedule, the law fitted to all and to the early points, its rivals."""
    dataset = over(
        _train_and_fit, {"size": config.sizes}, config, seed, progress,
    ).assign_coords(family=list(config.families), start=np.arange(config.n_starts),
                    point=np.arange(EARLY + LATER), rival=list(RIVALS))
    dataset["final_covered"] = (
        (dataset.final_low <= dataset.final_reward) & (dataset.final_reward <= dataset.final_high)
    ).where(dataset.horizon.notnull())
    return dataset


def _train_and_fit(cell: tuple[Config, int, int], progress: Progress) -> xr.Dataset:
    config, seed, size = cell
    steps = config.steps[config.sizes.index(size)]
    problems = tuple(FAMILIES[name](size, config.prompts) for name in config.families)
    grid = Grid(problems, config.n_starts, "repeat", (0,), seed)
    run = trained(
        grid.logits, grid.correct, get("grpo", group_size=config.group_size), config, seed, progress,
        steps=steps, learning_rate=config.learning_rate * config.prompts,
        record_every=max(steps // 900, 1))
    shape = (len(config.families), config.n_starts)
    horizon = matched_horizon(run.step, run.entropy)
    columns = {name: np.full(shape, np.nan) for name in FITTED}
    curves = {name: np.full((*shape, EARLY + LATER), np.nan) for name in ("entropy", "reward")}
    aicc = np.full((*shape, len(RIVALS)), np.nan)
    for i in np.flatnonzero(np.isfinite(horizon)):
        place = divmod(int(i), config.n_starts)
        entropy, reward = (resample(run.step, values[:, [i]], horizon[[i]], EARLY + LATER)[:, 0]
                           for values in (run.entropy, run.reward))
        curves["entropy"][place], curves["reward"][place] = entropy, reward
        for name, value in fits(entropy, reward).items():
            columns[name][place] = value
        for rival in law.rivals(entropy, reward):
            aicc[place][RIVALS.index(rival.name)] = rival.aicc
    axes = ("family", "start")
    return xr.Dataset(
        {**{name: (axes, values) for name, values in columns.items()},
         **{name: ((*axes, "point"), values) for name, values in curves.items()},
         "aicc": ((*axes, "rival"), aicc),
         "horizon": (axes, horizon.reshape(shape))})


FITTED = ("a", "b", "ceiling", "rmse", "r_squared", "early_rmse", "final_error", "final_low",
          "final_high", "final_reward")
LONG_NAMES = {
    "entropy": "mean policy entropy over prompts, nats",
    "reward": "probability of a right answer, mean over prompts",
    "horizon": "optimizer steps to the end of the paper's schedule",
    "a": "performance lost per unit of e^H",
    "b": "constant of the law",
    "ceiling": "b - a, performance announced at zero entropy",
    "rmse": "root mean squared residual of the law, performance",
    "r_squared": "share of the variance of performance explained",
    "early_rmse": "error over the later 200 points of the law fitted to the first 36, performance",
    "final_error": "announced minus true performance at the end, from the first 36 points",
    "final_low": "lower end of the 95 % prediction interval of the end",
    "final_high": "upper end of the 95 % prediction interval of the end",
    "final_reward": "performance at the end",
    "final_covered": "1 where the interval holds the end",
    "aicc": "corrected Akaike criterion (236 points); the smallest wins",
    "size": "number of answers to a prompt",
    "family": "problem family",
}


def fits(entropy: np.ndarray, reward: np.ndarray) -> dict[str, float]:
    """Fit the law to all points of a curve and to the early ones; return both fits' numbers by name."""
    fitted, early = law.fit(entropy, reward), law.fit(entropy[:EARLY], reward[:EARLY])
    announced = early.predict(entropy[EARLY:])
    low, high = early.interval(entropy[-1])
    return {
        **{name: getattr(fitted, name) for name in FITTED[:5]},
        "early_rmse": float(np.sqrt(np.mean((announced - reward[EARLY:]) ** 2))),
        "final_error": float(announced[-1] - reward[-1]),
        "final_low": float(low),
        "final_high": float(high),
        "final_reward": float(reward[-1]),
    }


EXPERIMENT = Experiment.of(
    __name__, name="performance_law_curves",
    source="Cui et al., Figures 1 and 5",
    title="Reward against entropy: the exponential law on exact curves",
    caption="Reward against entropy along exact GRPO, over families of prompts and numbers of answers, "
            "with the fit of R = b - a exp(H), its prediction from early points and three rival forms.",
    work=lambda config: sum(config.steps),
)
