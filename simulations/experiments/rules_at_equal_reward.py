"""Entropy at equal reward: which rules keep more than GRPO, on which problems (Cui et al., Figure 11).

Entropy is paid for reward, so a rule that learns more slowly has more entropy at any step. The fair
question is how much is left when the same reward is reached. Families of problems, sampled groups, four
optimizer steps on each batch (so that ratios move and KL-Cov acts), each rule alone and some of them
together: do covariance control, tempering and a bonus add up?

What is seen: Clip-Cov has more entropy than GRPO at the same step, and within a few hundredths of a
nat the same entropy at the same reward: it slows learning down. KL-Cov stays within a tenth of a nat of
GRPO, on either side. An entropy bonus keeps more where several answers are right. Gains do not add
up: a rule on top of another ends near the one that changes more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from entropy_theory.update_rules import UpdateRule, get
from simulations.engine import Dynamics, simulate
from simulations.problems import Bandit
from simulations.recording import Trajectory
from simulations.sampling import Samples
from simulations.store import Experiment, Progress

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
    steps: int = 300
    steps_per_batch: int = 4
    record_every: int = 4
    group_size: int = 8
    tempered: int = 8
    ratio: float = 0.1
    coefficient: float = 0.1
    target: float = 1.0
    rewards: tuple[float, ...] = (0.6, 0.8, 0.9, 0.95)


PROFILES = {
    "smoke": Config(families=tuple(FAMILIES)[:2], n_starts=2, steps=80, rewards=(0.6,)),
    "default": Config(),
    "full": Config(n_starts=64, steps=2000, record_every=8),
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
    }


def work(config: Config) -> int:
    """Engine steps in all."""
    return len(config.families) * len(rules(config)) * config.steps


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Entropy of each rule when its mean reward first reaches each level."""
    chosen = rules(config)
    samples = Samples(group_size=config.group_size, tempered=config.tempered)
    shape = (len(config.families), len(chosen), config.n_starts, len(config.rewards))
    at_reward = np.full(shape, np.nan)
    curves: dict[str, np.ndarray] = {}
    for f, family in enumerate(config.families):
        problem = FAMILIES[family]
        starts = problem.starts(config.n_starts, seed)
        for r, rule in enumerate(chosen.values()):
            run = simulate(
                starts, problem.correct,
                Dynamics(rule=rule, learning_rate=config.learning_rate, steps=config.steps,
                         steps_per_batch=config.steps_per_batch, samples=samples,
                         record_every=config.record_every, seed=seed),
                progress=progress,
            )
            at_reward[f, r] = entropy_at(run, config.rewards)
            for name in ("entropy", "reward"):
                stack = curves.setdefault(name, np.empty((*shape[:3], len(run.step))))
                stack[f, r] = getattr(run, name).T
    axes = ("family", "rule", "start")
    dataset = xr.Dataset(
        {
            "entropy_at_reward": ((*axes, "reward_level"), at_reward),
            **{name: ((*axes, "step"), values) for name, values in curves.items()},
        },
        coords={"family": list(config.families), "rule": list(chosen), "step": run.step,
                "reward_level": list(config.rewards), "start": np.arange(config.n_starts)},
    )
    dataset.entropy_at_reward.attrs["long_name"] = "entropy when the mean reward is reached, nats"
    gap = dataset.entropy_at_reward - dataset.entropy_at_reward.sel(rule="GRPO", drop=True)
    dataset["entropy_beyond_grpo"] = gap.mean("start")
    dataset["standard_error"] = gap.std("start", ddof=1) / np.sqrt(gap.count("start"))
    dataset.attrs["caption"] = _caption(dataset, config)
    return dataset


def entropy_at(run: Trajectory, rewards: tuple[float, ...]) -> np.ndarray:
    """[runs, levels]: entropy where a run's reward first reaches a level, NaN if it never does.

    Linear between the two records around it. A run that starts above a level has no such moment.
    """
    found = np.full((run.reward.shape[1], len(rewards)), np.nan)
    for k, level in enumerate(rewards):
        above = run.reward >= level
        reached = above.any(axis=0) & ~above[0]
        after = above.argmax(axis=0)
        for i in np.flatnonzero(reached):
            low, high = run.reward[after[i] - 1, i], run.reward[after[i], i]
            share = (level - low) / (high - low)
            before, then = run.entropy[after[i] - 1, i], run.entropy[after[i], i]
            found[i, k] = before + share * (then - before)
    return found


def _caption(dataset: xr.Dataset, config: Config) -> str:
    level = config.rewards[-1]
    pieces = []
    for family in config.families:
        one = dataset.sel(family=family, reward_level=level)
        grpo = float(one.entropy_at_reward.sel(rule="GRPO").mean("start"))
        others = ", ".join(
            f"{rule} {float(one.entropy_beyond_grpo.sel(rule=rule)):+.2f} "
            f"({float(one.standard_error.sel(rule=rule)):.2f})"
            for rule in dataset.rule.values if rule != "GRPO"
            and np.isfinite(one.entropy_beyond_grpo.sel(rule=rule))
        )
        pieces.append(f"{family}: GRPO {grpo:.2f} nats, {others or 'no other reaches it'}")
    return (
        f"Entropy left when the mean reward first reaches {level:g}, in nats beyond GRPO's from the "
        f"same starts (standard error of {config.n_starts} starts); {config.group_size} sampled "
        f"answers a prompt, {config.steps_per_batch} optimizer steps a batch. {'. '.join(pieces)}."
    )


EXPERIMENT = Experiment(
    name="rules_at_equal_reward",
    source="Cui et al., Figures 11 and 12",
    title="Which rules keep more entropy than GRPO at the same reward",
    profiles=PROFILES,
    compute=compute,
    work=work,
)
