"""Runs with one thing wrong, made up: series about which everything is known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.signal import lfilter

from entropy_theory.training_logs.logs import Run, Series

COLUMNS = {
    "entropy": "actor/entropy", "reward": "critic/score/mean", "score": "val-core/x/acc/mean@1",
    "length": "response_length/mean", "truncated": "response_length/clip_ratio", "loss": "actor/pg_loss",
    "clipped": "actor/pg_clipfrac", "gradient_norm": "actor/grad_norm", "kl_reference": "actor/kl_loss",
    "mismatch": "training/rollout_probs_diff_mean", "kl_step": "actor/ppo_kl",
}


def noise(generator: np.random.Generator, n: int, rho: float = 0.0) -> np.ndarray:
    """Autoregressive noise of variance 1."""
    drawn = generator.normal(size=n + 300)
    return lfilter([1], [1, -rho], drawn)[300:] * np.sqrt(1 - rho**2)


def run(series: Mapping[str, np.ndarray], engine: str = "verl", **fields) -> Run:
    """A run of these values at steps 1, 2, ..."""
    return Run("made.log", "", engine, {
        name: Series(COLUMNS.get(name, name), np.arange(1.0, len(value) + 1), np.asarray(value, float))
        for name, value in series.items()}, fields.pop("notes", ()), (), **fields)


def healthy(seed: int, n: int = 200, rho: float = 0.4) -> dict[str, np.ndarray]:
    """Training that succeeds: reward saturates, entropy settles, nothing else moves."""
    generator = np.random.default_rng(seed)
    time = np.arange(n) / n
    learned = 1 - np.exp(-5 * time)
    return {
        "entropy": np.exp(np.log(0.6) - 1.2 * learned + 0.05 * noise(generator, n, rho)),
        "reward": 0.3 + 0.5 * learned + 0.03 * noise(generator, n, rho),
        "score": 0.25 + 0.4 * learned + 0.02 * noise(generator, n, rho),
        "length": 200 * np.exp(-0.15 * learned + 0.03 * noise(generator, n, rho)),
        "truncated": np.abs(0.01 * noise(generator, n, rho)),
        "clipped": 0.003 + 0.001 * np.abs(noise(generator, n, rho)),
        "gradient_norm": np.exp(-1 + 0.1 * noise(generator, n, rho)),
        "kl_reference": 0.02 * learned + 1e-4 + 5e-4 * np.abs(noise(generator, n, rho)),
        "mismatch": 0.003 + 0.0003 * noise(generator, n, rho),
    }


def late(values: np.ndarray, factor: float, begin: float = 0.6) -> np.ndarray:
    """Values that move by a factor, over a tenth of the run from a share of it on."""
    time = np.arange(len(values)) / len(values)
    return values * np.exp(np.log(factor) * np.clip((time - begin) / 0.1, 0, 1))
