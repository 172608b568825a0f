"""The speed at which entropy collapses under each algorithm, and its exponents (Cui et al., section 2).

Prompts of graded difficulty, with one or several right answers, are trained from the same starts. The
algorithms are policy gradient (REINFORCE), natural gradient, GRPO, RLOO and REINFORCE++, in exact
expectation and from sampled groups. Let w = 1 - p be the probability of a wrong answer, K the number of
wrong answers, and eta the learning rate per prompt. Near w = 0 the gap between right and wrong logits
grows at the rate ``eta kappa w (1 + 1/K)``, so

::

    policy gradient, RLOO      kappa = 1              w ~ 1/(eta (1 + 1/K) t)
    GRPO, groups of G          kappa -> sqrt(G - 1)   the same, sqrt(G - 1) times as fast
    REINFORCE++, batches of N  kappa -> sqrt(N - 1)   the same, sqrt(N - 1) times as fast
    either, infinite group     kappa = w^(-1/2)       w ~ 4/(eta (1 + 1/K) t)^2
    natural gradient           gap grows by eta       w ~ exp(-eta t)

With one right answer ``H ~ w (1 + log(K/w))``. With several, every algorithm whose steps carry the factor
pi goes on sharpening among the right answers, as a power of t. The natural gradient keeps their odds for
ever, and with them the entropy. REINFORCE without a baseline sharpens on solved prompts too, through
noise alone: its samples are all rewarded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from entropy_theory.policy import log_softmax
from entropy_theory.update_rules import UpdateRule, get
from entropy_theory.update_rules.natural_gradient import needs_independent_logits
from simulations.computing.store import Experiment, Progress
from simulations.engine.sampling import Samples
from simulations.engine.trajectory import Record
from simulations.experiments.grid import gridded, trained
from simulations.problems.bandits import Bandit

GONE = -650.0
"""Log-probability of a wrong answer below which nothing is left to measure in float64."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings."""

    n_actions: int = 20
    right_answers: tuple[int, ...] = (1, 4)
    accuracies: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8)
    n_starts: int = 6
    learning_rate: float = 4.0
    """Learning rate of the mean over prompts: a prompt's own is this over the number of prompts."""
    group_size: int = 8
    stages: tuple[tuple[int, int], ...] = ((50, 1), (450, 10), (1000, 50))
    """(steps, steps between records), one after the other: records even on a logarithmic axis."""
    natural_stages: int = 2
    """How many of the stages the natural gradient runs, which is done sooner."""


