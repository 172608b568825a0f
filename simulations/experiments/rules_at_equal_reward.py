"""Entropy at equal reward: which rules keep more than GRPO, on which problems (Cui et al., Figure 11).

Entropy is paid for reward, so a rule that learns more slowly has more entropy at any step. The fair
question is how much is left when the same reward is reached. Families of problems, sampled groups, four
optimizer steps on each batch (so that ratios move and KL-Cov acts), each rule alone and some of them
together: do covariance control, tempering and a bonus add up?

What is seen: with a tenth of the tokens selected Clip-Cov has more entropy than GRPO at the same step,
and within a few hundredths of a nat the same entropy at the same reward: it slows learning down. KL-Cov
(beta 1) stays within a tenth of a nat of GRPO, on either side. That is no law: with a share of 0.4, and
with beta 2 on a fifth of the tokens, both lie above GRPO's curve of reward against entropy
(intervention_sweeps; Cui et al., Figure 11). An entropy bonus keeps more where several answers are right.
Gains do not add up: a rule on top of another ends near the one that changes more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from entropy_theory.update_rules import UpdateRule, get
from simulations.computing.store import Experiment, Progress, map_cells
from simulations.engine.dynamics import Dynamics
from simulations.engine.sampling import Samples
from simulations.engine.simulation import simulate
from simulations.experiments.curves import value_when_reached
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One rule on one family."""

    problem: Bandit
    dynamics: Dynamics
    n_starts: int
    rewards: tuple[float, ...]


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Entropy of each rule when its mean reward first reaches each level."""
    chosen = rules(config)
    cells = [_cell(FAMILIES[family], rule, config, seed)
             for family in config.families for rule in chosen.values()]
    parts = map_cells(_train, cells, progress)
    rows = [parts[i : i + len(chosen)] for i in range(0, len(parts), len(chosen))]
    dataset = xr.concat([xr.concat(row, dim="rule") for row in rows], dim="family").assign_coords(
        family=list(config.families), rule=list(chosen), start=np.arange(config.n_starts),
        reward_level=list(config.rewards),
    )
    dataset.entropy_at_reward.attrs["long_name"] = "entropy when the mean reward is reached, nats"
    return dataset


def _cell(problem: Bandit, rule: UpdateRule, config: Config, seed: int) -> Cell:
    dynamics = Dynamics(
        rule=rule, learning_rate=config.learning_rate, steps=config.steps,
        samples=Samples(group_size=config.group_size, tempered=config.tempered),
        steps_per_batch=config.steps_per_batch, record_every=config.record_every, seed=seed,
    )
    return Cell(
        problem=problem, dynamics=dynamics, n_starts=config.n_starts, rewards=config.rewards
    )


def _train(cell: Cell, progress: Progress) -> xr.Dataset:
    starts = cell.problem.starts(cell.n_starts, cell.dynamics.seed)
    run = simulate(starts, cell.problem.correct, cell.dynamics, progress=progress)
    at_reward = value_when_reached(run.reward, run.entropy, cell.rewards)
    return xr.Dataset(
        {
            "entropy_at_reward": (("start", "reward_level"), at_reward),
            "reward": (("start", "step"), run.reward.T),
        },
        coords={"step": run.step},
    )


EXPERIMENT = Experiment(
    name="rules_at_equal_reward",
    source="Cui et al., Figures 11 and 12",
    title="Which rules keep more entropy than GRPO at the same reward",
    caption="Entropy when the mean reward first reaches a level, and reward by step, by rule and "
            "family of problems, from samples.",
    modes=("sampled",),
    profiles=PROFILES,
    compute=compute,
    work=lambda config: len(config.families) * len(rules(config)) * config.steps,
)
