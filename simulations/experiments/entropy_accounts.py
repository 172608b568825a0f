"""Entropy changes accounted for where logits share parameters: where forecasts fail, and which hold.

GRPO runs exactly, on logits = start + features theta, where theta moves by gradient steps with momentum:

- four prompts of graded difficulty trained together, with the kernel features features^T further and
  further from the identity (coupling);
- a token tree, whose prefixes have independent logits;
- the same tree with tied tokens: a token's logit moves alike at every prefix, as if the model did not
  read what it has written.

Four numbers are computed at every step:

- (i) is the forecast from the rule's coefficients, as if logits were independent.
- (i') is the inner product of the gradient of the mean entropy by theta with the step.
- The account is that gradient averaged along the step, in two parts, this step's gradient and momentum.
- The change of entropy is measured.

The mean is over prompts, and on a tree over responses of means over their tokens, at the probabilities
before the step. Where logits are independent and there is no momentum, (i) equals (i'). With coupling it
does not. There (i') errs by first order alone, and the account by its quadrature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from entropy_theory import accounting, entropy_change, policy, tabular
from entropy_theory.token_batch import TokenBatch, sequence_weight
from entropy_theory.update_rules import get
from simulations.computing.store import Experiment, Progress
from simulations.experiments.grid import gridded
from simulations.problems.bandits import Bandit
from simulations.problems.shared_parameters import coupled_features
from simulations.problems.token_trees import TokenProblem

COLUMNS = ("coefficients", "entropy_gradient", "measured")


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings."""

    n_actions: int = 20
    n_correct: int = 4
    accuracies: tuple[float, ...] = (0.1, 0.3, 0.6, 0.9)
    couplings: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75)
    n_tokens: int = 4
    horizon: int = 3
    n_right_responses: int = 4
    tree_accuracy: float = 0.3
    momenta: tuple[float, ...] = (0.0, 0.9)
    learning_rate: float = 1.0
    group_size: int = 8
    n_starts: int = 4
    steps: int = 100


PROFILES = {
    "smoke": Config(couplings=(0.0, 0.75), n_starts=1, steps=20),
    "default": Config(),
    "full": Config(n_starts=16),
}


TREES = {"token tree": False, "token tree, tied tokens": True}
"""Whether the tokens of the tree are tied."""


def work(config: Config) -> int:
    """Return the number of steps in all."""
    models = len(config.couplings) + len(TREES)
    return models * len(config.momenta) * config.n_starts * config.steps


@dataclass(frozen=True, kw_only=True, slots=True)
class _Model:
    """A policy on shared parameters, and the exact batches it is trained on."""

    start: np.ndarray
    """[states, actions]."""
    features: np.ndarray
    """[states x actions, parameters]."""
    batch: Callable[[np.ndarray], TokenBatch]
    """The batch at logits [states, actions]."""


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """The forecasts, the accounts and the measured changes, and how they compare."""
    names = [*(f"coupling {coupling:g}" for coupling in config.couplings), *TREES]
    table = np.array([
        [[_run(config, model, momentum, progress) for model in models] for momentum in config.momenta]
        for models in (*_coupled(config, seed), *_trees(config, seed))])
    axes: dict[str, Any] = {
        "model": names, "momentum": config.momenta, "start": np.arange(config.n_starts),
        "step": np.arange(config.steps)}
    return gridded(axes, **{name: table[:, :, :, i] for i, name in enumerate(COLUMNS)})


def _coupled(config: Config, seed: int) -> Iterator[list[_Model]]:
    """Prompts of each coupling, one model a start."""
    problem = Bandit(
        n_actions=config.n_actions, n_correct=config.n_correct, accuracies=config.accuracies
    )
    starts, reward = problem.starts(config.n_starts, seed), problem.correct[0].astype(float)
    for coupling in config.couplings:
        features = coupled_features(starts.shape[1], config.n_actions, coupling, seed=seed)
        yield [
            _Model(start=start, features=features,
                   batch=lambda logits: tabular.exact_batch(logits, reward))
            for start in starts
        ]


def _trees(config: Config, seed: int) -> Iterator[list[_Model]]:
    """The tree with independent logits, then with tied tokens."""
    problem = TokenProblem(
        n_tokens=config.n_tokens, horizon=config.horizon, n_correct=config.n_right_responses,
        accuracies=(config.tree_accuracy,))
    starts, reward = problem.starts(config.n_starts, seed), problem.correct[0].astype(float)
    logits = starts.shape[1] * starts.shape[2]
    for tied in TREES.values():
        features = np.tile(np.eye(config.n_tokens), (starts.shape[1], 1)) if tied else np.eye(logits)
        yield [
            _Model(start=start, features=features,
                   batch=lambda logits: tabular.response_batch(logits, reward, tree=problem.tree))
            for start in starts
        ]


def _state_shares(batch: TokenBatch, n_states: int) -> np.ndarray:
    """Return the weight of each state in the mean over sequences of means over tokens: [states]."""
    weight = sequence_weight(batch, batch.mask)
    length = batch.mask.sum(axis=-1, keepdims=True)
    share = np.where(batch.mask, weight / length, 0.0) / weight.sum()
    return tabular.sum_by_index(np, share, batch.state, n_states)


def _run(config: Config, model: _Model, momentum: float, progress: Progress) -> np.ndarray:
    """Train one run; return COLUMNS of each step, [columns, steps], nats."""
    rule, start, features = get("grpo", group_size=config.group_size), model.start, model.features
    theta, buffer = np.zeros(features.shape[1]), np.zeros(features.shape[1])
    found = []

    def logits(parameters: np.ndarray) -> np.ndarray:
        return start + (features @ parameters).reshape(start.shape)

    for _ in range(config.steps):
        here = logits(theta)
        batch = model.batch(here)
        shares = _state_shares(batch, len(start))

        def entropy(parameters: np.ndarray, shares: np.ndarray = shares) -> float:
            return float(shares @ policy.entropy(logits(parameters)))

        def gradient(parameters: np.ndarray, shares: np.ndarray = shares) -> np.ndarray:
            slopes = shares[:, None] * policy.entropy_gradient(logits(parameters))
            return features.T @ slopes.ravel()

        coefficients = tabular.logit_step(here, batch, rule)
        own = features.T @ coefficients.ravel()
        parts = {
            "gradient": config.learning_rate * own,
            "momentum": config.learning_rate * momentum * buffer,
        }
        account = accounting.of_step(entropy, gradient, theta, parts)
        found.append([
            float(shares @ entropy_change.first_order(here, config.learning_rate * coefficients)),
            account.forecast, account.measured,
        ])
        buffer = own + momentum * buffer
        theta = theta + config.learning_rate * buffer
        progress(1)
    return np.array(found).T


EXPERIMENT = Experiment.of(
    __name__, name="entropy_accounts",
    source="AEPO, Assumption B.4 and Eq. 6",
    title="Entropy changes accounted for on shared parameters",
    caption="Entropy change of every step of exact GRPO on shared parameters, beside forecasts (i) and "
            "(i'), over couplings, token trees and momentum.",
)