PROFILES = {
    "smoke": Config(right_answers=(1, 2), n_starts=2, stages=((20, 1), (80, 20)), natural_stages=1),
    "default": Config(),
    "full": Config(n_starts=32, stages=((50, 1), (450, 10), (4500, 50), (45000, 500))),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Algorithm:
    """A rule, how it is run, and how fast its wrong answers are predicted to vanish."""

    rule: UpdateRule
    sampled: bool
    exponent: float
    """The exponent of w as a power of t as t grows; NaN where w falls exponentially."""
    speed: float
    """kappa as w -> 0: the growth of 1/w per unit eta t, relative to the policy gradient's; NaN where
    1/w does not grow in proportion to t."""


def algorithms(config: Config) -> dict[str, Algorithm]:
    """The algorithms compared, by the name they are shown under."""
    group, batch = config.group_size, config.group_size * len(config.accuracies)

    def one(rule: UpdateRule, sampled: bool, exponent: float, speed: float) -> Algorithm:
        return Algorithm(rule=rule, sampled=sampled, exponent=exponent, speed=speed)

    return {
        "PG": one(get("reinforce"), False, -1.0, 1.0),
        "NPG": one(get("natural-gradient"), False, math.nan, math.nan),
        "GRPO": one(get("grpo", group_size=group), False, -1.0, math.sqrt(group - 1)),
        "GRPO, infinite group": one(get("grpo"), False, -2.0, math.nan),
        "REINFORCE++, infinite batch": one(
            get("reinforce", estimator="reinforce++"), False, -2.0, math.nan),
        "REINFORCE, sampled": one(get("reinforce"), True, -1.0, 1.0),
        "RLOO, sampled": one(get("reinforce", estimator="leave-one-out"), True, -1.0, 1.0),
        "GRPO, sampled": one(get("grpo"), True, -1.0, math.sqrt(group - 1)),
        "REINFORCE++, sampled": one(
            get("reinforce", estimator="reinforce++"), True, -1.0, math.sqrt(batch - 1)),
    }


def work(config: Config) -> int:
    """Return the number of engine steps in all."""
    steps = [steps for steps, _ in config.stages]
    others = len(algorithms(config)) - 1
    return others * sum(steps) + sum(steps[: config.natural_stages])


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Wrong answers and entropy of every algorithm along its run, and the exponents."""
    problems = [Bandit(n_actions=config.n_actions, n_correct=m, accuracies=config.accuracies)
                for m in config.right_answers]
    starts = np.concatenate([problem.starts(config.n_starts, seed) for problem in problems])
    correct = np.repeat(np.concatenate([p.correct for p in problems]), config.n_starts, axis=0)
    chosen = algorithms(config)
    step = np.cumsum([0, *(every for steps, every in config.stages for _ in range(steps // every))])
    axes: dict[str, Any] = {
        "algorithm": chosen, "step": step, "right_answers": config.right_answers,
        "start": np.arange(config.n_starts)}
    shape = [len(values) for values in axes.values()]
    columns = {name: np.full(shape, np.nan) for name in ("log_wrong", "entropy", "within_right")}
    for i, algorithm in enumerate(chosen.values()):
        found = _trajectory(starts, correct, algorithm, config, seed, progress)
        for name, values in found.items():
            columns[name][i, : len(values)] = values.reshape(-1, *shape[2:])
    dataset = gridded(axes, **columns)
    return dataset.merge(_rates(dataset, chosen, config))


def _trajectory(
    logits: np.ndarray, correct: np.ndarray, algorithm: Algorithm, config: Config, seed: int,
    progress: Progress,
) -> dict[str, np.ndarray]:
    """Run the stages; return each column [records, runs], NaN where no wrong answer is left."""
    natural = needs_independent_logits(algorithm.rule)
    stages = config.stages[: config.natural_stages] if natural else config.stages
    pieces: dict[str, list[np.ndarray]] = {"log_wrong": [], "entropy": [], "within_right": []}
    for i, (steps, every) in enumerate(stages):
        run = trained(
            logits, correct, algorithm.rule, config, seed + 7919 * i, progress,
            record=Record(logits=True), steps=steps, record_every=every,
            samples=Samples(group_size=config.group_size) if algorithm.sampled else None)
        logits = run.final_logits
        new = slice(0 if i == 0 else 1, None)
        log_wrong = np.logaddexp.reduce(
            np.where(correct, -np.inf, log_softmax(run.logits[new])), axis=-1)
        log_wrong = np.logaddexp.reduce(log_wrong, axis=-1) - math.log(len(config.accuracies))
        left = log_wrong > GONE
        pieces["log_wrong"].append(np.where(left, log_wrong, np.nan))
        pieces["entropy"].append(np.where(left, run.entropy[new], np.nan))
        pieces["within_right"].append(run.entropy_within_correct[new])
    return {name: np.concatenate(parts) for name, parts in pieces.items()}


def _rates(dataset: xr.Dataset, chosen: dict[str, Algorithm], config: Config) -> xr.Dataset:
    """Exponents over the last factor of four in time, speeds, and what is predicted of them."""
    last = int(dataset.step[-1])
    late = dataset.where(dataset.step >= last / 4, drop=True)
    eta = config.learning_rate / len(config.accuracies)
    rates = xr.Dataset({
        "exponent": _slope(late.log_wrong),
        "predicted_exponent": ("algorithm", [a.exponent for a in chosen.values()]),
        "predicted_speed": ("algorithm", [a.speed for a in chosen.values()]),
    })
    one_over = np.exp(-late.log_wrong)
    growth = (one_over.isel(step=-1) - one_over.isel(step=0)) / (eta * (last - int(late.step[0])))
    rates["speed"] = growth / growth.sel(algorithm="PG", drop=True)
    natural = dataset.log_wrong.sel(algorithm="NPG", drop=True).dropna("step", how="any")
    natural = natural.isel(step=slice(natural.sizes["step"] // 2, None))
    rates["natural_rate"] = (natural.isel(step=0) - natural.isel(step=-1)) / (
        eta * float(natural.step[-1] - natural.step[0]))
    return rates


def _slope(values: xr.DataArray) -> xr.DataArray:
    """Least-squares slope against log(step)."""
    x = np.log(values.step) - np.log(values.step).mean()
    return (values * x).sum("step", skipna=False) / (x**2).sum("step")


LONG_NAMES = {
    "log_wrong": "log of the probability of a wrong answer, mean over prompts",
    "entropy": "policy entropy, nats",
    "within_right": "entropy given a right answer, nats",
    "exponent": "d log(wrong answers) / d log(step), last factor of 4 in steps",
    "speed": "growth of 1/(wrong answers), in units of the policy gradient's",
    "natural_rate": "natural gradient: decay rate of wrong answers per step and learning rate",
}


EXPERIMENT = Experiment.of(
    __name__, name="collapse",
    source="Cui et al., Theorems 1 and 2; asymptotic rates",
    title="Entropy collapse: exponents under PG, NPG, GRPO, RLOO, REINFORCE++",
    caption="Probability of a wrong answer and entropy among right answers by step, over algorithms, in "
            "exact expectation and from samples, with the predicted exponents and rates.",
    modes=("exact", "sampled"),
)
