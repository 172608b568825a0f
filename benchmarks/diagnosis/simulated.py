"""Logs of the package's own simulator: one tabular policy on 48 prompts, with one thing made wrong.

The training is that of `simulations.engine`, from groups of 8 samples. What a trainer would have logged
is drawn from the recorded policies: the groups of some prompts at each step, their mean reward and the
share of groups without signal. Entropy is the policy's own, KL is to the start, and the gradient's norm
is the step's, divided by the learning rate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from entropy_theory import update_rules
from entropy_theory.policy import log_softmax
from simulations.engine import Dynamics, Samples, simulate
from simulations.engine.trajectory import Record
from simulations.problems.bandits import Bandit

PROMPTS, GROUP = 48, 8


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """A simulated run."""

    seed: int = 0
    steps: int = 200
    learning_rate: float = 1.0
    accuracies: tuple[float, float] = (0.1, 0.6)
    """The least and greatest probability of a right answer at the start, over the prompts."""
    right: int = 2
    """Right answers of 20."""
    scale: float = 1.0
    """The standard deviation of the logits at the start, nats."""
    rule: str = "grpo"
    options: dict[str, Any] = field(default_factory=dict)
    prompts: int = 16
    """The prompts whose groups are logged at a step."""
    iterations: int = 1
    """Steps on the same samples, which the clip bounds."""
    crash: int = 0
    saved: int = 0


def simulated(run: Simulation) -> list[dict[str, float]]:
    """Return the records that such a run would have logged, under TRL's names."""
    accuracies = tuple(np.linspace(*run.accuracies, PROMPTS).tolist())
    problem = Bandit(n_actions=20, n_correct=run.right, scale=run.scale, accuracies=accuracies)
    start = problem.starts(1, run.seed)
    if not run.crash:
        return _records(run, problem, start, start, 0, run.steps, run.seed)
    before = _records(run, problem, start, start, 0, run.crash, run.seed)
    kept = _trained(run, problem, start, run.saved, run.seed).final_logits
    return before + _records(
        run, problem, start, kept, run.saved, run.steps - run.saved, run.seed + 1000)


def _trained(run: Simulation, problem: Bandit, start: np.ndarray, steps: int, seed: int) -> Any:
    rule = update_rules.get(run.rule, **run.options)
    return simulate(start, problem.correct, Dynamics(
        rule=rule, learning_rate=run.learning_rate, steps=steps, record_every=1, seed=seed,
        samples=Samples(group_size=GROUP),
        steps_per_batch=run.iterations), record=Record(logits=True))


def _records(
    run: Simulation, problem: Bandit, first: np.ndarray, start: np.ndarray, done: int, steps: int,
    seed: int,
) -> list[dict[str, float]]:
    found = _trained(run, problem, start, steps, seed)
    generator = np.random.default_rng([seed, 1])
    reference = log_softmax(first[0])
    records = []
    for i in range(steps):
        shown = generator.choice(PROMPTS, run.prompts, replace=False)
        right = generator.binomial(GROUP, np.clip(found.reward_by_state[i, 0, shown], 0, 1)) / GROUP
        log_policy = log_softmax(found.logits[i, 0])
        apart = (np.exp(log_policy) * (log_policy - reference)).sum(-1).mean()
        moved = np.linalg.norm(found.logits[i + 1, 0] - found.logits[i, 0])
        records.append(_clipped(run, found, i) | {
            "step": float(done + i + 1), "entropy": float(found.entropy[i, 0]),
            "reward": float(right.mean()), "kl": float(apart),
            "frac_reward_zero_std": float(np.mean((right == 0) | (right == 1))),
            "grad_norm": float(moved / run.learning_rate), "learning_rate": run.learning_rate,
        })
    return records


def _clipped(run: Simulation, found: Any, step: int) -> dict[str, float]:
    """Return the expected shares of samples that the clip stops at a step, low and high."""
    if run.iterations == 1:
        return {}
    old = log_softmax(found.logits[step - step % run.iterations, 0])
    ratio = np.exp(log_softmax(found.logits[step, 0]) - old)
    right = np.arange(old.shape[-1]) < run.right
    low = ~right & (ratio < 1 - run.options["clip_low"])
    high = right & (ratio > 1 + run.options["clip_high"])
    shares = [float((np.exp(old) * side).sum(-1).mean()) for side in (low, high)]
    names = ("clip_ratio/low_mean", "clip_ratio/high_mean", "clip_ratio/region_mean")
    return dict(zip(names, [*shares, sum(shares)], strict=True))
