"""Entropy change against -eta x covariance, step by step, and by difficulty (Cui et al., Figure 8).

Prompts of graded difficulty trained by the policy gradient (PG), the natural gradient (NPG), GRPO in
expectation and GRPO from sampled groups, at several learning rates. At every step the measured change
of entropy stands beside -eta Cov_pi(log pi, pi A) (Theorem 1) and -eta Cov_pi(log pi, A) (Theorem 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from entropy_theory import entropy_change
from entropy_theory.policy import log_softmax, softmax
from entropy_theory.update_rules import UpdateRule, get
from simulations.computing.store import Experiment, Progress
from simulations.engine.sampling import Samples
from simulations.engine.trajectory import Record
from simulations.experiments.covariance_sign_map import covariances
from simulations.experiments.grid import gridded, trained
from simulations.problems.bandits import Bandit

SAMPLED = "GRPO, sampled"
ESTIMATES = ("PG", "NPG", "PG, from samples", "NPG, from samples")


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings."""

    n_actions: int = 20
    right_answers: tuple[int, ...] = (1, 4)
    scale: float = 2.0
    n_prompts: int = 32
    easiest: float = 0.9
    """The largest accuracy at the start; accuracies are evenly spread from 0.02 to it."""
    learning_rates: tuple[float, ...] = (0.02, 0.2, 2.0)
    """The learning rates of each prompt."""
    group_size: int = 8
    correct_of_group: tuple[int, ...] = (1, 4, 7)
    """Numbers of right samples of a group; over the group size they are the batch accuracies shown."""
    n_starts: int = 4
    steps: int = 60


PROFILES = {
    "smoke": Config(n_prompts=8, learning_rates=(0.2, 2.0), n_starts=2, steps=20),
    "default": Config(),
    "full": Config(n_prompts=64, n_starts=8, steps=120),
}


