"""Entropy control against its strength (Cui et al., Figures 9, 10, 11 and 12, in the tabular world).

Five interventions are each varied from nothing to too much, from the same starts and on the same random
numbers:

- entropy bonus (Figure 9: small coefficients do nothing, large ones explode, none gains)
- reference KL (Figure 10: entropy is held at the cost of performance)
- Clip-Cov's share of tokens and KL-Cov's penalty (Figures 11, 12: entropy rises with strength, and
  performance with it)
- clip-higher

Groups are sampled, and each batch serves several optimizer steps, so that ratios move. Shares of tokens
and coefficients reach further than the papers', whose runs are a thousand times longer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from entropy_theory.update_rules import UpdateRule, get
from simulations.computing.store import Experiment, Progress
from simulations.engine.sampling import Samples
from simulations.experiments.curves import resample
from simulations.experiments.grid import over, trained
from simulations.problems.bandits import Bandit
from simulations.problems.shared_parameters import random_features

GRADED = (0.125, 0.5, 0.875) * 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """A family of prompts, and how they are trained."""

    problem: Bandit
    learning_rate: float = 4.0
    steps: int = 240
    n_features: int | None = None
    """Parameters shared by all prompts; None: every logit is its own."""


FAMILIES = {
    "one right": Family(problem=Bandit(n_correct=1, accuracies=GRADED)),
    "five right": Family(problem=Bandit(n_correct=5, accuracies=GRADED)),
    "one right, shared parameters": Family(
        problem=Bandit(n_correct=1, accuracies=(0.05,) * 24), learning_rate=16.0, steps=320,
        n_features=120),
}
RULES = ("entropy bonus", "reference KL", "Clip-Cov", "KL-Cov", "clip-higher")


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings; strengths weakest first, as many for each rule."""

    families: tuple[str, ...] = tuple(FAMILIES)[1:]
    bonus: tuple[float, ...] = (0.0, 0.03, 0.1, 1.0)
    """The bonus coefficients lambda; the paper's Figure 9 has 1e-4 to 1e-2."""
    reference: tuple[float, ...] = (0.0, 0.03, 0.1, 0.5)
    """The coefficients beta of the reference KL; the paper's Figure 10 has 1e-3 to 0.1."""
    clip_cov: tuple[float, ...] = (0.0, 0.05, 0.2, 0.4)
    """The shares of the tokens without gradient; the paper's Figure 12 has 2e-4 to 7e-4."""
    kl_cov: tuple[float, ...] = (0.0, 0.5, 1.0, 2.0)
    """The penalties beta on the selected tokens; the paper's Figure 12 has 0 to 1."""
    kl_cov_ratio: float = 0.2
    clip_high: tuple[float, ...] = (0.1, 0.2, 0.28, 1.0)
    n_starts: int = 8
    length: float = 1.0
    """The number of steps, relative to that of the family."""
    steps_per_batch: int = 4
    n_records: int = 40
    group_size: int = 8

    def strengths(self, rule: str) -> tuple[float, ...]:
        """Return the strengths of a rule of ``RULES``."""
        options = (self.bonus, self.reference, self.clip_cov, self.kl_cov, self.clip_high)
        return options[RULES.index(rule)]


PROFILES = {
    "smoke": Config(
        families=tuple(FAMILIES)[1:2], bonus=(0.0, 0.1), reference=(0.0, 0.3), clip_cov=(0.0, 0.2),
        kl_cov=(0.0, 1.0), clip_high=(0.1, 0.4), n_starts=3, length=0.3,
    ),
    "default": Config(),
    "full": Config(
        bonus=(0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
        reference=(0.0, 0.001, 0.01, 0.05, 0.1, 0.3, 0.6, 1.0),
        clip_cov=(0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4),
        kl_cov=(0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0),
        clip_high=(0.05, 0.1, 0.2, 0.28, 0.4, 0.6, 1.0, 3.0),
        families=tuple(FAMILIES), n_starts=16, length=2.0,
    ),
}


def rule(config: Config, name: str, strength: float) -> UpdateRule:
    """Return a rule at one strength; at 0 it is the base rule without intervention."""
    wide = get("grpo", clip_low=1.0, clip_high=1.0, normalization="token-mean")
    made: dict[str, UpdateRule] = {
        "entropy bonus": get("entropy-bonus", coefficient=strength),
        "reference KL": get("reference-kl", coefficient=strength),
        "Clip-Cov": get("clip-cov", ratio=min(strength, 1.0), lower=0.5, upper=20.0, base=wide),
        "KL-Cov": get("kl-cov", ratio=config.kl_cov_ratio, coefficient=strength),
        "clip-higher": get("clip-higher", clip_high=strength),
    }
    return made[name]


def _steps(config: Config, family: str) -> int:
    return round(config.length * FAMILIES[family].steps)


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Entropy and reward against steps, at each strength of each rule."""
    axes = {"family": config.families, "rule": RULES, "level": range(len(config.bonus))}
    dataset = over(_train, axes, config, seed, progress).drop_vars("level").assign_coords(
        start=np.arange(config.n_starts))
    dataset["strength"] = (("rule", "level"), [config.strengths(name) for name in RULES])
    steps = [_steps(config, family) for family in config.families]
    dataset["step"] = (("family", "record"), np.outer(steps, np.linspace(0, 1, config.n_records + 1)))
    return dataset


def _train(cell: tuple[Config, int, str, str, int], progress: Progress) -> xr.Dataset:
    config, seed, name, kind, level = cell
    family, steps = FAMILIES[name], _steps(config, name)
    problem, chosen = family.problem, rule(config, kind, config.strengths(kind)[level])
    features = None
    if family.n_features is not None:
        features = random_features(len(problem.accuracies), problem.n_actions, family.n_features,
                                   seed=(seed, 1))
    run = trained(
        problem.starts(config.n_starts, seed), problem.correct, chosen, config, seed, progress,
        features=features, learning_rate=family.learning_rate, steps=steps,
        record_every=max(steps // config.n_records, 1), steps_per_batch=config.steps_per_batch,
        samples=Samples(group_size=config.group_size))
    end = np.full(config.n_starts, float(steps))
    curves = {name: resample(run.step, getattr(run, name), end, config.n_records + 1).T
              for name in ("entropy", "reward")}
    return xr.Dataset({
        **{name: (("start", "record"), values) for name, values in curves.items()},
        "final_reward": ("start", run.reward[-1]),
    })


LONG_NAMES = {
    "entropy": "mean policy entropy over prompts, nats",
    "reward": "probability of a right answer, mean over prompts",
    "strength": "coefficient, share of tokens or clip of the rule",
    "final_reward": "reward at the end",
    "step": "optimizer steps",
}


EXPERIMENT = Experiment.of(
    __name__, name="intervention_sweeps",
    source="Cui et al., Figures 9, 10, 11 and 12",
    title="Entropy and reward against the strength of five interventions",
    caption="Sampled runs of five interventions from nothing to too much, over families of prompts: "
            "entropy and reward by step, and reward at the end, over starts.",
    modes=("sampled",),
    work=lambda config: len(RULES) * len(config.bonus) * sum(
        _steps(config, family) for family in config.families),
)
