"""Where the base policy's pass@k overtakes the trained one's (AEPO, Table 2).

Prompts' accuracy at the start runs from rare to common on a logarithmic scale. They have one or several
right answers each, and are trained from sampled groups. pass@k is the mean over prompts of 1 - (1 - p)^k.

Take independent logits and a step whose scores sum to zero in each group (GRPO, RLOO). It raises right
answers and lowers wrong ones of the same prompt, and nothing else. No p ever falls, whatever is sampled,
so the trained policy is ahead at every k. The base overtakes where something takes from rare solutions:

- REINFORCE++ compares with the batch. In a group all wrong the sampled answers are pushed down, which is
  noise for the rare right one. Its log-odds drift apart over prompts.
- Shared parameters: logits = own part + a part common to all prompts, as an answer is a strategy that may
  suit any prompt. What common prompts reinforce presses on the rare ones. ``sharing`` is the inner
  product of the gradients of one answer's logit at two prompts; the theory has 0 (Assumption B.4).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from entropy_theory.update_rules import UpdateRule, get
from simulations.computing.store import Experiment, Progress
from simulations.engine.sampling import Samples
from simulations.engine.trajectory import Record
from simulations.experiments.grid import gridded, trained
from simulations.problems.bandits import Bandit, shuffled
from simulations.problems.shared_parameters import coupled_features


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings."""

    n_prompts: int = 20
    n_actions: int = 24
    right_answers: tuple[int, ...] = (1, 4)
    hardest: float = 3e-4
    easiest: float = 0.7
    """Accuracies at the start run from ``hardest`` to this, evenly in their logarithm."""
    sharing: tuple[float, ...] = (0.0, 0.2, 0.5)
    log2_k: int = 10
    """pass@k is recorded at k = 1, 2, 4, ..., 2 to this power."""
    group_size: int = 8
    tempered: int = 8
    target: float = 1.0
    coefficient: float = 0.05
    n_starts: int = 4
    learning_rate: float = 0.5
    """The learning rate of each prompt."""
    steps: int = 240
    record_every: int = 20


PROFILES = {
    "smoke": Config(n_prompts=8, n_actions=16, sharing=(0.0, 0.5), n_starts=2, steps=60,
                    hardest=0.01, record_every=20),
    "default": Config(),
    "full": Config(n_starts=16, steps=3000, record_every=100),
}


def rules(config: Config) -> dict[str, UpdateRule]:
    """The rules compared, by the name they are shown under."""
    return {
        "GRPO": get("grpo"),
        # Leave-one-out is the group-centered reward times G/(G - 1), which `compute` puts into the
        # learning rate: two rows a prompt instead of one a sample.
        "RLOO": get("reinforce", estimator="group-centered"),
        "REINFORCE++": get("reinforce", estimator="reinforce++"),
        "AEPO": get("aepo", target=config.target),
        "entropy bonus": get("entropy-bonus", coefficient=config.coefficient),
    }


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """pass@k of every rule along its run."""
    accuracies = tuple(np.geomspace(config.hardest, config.easiest, config.n_prompts).tolist())
    problems = [
        shuffled(Bandit(n_actions=config.n_actions, n_correct=m, accuracies=accuracies),
                 config.n_starts, seed, m)
        for m in config.right_answers]
    logits, correct = (np.concatenate(parts) for parts in zip(*problems, strict=True))
    ks = tuple(2**i for i in range(config.log2_k + 1))
    chosen = rules(config)
    passed = []
    for name, sharing in itertools.product(chosen, config.sharing):
        scale = config.group_size / (config.group_size - 1) if name == "RLOO" else 1.0
        run = trained(
            logits, correct, chosen[name], config, seed, progress, record=Record(pass_at=ks),
            learning_rate=config.learning_rate * config.n_prompts * scale,
            samples=Samples(group_size=config.group_size, tempered=config.tempered),
            features=None if sharing == 0 else coupled_features(
                config.n_prompts, config.n_actions, sharing, between="states"))
        passed.append(run.pass_at_k)
    axes: dict[str, Any] = {
        "rule": chosen, "sharing": config.sharing, "step": run.step,
        "right_answers": config.right_answers, "start": np.arange(config.n_starts), "k": ks}
    return gridded(axes, pass_at_k=np.reshape(passed, [len(values) for values in axes.values()]))


EXPERIMENT = Experiment.of(
    __name__, name="pass_at_k",
    source="AEPO, Table 2",
    title="pass@k of the base against the trained policy",
    caption="pass@k of the base and of trained policies by step, over rules, sharing of parameters and "
            "numbers of right answers, from samples.",
    modes=("sampled",),
    labels={"pass_at_k": "probability of a right answer among k"},
    work=lambda config: len(rules(config)) * len(config.sharing) * config.steps,
)
