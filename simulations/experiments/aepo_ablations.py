"""AEPO's two ablations, and why they collapse (AEPO, Section 6, Table 3, Eqs. 2 and 3).

Ablation (2) draws the second batch at T = 1; ablation (3) keeps its temperature but weighs its samples
by group-normalized advantages in place of rewards. Both collapse, says the paper: (2) because the
untempered gradient has the larger variance, (3) because negative samples counteract the positive ones.
GRPO, AEPO and both ablations run from the same starts, exactly and from as many samples each.
"""

from __future__ import annotations

from dataclasses import dataclass

import xarray as xr

from entropy_theory.update_rules import UpdateRule, get
from simulations.computing.store import Experiment, Progress
from simulations.engine.sampling import Samples
from simulations.experiments.grid import Grid, gridded, joined, trained
from simulations.problems.bandits import Bandit

VARIANTS = ("GRPO", "AEPO", "ablation (2)", "ablation (3)")
ABLATION = {"AEPO": "none", "ablation (2)": "untempered", "ablation (3)": "advantage"}

LONG_NAMES = {
    "entropy": "policy entropy, nats",
    "reward": "probability of a right answer",
    "sampled_entropy": "policy entropy, from samples, nats",
    "sampled_reward": "probability of a right answer, from samples",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings; T_high, T_low and G as in AEPO's Table 4."""

    n_actions: int = 20
    right_answers: tuple[int, ...] = (1, 4, 8)
    accuracy: float = 0.5
    """The starting accuracy of the exact runs."""
    target: float = 0.7
    alpha: float = 1.0
    temperature_high: float = 1.2
    temperature_low: float = 0.8
    group_size: int = 8
    n_starts: int = 8
    learning_rate: float = 1.0
    steps: int = 1200
    record_every: int = 12
    sampled_right_answers: int = 8
    sampled_accuracies: tuple[float, ...] = (0.05, 0.3, 0.8)
    sampled_steps: int = 600
    n_sampled_runs: int = 16


PROFILES = {
    "smoke": Config(
        right_answers=(1, 8), n_starts=2, steps=120, sampled_steps=50, n_sampled_runs=2,
    ),
    "default": Config(),
    "full": Config(
        n_starts=32, steps=8000, record_every=40, sampled_steps=10000, n_sampled_runs=64,
    ),
}


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Entropy and reward of all variants, exactly and from samples."""
    problems = tuple(
        Bandit(n_actions=config.n_actions, n_correct=m, accuracies=(config.accuracy,))
        for m in config.right_answers)
    grid = Grid(problems, config.n_starts, "variant", ("all",), seed)
    exact = {name: grid.curves(
        trained(grid.logits, grid.correct, _rule(name, config, config.group_size), config, seed,
                progress), ("entropy", "reward")).isel(variant=0, drop=True) for name in VARIANTS}
    dataset = joined("variant", exact).merge(_sampled(config, seed, progress))
    dataset.attrs.update(target=config.target)
    return dataset


def _rule(variant: str, config: Config, group_size: int | None) -> UpdateRule:
    base = get("grpo", group_size=group_size)
    if variant == "GRPO":
        return base
    return get(
        "aepo", alpha=config.alpha, target=config.target, ablation=ABLATION[variant],
        temperature_high=config.temperature_high, temperature_low=config.temperature_low, base=base,
    )


def _sampled(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Train every variant from samples, 2 G a prompt, on prompts of mixed difficulty."""
    problem = Bandit(n_actions=config.n_actions, n_correct=config.sampled_right_answers,
                     accuracies=config.sampled_accuracies * 2)
    starts, size = problem.starts(config.n_sampled_runs, seed), config.group_size
    curves = {}
    for variant in VARIANTS:
        run = trained(
            starts, problem.correct, _rule(variant, config, None), config, seed, progress,
            learning_rate=config.learning_rate * starts.shape[1], steps=config.sampled_steps,
            record_every=max(config.sampled_steps // 100, 1),
            samples=Samples(group_size=2 * size if variant == "GRPO" else size, tempered=size))
        dims = ("sampled_run", "sampled_step")
        curves[variant] = gridded({"sampled_step": run.step}, sampled_entropy=(dims, run.entropy.T),
                                  sampled_reward=(dims, run.reward.T))
    return joined("variant", curves)


EXPERIMENT = Experiment.of(
    __name__, name="aepo_ablations",
    source="AEPO, Section 6 and Table 3",
    title="AEPO's ablations, and why they collapse",
    caption="AEPO, its two ablations and GRPO from the same starts: entropy and reward by step, in exact "
            "expectation and from as many samples each.",
    modes=("exact", "sampled"),
    work=lambda config: len(VARIANTS) * (config.steps + config.sampled_steps),
)
