"""The effect of every rule on entropy, in one expected step of random policies and in training.

Steps are those of `rule_contract.entropy_effect`. Training is on a set of prompts whose logits share
parameters, from samples. Samples are the policy's own, or each batch is used for several steps, so that
it is stale from the second on. Every rule has its defaults, and the same starts, features and random
numbers as GRPO. Each is compared with GRPO in pairs: entropy after the same steps, and at the same
reward. A rule has no number (NaN) where it is not defined: on a listing of all actions, or on samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from entropy_theory.update_rules import RULES, get
from entropy_theory.verification.rule_contract import entropy_effect
from simulations.computing.store import Experiment, Progress
from simulations.engine.sampling import Samples
from simulations.experiments.curves import value_when_reached
from simulations.experiments.grid import over, trained
from simulations.problems.bandits import graded_prompts, shuffled
from simulations.problems.shared_parameters import coupled_features

BASE = "grpo"


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings."""

    rules: tuple[str, ...] = tuple(RULES)
    policies: int = 1000
    """Random policies of each number of actions."""
    steps_per_batch: tuple[int, ...] = (1, 5)
    """1: on policy; with 5 the last step's samples are 4 steps stale."""
    n_starts: int = 32
    prompts_a_difficulty: int = 3
    n_actions: int = 12
    n_correct: int = 3
    coupling: float = 0.5
    learning_rate: float = 2.0
    steps: int = 200
    record_every: int = 5
    group_size: int = 8
    tempered: int = 8
    reward: float = 0.75
    """The mean reward at which entropies are compared."""


PROFILES = {
    "smoke": Config(rules=("grpo", "aepo", "natural-gradient", "unlikeliness"), policies=20, n_starts=2,
                    prompts_a_difficulty=1, steps=40, reward=0.55),
    "default": Config(),
    "full": Config(policies=4000, n_starts=64),
}
LONG_NAMES = {
    "falls": "share of random policies whose entropy falls",
    "ratio": "mean change of entropy over GRPO's",
    "ratio_error": "standard error of that ratio",
    "entropy": "entropy after the last step, less GRPO's, nats",
    "entropy_at_reward": "entropy when the mean reward is reached, less GRPO's, nats",
}


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Measure each rule against GRPO, which is one of them."""
    steps = over(_one_step, {"rule": config.rules}, config, seed, progress)
    training = over(
        _training, {"rule": config.rules, "steps_per_batch": config.steps_per_batch}, config, seed,
        progress)
    beyond = training - training.sel(rule=BASE, drop=True)
    return xr.merge([steps, beyond]).assign_coords(start=np.arange(config.n_starts))


def _one_step(cell: tuple[Config, int, str], progress: Progress) -> xr.Dataset:
    config, seed, rule = cell
    names = ("falls", "ratio", "ratio_error")
    try:
        found = entropy_effect(get(rule), seed=seed, policies=config.policies)
    except ValueError:
        return xr.Dataset(dict.fromkeys(names, np.nan))
    return xr.Dataset({name: getattr(found, name) for name in names})


def _training(cell: tuple[Config, int, str, int], progress: Progress) -> xr.Dataset:
    config, seed, rule, steps_per_batch = cell
    problem = graded_prompts(
        config.prompts_a_difficulty, n_actions=config.n_actions, n_correct=config.n_correct)
    logits, correct = shuffled(problem, config.n_starts, seed, key=1)
    n_states, n_actions = logits.shape[1:]
    features = coupled_features(n_states, n_actions, config.coupling, seed=seed)
    last = at_reward = np.full(config.n_starts, np.nan)
    try:
        found = trained(
            logits, correct, get(rule), config, seed, progress, features=features,
            samples=Samples(group_size=config.group_size, tempered=config.tempered),
            steps_per_batch=steps_per_batch)
        last = found.entropy[-1]
        at_reward = value_when_reached(found.reward, found.entropy, (config.reward,))[:, 0]
    except ValueError:
        progress(config.steps)
    return xr.Dataset({"entropy": ("start", last), "entropy_at_reward": ("start", at_reward)})


EXPERIMENT = Experiment.of(
    __name__, name="effect_of_every_rule",
    source="This project",
    title="What every update rule does to entropy, beside GRPO",
    caption="First-order change of the entropy of random policies, and entropy of training runs on "
            "prompts with shared parameters less GRPO's, by rule and by steps on each batch.",
    modes=("exact", "sampled"),
    work=lambda config: len(config.rules) * len(config.steps_per_batch) * config.steps,
)
