"""Constant against adaptive coefficient, and how much to clamp (AEnt, Eq. 4.1, Figures 5 and 6).

GRPO runs with a clamped-entropy bonus, sampled groups and prompts of graded difficulty. Three questions.

*Does a constant do?* Constants over a wide range are tried. Midway the prompts are replaced by others
with fewer right answers ("entropy can change drastically, and the initially chosen coefficient fails").
*Does the controller stay in its band?* The adaptive coefficient starts from several values and runs at
several rates, through the same change. *How much to clamp?* The share p of removed tokens is varied
against the coefficient. One run of Algorithm 1, with four optimizer steps per batch, is recorded at every
global step.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from entropy_theory.policy import clamped_entropy
from entropy_theory.update_rules import UpdateRule, get
from entropy_theory.update_rules.aent import Aent
from simulations.computing.store import Experiment, Progress
from simulations.engine.sampling import Samples
from simulations.engine.trajectory import Record, Trajectory
from simulations.experiments.grid import gridded, trained
from simulations.problems.bandits import Bandit


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings. Coefficients are larger than the paper's: responses have one token."""

    n_actions: int = 60
    scale: float = 2.0
    first_right: int = 4
    second_right: int = 1
    n_prompts: int = 8
    hardest: float = 0.03
    easiest: float = 0.6
    band: tuple[float, float] = (0.2, 0.4)
    """The band in which the clamped entropy is to stay, nats."""
    box: tuple[float, float] = (0.01, 1.0)
    constants: tuple[float, ...] = (0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
    rates: tuple[float, ...] = (0.005, 0.1)
    first_coefficients: tuple[float, ...] = (0.05, 0.5)
    """The values from which the adaptive coefficient starts."""
    removed_fraction: float = 0.33
    swept_fractions: tuple[float, ...] = (0.0, 0.33, 0.6, 0.8, 0.95)
    swept_coefficients: tuple[float, ...] = (0.2, 0.35, 0.5, 0.7)
    swept_right: int = 4
    swept_hardest: float = 0.001
    """The smallest starting accuracy in the sweep of p: a large p leaves so rare answers out."""
    group_size: int = 8
    n_starts: int = 8
    learning_rate: float = 2.0
    """The learning rate of each prompt."""
    steps: int = 400
    """The number of steps before the change of prompts, and again after it."""
    swept_steps: int = 250
    record_every: int = 10
    global_steps: int = 80
    """The number of global steps in the run of Algorithm 1."""
    tail: float = 0.4
    """Share of each half, at its end, over which time in the band is counted."""


PROFILES = {
    "smoke": Config(constants=(0.1, 0.3, 0.5), rates=(0.02,), first_coefficients=(0.2,),
                    swept_fractions=(0.0, 0.8), swept_coefficients=(0.2, 0.5), n_starts=1, steps=50,
                    swept_steps=50),
    "default": Config(),
    "full": Config(n_actions=200, n_starts=4, steps=1000, swept_steps=1000,
                   rates=(0.002, 0.02, 0.2)),
}
MINI_STEPS = 4
"""Optimizer steps on each batch in the run of Algorithm 1."""
ALGORITHM = Aent(
    coefficient=0.05, removed_fraction=0.33, entropy_low=0.2, entropy_high=0.4, coefficient_step=0.1,
    coefficient_low=0.01, coefficient_high=1.0,
    # The first observation is that of the start, before any global step.
    warm_up_steps=1,
)
HALVES = ("first prompts", "second prompts")


def work(config: Config) -> int:
    """Return the number of engine steps in all."""
    halves = 2 * (1 + len(config.rates))
    swept = len(config.swept_fractions) * config.swept_steps
    return halves * config.steps + swept + MINI_STEPS * config.global_steps


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Curves of constant and adaptive coefficients through a change of prompts; the sweep of p."""
    return xr.merge([_constants(config, seed, progress), _adaptive(config, seed, progress),
                        _sweep(config, seed, progress), _algorithm(config, seed, progress)])


LONG_NAMES = {
    "constant_entropy": "clamped entropy under a constant coefficient, nats",
    "constant_reward": "probability of a right answer under a constant coefficient",
    "constant_in_band": "share of the tail with clamped entropy in the band, constant coefficient",
    "adaptive_entropy": "clamped entropy under the adaptive coefficient, nats",
    "adaptive_reward": "probability of a right answer under the adaptive coefficient",
    "adaptive_coefficient": "coefficient that the controller chose",
    "adaptive_in_band": "share of the tail with clamped entropy in the band, adaptive coefficient",
    "algorithm_entropy": "policy entropy after each global step, nats",
    "algorithm_clamped_entropy": "clamped entropy after each global step, nats",
    "algorithm_coefficient": "coefficient after each global step",
    "algorithm_reward": "probability of a right answer after each global step",
    "swept_reward": "probability of a right answer at the end",
    "swept_entropy": "policy entropy at the end, nats",
}


def _prompts(
    config: Config, n_correct: int, hardest: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    accuracies = np.geomspace(hardest, config.easiest, config.n_prompts)
    problem = Bandit(n_actions=config.n_actions, n_correct=n_correct, scale=config.scale,
                     accuracies=tuple(accuracies.tolist()))
    return problem.starts(config.n_starts, seed), problem.correct


def _run(
    logits: np.ndarray, correct: np.ndarray, rule: UpdateRule, config: Config, seed: int,
    progress: Progress, **options: Any,
) -> Trajectory:
    return trained(logits, correct, rule, config, seed, progress,
                   learning_rate=config.learning_rate * correct.shape[-2],
                   samples=Samples(group_size=config.group_size), **options)


def _through_the_change(
    rule: Aent, n_values: int, config: Config, seed: int, progress: Progress
) -> dict[str, np.ndarray]:
    """Train both halves and return columns [halves, records, runs].

    An adaptive coefficient starts the second half with the value that it has reached in the first.
    """
    halves = []
    for i, m in enumerate((config.first_right, config.second_right)):
        logits, correct = _prompts(config, m, config.hardest, seed + i)
        run = _run(np.tile(logits, (n_values, 1, 1)), correct, rule, config, seed + i, progress,
                   record=Record(logits=True))
        assert run.logits is not None
        clamped = clamped_entropy(run.logits, rule.needs.removed_fraction).mean(axis=-1)
        halves.append({"entropy": clamped, "reward": run.reward, "coefficient": run.coefficient})
        if rule.adaptive:
            rule = dataclasses.replace(rule, coefficient=run.coefficient[-1])
    return {name: np.stack([half[name] for half in halves]) for name in halves[0]}


def _in_band(entropy: xr.DataArray, config: Config) -> xr.DataArray:
    tail = entropy.where(entropy.step >= (1 - config.tail) * config.steps, drop=True)
    low, high = config.band
    return ((tail >= low) & (tail <= high)).mean(("step", "start"))


def _dataset(prefix: str, columns: dict[str, np.ndarray], config: Config, **swept: Any) -> xr.Dataset:
    """Make a Dataset of columns [halves, records, runs, ...], with the time spent in the band."""
    step = np.minimum(np.arange(columns["entropy"].shape[1]) * config.record_every, config.steps)
    axes = {"half": HALVES, "step": step, **swept, "start": np.arange(config.n_starts)}
    shape = [len(values) for values in axes.values()]
    dataset = gridded(axes, **{f"{prefix}_{name}": values.reshape(shape)
                               for name, values in columns.items()})
    dataset[f"{prefix}_in_band"] = _in_band(dataset[f"{prefix}_entropy"], config)
    return dataset


def _constants(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    rule = Aent(coefficient=np.repeat(config.constants, config.n_starts), adaptive=False,
                removed_fraction=config.removed_fraction)
    columns = _through_the_change(rule, len(config.constants), config, seed, progress)
    del columns["coefficient"]
    return _dataset("constant", columns, config, constant=config.constants)


def _adaptive(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    first = np.repeat(config.first_coefficients, config.n_starts)
    found = []
    for rate in config.rates:
        rule = Aent(
            coefficient=first, coefficient_step=rate, removed_fraction=config.removed_fraction,
            entropy_low=config.band[0], entropy_high=config.band[1],
            coefficient_low=config.box[0], coefficient_high=config.box[1], warm_up_steps=0,
        )
        found.append(_through_the_change(
            rule, len(config.first_coefficients), config, seed, progress))
    columns = {name: np.stack([one[name] for one in found], axis=2) for name in found[0]}
    return _dataset("adaptive", columns, config, rate=config.rates, first=config.first_coefficients)


def _sweep(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    logits, correct = _prompts(config, config.swept_right, config.swept_hardest, seed)
    logits = np.tile(logits, (len(config.swept_coefficients), 1, 1))
    coefficient = np.repeat(config.swept_coefficients, config.n_starts)
    ends = []
    for fraction in config.swept_fractions:
        rule: UpdateRule = get("entropy-bonus", coefficient=coefficient)
        if fraction > 0:
            rule = Aent(coefficient=coefficient, adaptive=False, removed_fraction=fraction)
        run = _run(logits, correct, rule, config, seed, progress, steps=config.swept_steps,
                   record_every=config.swept_steps)
        ends.append((run.tail_reward, run.tail_entropy))
    axes = {"removed_fraction": config.swept_fractions, "coefficient": config.swept_coefficients}
    shape = (*(len(values) for values in axes.values()), config.n_starts)
    return gridded(axes, **{
        f"swept_{name}": ((*axes, "start"), np.reshape(values, shape))
        for name, values in zip(("reward", "entropy"), zip(*ends, strict=True), strict=True)})


def _algorithm(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    problem = Bandit(n_actions=60, n_correct=4, scale=2.0, accuracies=(0.03, 0.1, 0.3, 0.6))
    run = _run(problem.starts(1, seed), problem.correct, ALGORITHM, config, seed, progress,
               steps=MINI_STEPS * config.global_steps, steps_per_batch=MINI_STEPS,
               record_every=MINI_STEPS, record=Record(logits=True))
    assert run.logits is not None
    clamped = clamped_entropy(run.logits[:, 0], ALGORITHM.removed_fraction).mean(axis=-1)
    return gridded(
        {"global_step": run.step // MINI_STEPS}, algorithm_clamped_entropy=clamped,
        **{f"algorithm_{name}": getattr(run, name)[:, 0]
           for name in ("entropy", "coefficient", "reward")})


EXPERIMENT = Experiment.of(
    __name__, name="aent_coefficient",
    source="AEnt, Figures 5 and 6",
    title="Constant against adaptive coefficient; how much to clamp",
    caption="Sampled GRPO with a clamped-entropy bonus before and after a change of prompts. Share of "
            "steps in the band, by constant and by rate of the adaptive coefficient. Reward by "
            "coefficient and removed share. One run of Algorithm 1.",
    modes=("sampled",),
)
