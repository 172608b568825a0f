"""The effect of training on a coin on entropy: no signal, three optimizers, steps of one length.

The reward of each answer is a coin, so noise alone moves entropy. To first order this is nothing on
average. The second order is `entropy_change.of_noise`, with the covariance of the logits that the
optimizer makes of that of the scores (`score_covariance`, S):

- *sgd* and *momentum* move shared parameters by F' S F, that is logits by K S K with K = F F'.
- *adam* divides each parameter by the root of its own mean square first. This makes the noise of rare
  actions as large as that of likely ones: nearly isotropic. It holds for mean squares that have settled.
  Those of actions that are drawn a few times per run have not. There the forecast misses by up to half a
  nat for each squared nat of displacement (32 actions, 200 steps).

The second order holds while the logits move little: up to a mean square of some hundredths of a squared
nat. With more, entropy falls at peaked policies too: logits that walk at random spread.

Optimizers are compared at one length of steps. Each run's learning rate is set so that its logits move by
``step_length`` per step, root mean square over actions. The length is measured on a pilot of the
same start. Runs come in pairs whose coins are opposite, so that effects of first order cancel.

Each answer stands twice in the bandit, with its coin up and down, and both have one set of features. So
draws of the pair are draws of the answer and a coin, and the logits of both move alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from entropy_theory import entropy_change
from entropy_theory.policy import entropy, log_softmax
from entropy_theory.update_rules import get
from simulations.computing.store import Experiment, Progress
from simulations.engine.dynamics import Dynamics
from simulations.engine.optimizer import Adam, Optimizer, Sgd
from simulations.engine.sampling import Samples
from simulations.engine.simulation import simulate
from simulations.engine.trajectory import Record
from simulations.experiments.grid import gridded, over

PILOT_STEPS, PILOT_PAIRS, PILOT_RATE = 40, 24, 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class Config:
    """Sizes and settings."""

    n_actions: tuple[int, ...] = (4, 32)
    features: tuple[float, ...] = (0.0, 0.5, 4.0)
    """The number of shared parameters over that of the actions; 0: every logit is its own."""
    relative_entropies: tuple[float, ...] = (0.05, 0.1, 0.2, 0.4, 0.7, 0.95)
    """The entropies at the start, over log of the number of actions: smaller ones are more peaked."""
    step_lengths: tuple[float, ...] = (0.003, 0.03)
    """The root mean square move of the logits a step, nats."""
    n_starts: int = 8
    n_pairs: int = 24
    """The number of pairs of runs from each start, with draws of their own."""
    steps: int = 200
    group_size: int = 8
    success: float = 0.5
    """The probability that the coin is 1."""


PROFILES = {
    "smoke": Config(
        n_actions=(4,), features=(0.0, 0.5), relative_entropies=(0.1, 0.95), n_starts=2, n_pairs=4,
        steps=30),
    "default": Config(),
    "full": Config(n_actions=(4, 32, 128)),
}
OPTIMIZERS: dict[str, Optimizer] = {"sgd": Sgd(), "momentum": Sgd(momentum=0.9), "adam": Adam()}
LONG_NAMES = {
    "displacement": "mean square move of the centered logits over the run, nats squared",
    "divergence": "mean KL divergence of the start from the policy after the run, nats",
    "rate": "mean learning rate that gives steps of this length",
    "change": "mean change of entropy over the run, nats",
    "error": "standard error of the change, over pairs of runs, nats",
    "expected": "second-order change by noise of the optimizer's shape and the measured size, nats",
    "raised": "share of the starts whose mean entropy rises",
}


def compute(config: Config, seed: int, progress: Progress) -> xr.Dataset:
    """The mean change of entropy, and the one that the second order announces."""
    axes = {"optimizer": tuple(OPTIMIZERS), "n_actions": config.n_actions, "features": config.features}
    return over(_cell, axes, config, seed, progress)


def _cell(cell: tuple[Config, int, str, int, float], progress: Progress) -> xr.Dataset:
    config, seed, optimizer, n_actions, size = cell
    rng = np.random.default_rng((seed, n_actions))
    starts = of_entropy(rng.normal(size=(config.n_starts, n_actions)), config.relative_entropies)
    parameters = np.eye(n_actions) if size == 0 else rng.normal(
        scale=(size * n_actions) ** -0.5, size=(n_actions, round(size * n_actions)))
    rates = config.step_lengths / _pilot(config, seed, optimizer, starts, parameters, progress)[..., None]
    shape = (*starts.shape[:2], len(config.step_lengths), config.n_pairs)
    before = np.broadcast_to(starts[:, :, None, None], (*shape, n_actions))
    after = _trained(
        config, seed, optimizer, before, parameters, np.broadcast_to(rates[..., None], shape), progress,
        steps=config.steps, record_every=config.steps)[:, -1]
    moved = after - before
    moved -= moved.mean(axis=-1, keepdims=True)
    square = (moved**2).mean(axis=(0, -2, -1))
    log_prob = log_softmax(before)
    divergence = (np.exp(log_prob) * (log_prob - log_softmax(after))).sum(axis=-1)
    changes = entropy_change.exact(before, after - before).mean(axis=0)
    noise = noise_of(optimizer, starts, parameters)
    expected = entropy_change.of_noise(starts, noise)[..., None] * square
    by_start = changes.mean(axis=-1)
    names: dict[str, Any] = {
        "relative_entropy": config.relative_entropies, "step_length": config.step_lengths}
    return gridded(
        names, change=by_start.mean(axis=1), raised=(by_start > 0).mean(axis=1),
        error=np.sqrt(changes.var(axis=-1, ddof=1).mean(axis=1) / (config.n_starts * config.n_pairs)),
        expected=expected.mean(axis=1), displacement=square.mean(axis=1),
        divergence=divergence.mean(axis=(0, 2, 4)), rate=rates.mean(axis=1))


def of_entropy(logits: np.ndarray, relative: Sequence[float]) -> np.ndarray:
    """Scale logits [..., actions] to each entropy over log actions: [entropies, ..., actions]."""
    wanted = np.reshape(relative, (-1, *(1,) * (logits.ndim - 1)))
    low, high = (np.full((len(wanted), *logits.shape[:-1]), end) for end in (-7.0, 7.0))  # log scale
    for _ in range(60):
        middle = (low + high) / 2
        is_flat = entropy(np.exp(middle)[..., None] * logits) > wanted * np.log(logits.shape[-1])
        low, high = np.where(is_flat, middle, low), np.where(is_flat, high, middle)
    return np.exp(low)[..., None] * logits


def noise_of(optimizer: str, logits: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Covariance of the logits' step, scaled so that centered logits have mean variance 1.

    Args:
        optimizer: a name of `OPTIMIZERS`.
        logits: [..., actions].
        features: [actions, parameters], which answers share.

    Returns:
        [..., actions, actions].
    """
    covariance = features.T @ entropy_change.score_covariance(logits) @ features
    if optimizer == "adam":
        # (Parameters of actions that are never drawn do not move.)
        square = np.maximum(np.diagonal(covariance, axis1=-2, axis2=-1), 0)
        root = np.sqrt(square) + Adam().eps
        covariance = covariance / (root[..., :, None] * root[..., None, :])
    covariance = features @ covariance @ features.T
    n = logits.shape[-1]
    size = np.trace(covariance, axis1=-2, axis2=-1) / n - covariance.sum(axis=(-2, -1)) / n**2
    return covariance / size[..., None, None]


