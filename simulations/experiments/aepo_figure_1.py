"""Five targets, and where they hold (AEPO, Figure 1): AEPO steers entropy, up to a ceiling.

AEPO's printed update (GRPO + alpha x REINFORCE on samples of pi^T, T switched by the entropy) on
bandits with one right answer and with several, in exact expectation and from samples, beside GRPO
alone. Two facts from theory are what the Dataset is to show:

- no target above log |A*| is held, whatever the temperatures and alpha: the probability of a right
  answer tends to 1, and what is left is the entropy among right answers (claim
  ``aepo.arbitrary-entropy``);
- where entropy is below its target, the step at T_high raises it only if F(T_high) > 0 and
  alpha > kappa |F(1)| / F(T_high): the threshold that the scan over alpha crosses.

What decides between them is a race: the right answers that GRPO has not yet driven out when wrong
answers are gone are those that T_high can spread over. A run that samples at T_high throughout (a
target no policy can reach) shows how far that is from each start: ``reach``.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr

from entropy_theory.advantages import group_normalization_gain
from entropy_theory.entropy_change import tempered_reinforce_rate
from entropy_theory.policy import softmax
from entropy_theory.update_rules import UpdateRule, get
from simulations.computing.store import Experiment, Progress
from simulations.engine.dynamics import Dynamics
from simulations.engine.sampling import Samples
from simulations.engine.simulation import simulate
from simulations.engine.trajectory import Record, Trajectory
from simulations.experiments.grid import Grid
from simulations.problems.bandits import Bandit

TOLERANCE = 0.02
"""A target counts as held when the mean entropy of the tail is this close to it, nats, while the
temperature keeps switching. Each switch overshoots by up to a step, which grows with alpha; a
target missed by more is not held, though entropy stays near."""
SWITCHES = 10
"""The fewest temperature changes in the tail of a held target; passing through it makes one or two."""

LONG_NAMES = {
    "held": f"tail entropy within {TOLERANCE:g} nats of the target, temperature switching",
    "reach": "entropy after sampling at T_high throughout, nats",
    "predicted_held": "the target is below reach",
    "ceiling": "log of the number of right answers, nats",
    "sustainable": "the target is below the ceiling",
    "threshold": "least alpha that raises entropy where it first falls below the target",
    "final_threshold": "least alpha that raises entropy at the end",
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
    tempered_samples: int = 64
    n_sampled_starts: int = 2
    n_sampling_seeds: int = 2
    sampled_steps: int = 4000


PROFILES = {
    "smoke": Config(
        right_answers=(1, 4), targets=(0.5, 2.0), alphas=(0.1, 1.0), n_starts=2, steps=600,
        n_sampled_starts=1, n_sampling_seeds=1, sampled_steps=300,
    ),
    "default": Config(),
    "full": Config(
        alphas=(0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 8.0), n_starts=32, steps=20000,
        n_sampled_starts=4, n_sampling_seeds=8, sampled_steps=20000, record_every=50,
    ),
}


def work(config: Config) -> int:
    """Return the number of engine steps in all."""
    return 2 * config.steps + 2 * config.sampled_steps


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Entropy, reward and temperature under AEPO and GRPO, and which targets are held."""
    if config.alpha not in config.alphas:
        raise ValueError(f"alpha {config.alpha} is not among the alphas {config.alphas}")
    problems = tuple(Bandit(n_actions=config.n_actions, n_correct=m) for m in config.right_answers)
    # No policy over n actions reaches log(n) + 1: the last target keeps T_high for good.
    never = math.log(config.n_actions) + 1
    grid = Grid(problems, config.n_starts, "target", (*config.targets, never), seed)
    targets = list(config.targets)
    outcomes = []
    for alpha, run in _scan(grid, config, seed, progress):
        outcome = grid.unflatten(_outcome(run, grid, config))
        reach = outcome.tail_entropy.sel(target=never, drop=True)
        outcomes.append(outcome.sel(target=targets).assign(reach=reach))
        if alpha == config.alpha:
            curves = grid.curves(run).sel(target=targets)
    scan = xr.concat(outcomes, dim="alpha").assign_coords(alpha=list(config.alphas))
    grpo_grid = Grid(problems, config.n_starts, "rule", ("grpo",), seed)
    run = _run(grpo_grid, get("grpo", group_size=config.group_size), config, seed, progress)
    grpo = grpo_grid.curves(run, ("entropy", "reward")).isel(rule=0, drop=True)
    dataset = xr.merge(
        [curves, scan, grpo.rename({name: f"grpo_{name}" for name in grpo.data_vars}),
         _sampled(problems, config, seed, progress)]
    )
    dataset["ceiling"] = ("right_answers", [math.log(m) for m in config.right_answers])
    dataset["sustainable"] = dataset.target < dataset.ceiling
    dataset["predicted_held"] = dataset.target < dataset.reach
    for name, text in LONG_NAMES.items():
        dataset[name].attrs["long_name"] = text
    dataset = dataset.transpose("alpha", "right_answers", ..., "target", "step", "sampled_step")
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
    run = _run(copies, _aepo(config, alphas, config.group_size), config, seed, progress)
    for alpha in config.alphas:
        part = run.take_runs(np.flatnonzero(alphas == alpha))
        yield alpha, part