def rules(config: Config) -> dict[str, UpdateRule]:
    """The rules, by the name they are shown under."""
    return {"PG": get("reinforce"), "NPG": get("natural-gradient"),
            "GRPO": get("grpo", group_size=config.group_size), SAMPLED: get("grpo")}


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Measured and announced entropy changes of each step, how they compare, and difficulty groups."""
    accuracies = tuple(np.linspace(0.02, config.easiest, config.n_prompts).tolist())
    problems = [Bandit(n_actions=config.n_actions, n_correct=m, scale=config.scale,
                       accuracies=accuracies) for m in config.right_answers]
    starts = np.concatenate([problem.starts(config.n_starts, seed) for problem in problems])
    correct = np.repeat(np.concatenate([p.correct for p in problems]), config.n_starts, axis=0)
    n_rates = len(config.learning_rates)
    shape = (n_rates, len(config.right_answers), config.n_starts)
    logits, correct = (np.tile(x, (n_rates, 1, 1)) for x in (starts, correct))
    rates = np.repeat(config.learning_rates, len(starts))
    changes = []
    for name, rule in rules(config).items():
        run = trained(
            logits, correct, rule, config, seed, progress, record=Record(logits=True), record_every=1,
            learning_rate=tuple((config.n_prompts * rates).tolist()),
            samples=Samples(group_size=config.group_size) if name == SAMPLED else None)
        assert run.logits is not None
        changes.append(_changes(run.logits, correct, rates).reshape(len(CHANGES), config.steps, *shape))
        if name == "GRPO":
            groups = _by_difficulty(run.logits, correct, run.reward_by_state, config, shape)
    axes: dict[str, Any] = {
        "rule": rules(config), "step": np.arange(config.steps),
        "learning_rate": config.learning_rates, "right_answers": config.right_answers,
        "start": np.arange(config.n_starts), "estimate": ESTIMATES,
        "batch_accuracy": np.asarray(config.correct_of_group) / config.group_size,
        "record": np.arange(config.steps + 1)}
    return gridded(
        axes, **dict(zip(CHANGES, np.stack(changes, axis=1), strict=True)), covariance_by_accuracy=(
            ("estimate", "batch_accuracy", "record", "learning_rate", "right_answers"), groups))


CHANGES = ("measured", "theorem_1", "theorem_2")
LONG_NAMES = {
    "measured": "entropy change of the step, nats",
    "theorem_1": "-eta Cov(log pi, pi A), nats",
    "theorem_2": "-eta Cov(log pi, A), nats",
    "covariance_by_accuracy": "GRPO: covariance, mean over prompts of a batch accuracy, nats",
}


def _changes(
    logits: np.ndarray, correct: np.ndarray, rates: np.ndarray
) -> np.ndarray:
    """Return [changes, steps, runs], means over prompts."""
    before, step = logits[:-1], np.diff(logits, axis=0)
    measured = entropy_change.exact(before, step)
    covariance = covariances(before, correct)
    eta = rates[:, None]
    columns = (measured, -eta * covariance[0], -eta * covariance[1])
    return np.stack([column.mean(axis=-1) for column in columns])


def estimated_covariances(
    logits: np.ndarray, correct: np.ndarray, right: int, group_size: int
) -> np.ndarray:
    """Return the expected covariance over samples of a prompt, with ``right`` of them right: [2, ...].

    It is ``(1/G) sum_i l_i y_i - mean(l) mean(y)`` with l = log pi and y = pi A (PG) or A (NPG), as Cui
    et al. estimate it, over samples given their rewards. A is GRPO's advantage, ``(R - right/G) / std``.

    Args:
        logits: [..., actions].
        correct: boolean, broadcastable to the same.
        right: from 1 to group_size - 1.
        group_size: G, the number of samples.
    """
    log_pi, q = log_softmax(logits), right / group_size
    pi = np.exp(log_pi)
    parts = []
    for mask, count, advantage in ((correct, right, math.sqrt((1 - q) / q)),
                                   (~correct, group_size - right, -math.sqrt(q / (1 - q)))):
        given = softmax(np.where(mask, logits, -np.inf))

        def mean(values: np.ndarray, given: np.ndarray = given) -> np.ndarray:
            return (given * values).sum(axis=-1)

        x, y = mean(log_pi), advantage * np.stack([mean(pi), mean(np.ones_like(pi))])
        xy = advantage * np.stack([mean(pi * log_pi), mean(log_pi)])
        parts.append((count, x, y, xy))
    (n_1, x_1, y_1, xy_1), (n_0, x_0, y_0, xy_0) = parts
    products = n_1 * xy_1 + n_0 * xy_0
    # Samples are independent given their rewards: E[l_i y_j] = E[l_i] E[y_j] for i != j.
    cross = ((n_1 * x_1 + n_0 * x_0) * (n_1 * y_1 + n_0 * y_0)
             - n_1 * x_1 * y_1 - n_0 * x_0 * y_0)
    return products / group_size - (products + cross) / group_size**2


def _by_difficulty(
    logits: np.ndarray, correct: np.ndarray, accuracy: np.ndarray, config: Config,
    shape: tuple[int, ...],
) -> np.ndarray:
    """Average the estimates by difficulty: [estimates, batch accuracies, records, rates, right answers].

    A prompt counts with the probability that ``right`` of its samples are right.
    """
    from scipy.stats import binom  # slow to import, and the registry imports every experiment

    size = config.group_size
    exact = covariances(logits, correct)
    found = []
    for right in config.correct_of_group:
        values = np.concatenate([exact, estimated_covariances(logits, correct, right, size)])
        weight = binom.pmf(right, size, np.clip(accuracy, 0, 1))
        weight = weight.reshape(len(logits), *shape, -1)
        values = values.reshape(len(ESTIMATES), *weight.shape)
        total = weight.sum(axis=(-2, -1))
        mean = (weight * values).sum(axis=(-2, -1)) / np.where(total > 0, total, 1)
        found.append(np.where(total > 0, mean, np.nan))
    return np.stack(found, axis=1)


EXPERIMENT = Experiment.of(
    __name__, name="covariance_identity",
    source="Cui et al., Figure 8",
    title="The covariance identity along runs, and by difficulty",
    caption="Measured entropy change of every step beside the covariances of Theorems 1 and 2, by rule "
            "and learning rate; covariances along GRPO by batch accuracy, exactly and from samples.",
    modes=("exact", "sampled"),
    work=lambda config: len(rules(config)) * config.steps,
)
