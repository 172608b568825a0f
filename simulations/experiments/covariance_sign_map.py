"""How general is "the covariance is mostly positive" (Cui et al., a referee's third objection)?

Entropy falls, to first order, by eta times Cov_pi(log pi, pi A) under the policy gradient (PG, Theorem
1) and by eta times Cov_pi(log pi, A) under the natural gradient (NPG, Theorem 2). For rewards 0 and 1

::

    Cov(log pi, pi A) = p (1 - p) (E[c | right] - E[c | wrong]),    c = pi (log pi + H),
    Cov(log pi, A)    = p (1 - p) (E[log pi | right] - E[log pi | wrong]).

Both are positive where right answers are likelier than wrong ones, in the mean of c or of log pi. Nothing
else is in it, so the sign is a property of the problem. It is counted over random problems: families of
logits, numbers of right answers, and

- difficulty: the right answers, chosen blindly, are then raised or lowered to an accuracy p;
- competence beta: logits are as drawn, and right answers are drawn with probabilities ~ pi^beta. With
  beta = 0 the policy knows nothing. With beta = 1 and one right answer it is calibrated, right as often
  as it is confident. Its covariances then have the means ``Cov_pi(pi, c) >= 0`` and ``Cov_pi(log pi, pi)
  >= 0``. So they are positive on average in *every* family (rewards ordered like the policy,
  `covariance-positive`);
- training: from starts that know nothing and hold p = 1/8, along the exact run of an algorithm;
- batches: means over prompts of mixed difficulty, which is what the paper plots.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from entropy_theory.policy import entropy_gradient, log_softmax
from entropy_theory.update_rules import get
from simulations.computing.store import Experiment, Progress
from simulations.engine.trajectory import Record
from simulations.experiments.grid import gridded, joined, trained
from simulations.problems.bandits import Bandit

FAMILIES = {
    "Gaussian": Bandit(family="gaussian", scale=1.0),
    "wide Gaussian": Bandit(family="gaussian", scale=4.0),
    "Dirichlet": Bandit(family="dirichlet", concentration=0.3),
    "tied": Bandit(family="ties", scale=1.0),
    "saturated": Bandit(family="saturated", gap=4.0),
}
FORMS = ("PG", "NPG")
RULES = {
    "PG": get("reinforce"),
    "GRPO": get("grpo", group_size=8),
    "NPG": get("natural-gradient"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings."""

    n_problems: int = 2000
    n_actions: int = 20
    right_answers: tuple[int, ...] = (1, 4, 10)
    accuracies: tuple[float, ...] = (0.05, 0.125, 0.5, 0.875)
    competences: tuple[float, ...] = (-1.0, 0.0, 0.5, 1.0, 2.0)
    batch_sizes: tuple[int, ...] = (1, 8, 64, 256)
    n_runs: int = 100
    learning_rate: float = 0.25
    steps: int = 240
    record_every: int = 2


PROFILES = {
    "smoke": Config(n_problems=200, right_answers=(1, 4), batch_sizes=(1, 8), n_runs=20, steps=60),
    "default": Config(),
    "full": Config(n_problems=20000, right_answers=(1, 2, 4, 10, 15), n_runs=400, steps=600,
                   record_every=5),
}