def _pilot(
    config: Config, seed: int, optimizer: str, starts: np.ndarray, features: np.ndarray,
    progress: Progress,
) -> np.ndarray:
    """The root mean square move of centered logits a step, per unit learning rate: [entropies, starts].

    That is of the later half of a few steps, too short to leave the start.
    """
    shape = (*starts.shape[:2], min(config.n_pairs, PILOT_PAIRS))
    logits = np.broadcast_to(starts[:, :, None], (*shape, starts.shape[-1]))
    walked = _trained(config, seed, optimizer, logits, features, np.full(shape, PILOT_RATE), progress,
                      steps=PILOT_STEPS, record_every=1)
    moved = np.diff(walked[:, PILOT_STEPS // 2 :], axis=1)
    moved -= moved.mean(axis=-1, keepdims=True)
    found: np.ndarray = np.sqrt((moved**2).mean(axis=(0, 1, -2, -1))) / PILOT_RATE
    return found


def _trained(
    config: Config, seed: int, optimizer: str, starts: np.ndarray, features: np.ndarray,
    rates: np.ndarray, progress: Progress, **lengths: Any,
) -> np.ndarray:
    """The logits while training on coins and on the opposite ones: [2, records, *shape of starts].

    Both have the same uniforms, those of the run's number. ``lengths``: steps and record_every.
    """
    n = starts.shape[-1]
    flat = starts.reshape(-1, 1, n)
    chances = np.log([config.success, 1 - config.success])
    pairs = np.concatenate([flat + chance for chance in chances], axis=-1)
    dynamics = Dynamics(
        rule=get("grpo"), optimizer=OPTIMIZERS[optimizer], samples=Samples(group_size=config.group_size),
        learning_rate=tuple(rates.ravel().tolist()), seed=seed, **lengths)
    up = (np.arange(2 * n) < n).astype(float)
    shared = np.concatenate([features, features])
    found = [simulate(pairs, coin, dynamics, features=shared, record=Record(logits=True),
                      progress=progress) for coin in (up, 1 - up)]
    return np.stack([
        (run.logits[..., :n] - chances[0]).reshape(-1, *starts.shape) for run in found])


def work(config: Config) -> int:
    """Return the number of steps in all."""
    cells = len(OPTIMIZERS) * len(config.n_actions) * len(config.features)
    return cells * 2 * (config.steps + PILOT_STEPS)


EXPERIMENT = Experiment.of(
    __name__, name="noise_and_entropy",
    source="AEPO, Section 3.1, and Cui et al., Theorem 1: what holds on average, of sampled steps",
    title="What training on a coin does to entropy",
    caption="Change of entropy without any signal under SGD, momentum and Adam at one step length, by "
            "peakedness, number of actions and of shared parameters, beside its second-order forecast.",
    modes=("sampled",),
)