def _aepo(config: Config, alpha: float | np.ndarray, group_size: int | None) -> UpdateRule:
    return get(
        "aepo",
        alpha=alpha,
        temperature_high=config.temperature_high,
        temperature_low=config.temperature_low,
        base=get("grpo", group_size=group_size),
    )


def _run(
    grid: Grid,
    rule: UpdateRule,
    config: Config,
    seed: int,
    progress: Progress,
    samples: Samples | None = None,
) -> Trajectory:
    controlled = rule.controller() is not None
    dynamics = Dynamics(
        rule=rule,
        learning_rate=config.learning_rate,
        steps=config.steps if samples is None else config.sampled_steps,
        targets=tuple(grid.run_values.tolist()) if controlled else None,
        samples=samples,
        record_every=config.record_every,
        seed=seed,
    )
    return simulate(
        grid.logits, grid.correct, dynamics, record=Record(logits=samples is None),
        progress=progress,
    )


def _outcome(run: Trajectory, grid: Grid, config: Config) -> dict[str, np.ndarray]:
    """Measure the tail of each run: columns [runs]."""
    below = run.entropy < grid.run_values
    first_below = run.logits[np.argmax(below, axis=0), np.arange(below.shape[1])]
    at_crossing = _threshold(first_below, grid, config)
    return {
        "tail_entropy": run.tail_entropy,
        "tail_reward": run.tail_reward,
        "tail_spread": run.tail_spread,
        "held": _is_held(run, grid.run_values),
        "threshold": np.where(below.any(axis=0), at_crossing, np.nan),
        "final_threshold": _threshold(run.final_logits, grid, config),
    }


def _is_held(run: Trajectory, targets: np.ndarray) -> np.ndarray:
    """Whether the controller holds the tail's mean entropy at the target: boolean [runs]."""
    return (np.abs(run.tail_entropy - targets) <= TOLERANCE) & (run.tail_switches >= SWITCHES)


def _threshold(logits: np.ndarray, grid: Grid, config: Config) -> np.ndarray:
    return raising_alpha(
        logits[:, 0], grid.correct[:, 0], config.temperature_high, config.group_size)


def raising_alpha(
    logits: np.ndarray, correct: np.ndarray, temperature: float, group_size: int
) -> np.ndarray:
    """kappa |F(1)| / F(T): the alpha above which a step at T raises entropy, [...] of [..., actions].

    0 where GRPO alone does not lower entropy, inf where REINFORCE at T lowers it too.
    """
    probabilities = softmax(logits)
    right = np.where(correct, probabilities, 0.0).sum(axis=-1)
    wrong = np.where(correct, 0.0, probabilities).sum(axis=-1)
    kappa = group_normalization_gain(right, wrong, group_size=group_size)
    fall = -kappa * tempered_reinforce_rate(logits, correct, 1.0)
    rise = tempered_reinforce_rate(logits, correct, temperature)
    threshold = np.divide(fall, rise, out=np.full_like(fall, np.inf), where=rise > 0)
    return np.where(fall <= 0, 0.0, threshold)


def _sampled(
    problems: tuple[Bandit, ...], config: Config, seed: int, progress: Progress
) -> xr.Dataset:
    """Train from sampled responses, with and without the second batch, over sampling seeds.

    All runs of a call draw from one stream, so repeats of a run are independent of one another.
    """
    samples = Samples(group_size=config.group_size, tempered=config.tempered_samples)
    repeats = config.n_sampling_seeds
    parts = []
    for prefix, rule, targets in (
        ("sampled", _aepo(config, config.alpha, None), config.targets),
        ("sampled_grpo", get("grpo"), (0.0,)),  # GRPO has no target: one run a repeat
    ):
        grid = Grid(problems, config.n_sampled_starts, "run", targets * repeats, seed)
        run = _run(grid, rule, config, seed, progress, samples)
        dataset = grid.curves(run, ("entropy", "reward"), "sampled_step").merge(
            grid.unflatten(
                {"tail_entropy": run.tail_entropy, "held": _is_held(run, grid.run_values)}
            )
        )
        repeat, target = np.divmod(np.arange(len(targets) * repeats), len(targets))
        dataset = dataset.assign_coords(
            sampling_seed=("run", repeat), target=("run", np.asarray(targets)[target])
        ).set_index(run=("sampling_seed", "target")).unstack("run")
        if prefix == "sampled_grpo":
            dataset = dataset.isel(target=0, drop=True).drop_vars("held")
        parts.append(dataset.rename({name: f"{prefix}_{name}" for name in dataset.data_vars}))
    return xr.merge(parts).rename(start="sampled_start").transpose(..., "sampled_step")


EXPERIMENT = Experiment(
    name="aepo_figure_1",
    source="AEPO, Figure 1",
    title="Which target entropies AEPO holds",
    caption="AEPO over target entropies, alpha and numbers of right answers, in exact expectation and "
            "from samples, with GRPO alone: entropy by step, and whether its mean over the tail is at "
            "the target.",
    modes=("exact", "sampled"),
    profiles=PROFILES,
    compute=compute,
    work=work,
)
