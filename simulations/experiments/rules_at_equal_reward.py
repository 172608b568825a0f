"""Entropy at equal reward: which rules keep more than GRPO, on which problems (Cui et al., Figure 11).

Entropy is paid for reward, so a rule that learns more slowly has more entropy at any step. The fair
question is how much is left when the same reward is reached. Families of problems are trained from
sampled groups, with four optimizer steps on each batch, so that ratios move and KL-Cov acts. Each rule
runs alone, and some of them together: do covariance control, tempering and a bonus add up?
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from entropy_theory.update_rules import UpdateRule, get
from simulations.computing.store import Experiment, Progress
from simulations.engine.sampling import Samples
from simulations.experiments.curves import value_when_reached
from simulations.experiments.grid import over, trained
from simulations.problems.bandits import Bandit

FAMILIES = {
    "one right answer, hard": Bandit(n_correct=1, accuracies=(0.05,) * 8),
    "one right answer, mixed": Bandit(n_correct=1, accuracies=(0.125, 0.5, 0.875) * 3),
    "five right answers, hard": Bandit(n_correct=5, accuracies=(0.05,) * 8),
    "five right answers, mixed": Bandit(n_correct=5, accuracies=(0.125, 0.5, 0.875) * 3),
    "ten right answers, peaked": Bandit(n_correct=10, scale=3.0, accuracies=(0.3,) * 8),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings. Shares of tokens are larger than on a language model's millions."""

    families: tuple[str, ...] = tuple(FAMILIES)
    n_starts: int = 12
    learning_rate: float = 4.0
    steps: int = 240
    steps_per_batch: int = 4
    record_every: int = 4
    group_size: int = 8
    tempered: int = 8
    ratio: float = 0.1
    coefficient: float = 0.1
    target: float = 1.0
    rewards: tuple[float, ...] = (0.6, 0.8, 0.9, 0.95)


PROFILES = {
    "smoke": Config(families=tuple(FAMILIES)[:2], n_starts=2, steps=52, rewards=(0.6,)),
    "default": Config(),
    "full": Config(n_starts=32, steps=480),
}


def rules(config: Config) -> dict[str, UpdateRule]:
    """The rules compared, by the name they are shown under."""
    clip_cov = get("clip-cov", ratio=config.ratio, lower=0.5, upper=20.0, base=get(
        "grpo", clip_low=1.0, clip_high=1.0, normalization="token-mean"))
    kl_cov = get("kl-cov", ratio=config.ratio)
    aepo = get("aepo", target=config.target)
    bonus = get("entropy-bonus", coefficient=config.coefficient)
    return {
        "GRPO": get("grpo"),
        "clip-higher": get("clip-higher"),
        "Clip-Cov": clip_cov,
        "KL-Cov": kl_cov,
        "entropy bonus": bonus,
        "AEPO": aepo,
        "AEPO on Clip-Cov": get("aepo", target=config.target, base=clip_cov),
        "AEPO on KL-Cov": get("aepo", target=config.target, base=kl_cov),
        "bonus on Clip-Cov": get("entropy-bonus", coefficient=config.coefficient, base=clip_cov),
        "AEPO on a bonus": get("aepo", target=config.target, base=bonus),
        "Entropy-Adv": get("entropy-advantage"),
    }


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Entropy of each rule when its mean reward first reaches each level."""
    axes = {"family": config.families, "rule": list(rules(config))}
    dataset = over(_train, axes, config, seed, progress).assign_coords(
        start=np.arange(config.n_starts), reward_level=list(config.rewards))
    dataset.entropy_at_reward.attrs["long_name"] = "entropy when the mean reward is reached, nats"
    return dataset


def _train(cell: tuple[Config, int, str, str], progress: Progress) -> xr.Dataset:
    config, seed, family, rule = cell
    problem = FAMILIES[family]
    run = trained(
        problem.starts(config.n_starts, seed), problem.correct, rules(config)[rule], config, seed,
        progress, samples=Samples(group_size=config.group_size, tempered=config.tempered),
        steps_per_batch=config.steps_per_batch)
    at_reward = value_when_reached(run.reward, run.entropy, config.rewards)
    return xr.Dataset(
        {
            "entropy_at_reward": (("start", "reward_level"), at_reward),
            "reward": (("start", "step"), run.reward.T),
        },
        coords={"step": run.step},
    )


EXPERIMENT = Experiment.of(
    __name__, name="rules_at_equal_reward",
    source="Cui et al., Figures 11 and 12",
    title="Which rules keep more entropy than GRPO at the same reward",
    caption="Entropy when the mean reward first reaches a level, and reward by step, by rule and "
            "family of problems, from samples.",
    modes=("sampled",),
    work=lambda config: len(config.families) * len(rules(config)) * config.steps,
)