def covariances(logits: np.ndarray, correct: np.ndarray) -> np.ndarray:
    """Both covariances, [2, ...] in the order of `FORMS`, in nats.

    They are computed from conditional means, whose difference keeps its sign where the policy is all but
    deterministic.

    Args:
        logits: [..., actions].
        correct: boolean, broadcastable to the same; some right and some wrong in each state.
    """
    log_pi = log_softmax(logits)
    pi = np.exp(log_pi)
    values = np.stack([-entropy_gradient(logits), log_pi])
    right, wrong = (np.where(mask, pi, 0.0) for mask in (correct, ~correct))
    p, q = right.sum(axis=-1), wrong.sum(axis=-1)
    return p * q * ((right * values).sum(axis=-1) / p - (wrong * values).sum(axis=-1) / q)


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Shares of positive covariances: by difficulty, by competence, in batches, along training."""
    dataset = xr.merge([_difficulty(config, seed), _competence(config, seed),
                        _training(config, seed, progress)])
    for name, variable in dataset.data_vars.items():
        if str(name).startswith("share"):
            variable.attrs["long_name"] = "share of positive covariances"
    return dataset


def _problem(family: str, config: Config, m: int, *accuracies: float | None) -> Bandit:
    return dataclasses.replace(FAMILIES[family], n_actions=config.n_actions, n_correct=m,
                               accuracies=accuracies)


def _difficulty(config: Config, seed: int) -> xr.Dataset:
    """Count signs where right answers are chosen blindly, then brought to an accuracy (NaN: as drawn)."""
    accuracies = (None, *config.accuracies)
    positive = []
    for family, m in itertools.product(FAMILIES, config.right_answers):
        problem = _problem(family, config, m, *accuracies)
        found = covariances(problem.starts(config.n_problems, seed), problem.correct)
        positive.append(np.moveaxis(found > 0, 1, -1))  # [form, accuracy, problem]
    axes: dict[str, Any] = {
        "family": FAMILIES, "right_answers": config.right_answers, "form": FORMS,
        "accuracy": [math.nan, *config.accuracies]}
    shape = [*(len(values) for values in axes.values()), config.n_problems]
    return gridded(axes, share_by_difficulty=np.reshape(positive, shape).mean(axis=-1))


def _competence(config: Config, seed: int) -> xr.Dataset:
    """Count signs where right answers are drawn with pi^beta, over problems and batches of them."""
    axes: dict[str, Any] = {
        "family": FAMILIES, "right_answers": config.right_answers, "competence": config.competences,
        "form": FORMS}
    shape = [len(values) for values in axes.values()]
    found = np.empty((*shape, config.n_problems))
    for f, family in enumerate(FAMILIES):
        logits = _problem(family, config, 1, None).starts(config.n_problems, seed)[:, 0]
        log_pi = log_softmax(logits)
        for i, m in enumerate(config.right_answers):
            for b, beta in enumerate(config.competences):
                # The m largest of beta log pi + Gumbel noise: drawn without replacement, ~ pi^beta.
                noise = np.random.default_rng([seed, m]).gumbel(size=logits.shape)
                rank = np.argsort(np.argsort(-(beta * log_pi + noise), axis=-1), axis=-1)
                found[f, i, b] = covariances(logits, rank < m)
    batches = {}
    for size in config.batch_sizes:
        whole = found[..., : config.n_problems // size * size]
        positive = whole.reshape(*shape, -1, size).mean(axis=-1) > 0
        batches[size] = gridded(axes, share_of_batches=positive.mean(axis=-1))
    return gridded(axes, share_by_competence=(found > 0).mean(axis=-1)).merge(
        joined("batch_size", batches))


def _training(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """Count signs along exact runs from p = 1/8, by step and by the accuracy reached."""
    problems = [_problem(family, config, m, 0.125)
                for family in FAMILIES for m in config.right_answers]
    logits = np.concatenate([problem.starts(config.n_runs, seed) for problem in problems])
    correct = np.repeat(np.concatenate([p.correct for p in problems]), config.n_runs, axis=0)
    shape = (len(FAMILIES), len(config.right_answers), config.n_runs)
    by_reached = []
    for rule in RULES.values():
        run = trained(logits, correct, rule, config, seed, progress, record=Record(logits=True))
        positive = covariances(run.logits, correct)[..., 0] > 0  # [form, records, runs]
        by_reached.append([
            [_share(positive[form], (run.reward >= low) & (run.reward < high), shape)
             for low, high in pairwise(REACHED)] for form in range(2)
        ])
    axes: dict[str, Any] = {
        "rule": RULES, "form": FORMS, "reached": REACHED[:-1], "family": FAMILIES,
        "right_answers": config.right_answers}
    return gridded(axes, share_by_accuracy_reached=np.asarray(by_reached))


REACHED = (0.0, 0.25, 0.5, 0.75, 0.9, 0.99, 1.01)
"""Edges of the accuracies by which records of a run are grouped; a group is named by its lower edge."""


def _share(positive: np.ndarray, where: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Share of positive records of each (family, right answers); NaN where there is no record."""
    axes = (0, -1)
    counted, found = (values.reshape(len(values), *shape).sum(axis=axes)
                      for values in (where, positive & where))
    return np.where(counted > 0, found / np.maximum(counted, 1), np.nan)


EXPERIMENT = Experiment.of(
    __name__, name="covariance_sign_map",
    source="Cui et al., Theorems 1 and 2, slide 'All update steps have positive average covariance'",
    title="When the covariance is positive, and entropy falls",
    caption="Share of positive covariances over families of logits, numbers of right answers and both "
            "theorems, by accuracy, by competence, along training, and in batches.",
    work=lambda config: len(RULES) * config.steps,
)
