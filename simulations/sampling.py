"""Sampled rollouts: how often each action was drawn, and the same draws as rows of a TokenBatch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_theory.policy import clamped_entropy, entropy, log_softmax
from entropy_theory.tabular import exact_batch, listing
from entropy_theory.token_batch import TokenBatch, concatenate


@dataclass(frozen=True, kw_only=True, slots=True)
class Samples:
    """How many responses are drawn for each prompt in each step."""

    group_size: int = 8
    """G, at temperature 1 (AEPO, Table 4)."""
    tempered: int = 8
    """Responses of the second batch, at the controller's temperature."""

    def __post_init__(self) -> None:
        for name in ("group_size", "tempered"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


def draw_counts(
    generator: np.random.Generator, probabilities: np.ndarray, samples: int
) -> np.ndarray:
    """How many of ``samples`` independent draws took each action: [runs, states, actions]."""
    return generator.multinomial(samples, np.ascontiguousarray(probabilities))


def token_batch(
    logits: np.ndarray,
    reward: np.ndarray,
    *,
    ordinary: bool,
    temperature: np.ndarray | None,
    counts: np.ndarray | None = None,
    tempered_counts: np.ndarray | None = None,
    reference_logits: np.ndarray | None = None,
    removed_fraction: float = 0.0,
) -> TokenBatch:
    """The batch of one step as rows, exact where no counts are given.

    Args:
        logits: [runs, states, actions].
        reward: broadcastable to the same.
        ordinary: whether the batch has rows at temperature 1.
        temperature: [runs], of the second batch; None for no second batch.
        counts: how often the ordinary rows took each action; None lists all actions.
        tempered_counts: the same of the second batch.
        reference_logits: of the reference policy, where a rule reads it.
        removed_fraction: of the clamped entropy, where a rule has that term.
    """
    columns: dict[str, Any] = {
        "reference_logits": reference_logits, "removed_fraction": removed_fraction,
    }
    if counts is None and tempered_counts is None:
        if ordinary:
            return exact_batch(logits, reward, temperature=temperature, **columns)
        return listing(logits, reward, temperature=temperature, **columns)
    parts = []
    if counts is not None:
        parts.append(_sampled_rows(logits, reward, counts, None, **columns))
    if tempered_counts is not None:
        parts.append(_sampled_rows(logits, reward, tempered_counts, temperature, **columns))
    return concatenate(parts)


def _sampled_rows(
    logits: np.ndarray,
    reward: np.ndarray,
    counts: np.ndarray,
    temperature: np.ndarray | None,
    *,
    reference_logits: np.ndarray | None,
    removed_fraction: float,
) -> TokenBatch:
    """One row a draw, [runs, states * samples, 1], equally weighted."""
    n_runs, n_states, n_actions = logits.shape
    samples = int(counts[0, 0].sum())
    rows = (n_runs, n_states * samples, 1)
    every_action = np.tile(np.arange(n_actions), n_runs * n_states)
    action = np.repeat(every_action, counts.ravel()).reshape(rows)
    state = np.broadcast_to(np.repeat(np.arange(n_states), samples)[:, None], rows)

    def pick(values: np.ndarray) -> np.ndarray:
        """The entries of [runs, states, actions] at each row's state and action."""
        full = np.broadcast_to(values, logits.shape).reshape(n_runs, -1)
        return np.take_along_axis(full, (state * n_actions + action)[..., 0], axis=1)[..., None]

    log_prob = log_softmax(logits)
    tempered = temperature is not None
    per_run = np.ones(n_runs) if temperature is None else np.asarray(temperature, dtype=float)
    return TokenBatch(
        log_prob=pick(log_prob),
        old_log_prob=pick(log_prob),
        reward=pick(np.asarray(reward, dtype=float)),
        mask=np.ones(rows, dtype=bool),
        weight=np.full(rows, 1 / (n_states * samples)),
        entropy=pick(entropy(logits)[..., None]),
        clamped_entropy=(
            pick(clamped_entropy(logits, removed_fraction)[..., None]) if removed_fraction else None
        ),
        reference_log_prob=(
            None if reference_logits is None else pick(log_softmax(reference_logits))
        ),
        sampling_log_prob=pick(log_softmax(logits, per_run[:, None])),
        sampling_temperature=np.broadcast_to(per_run[:, None, None], rows).copy(),
        tempered=np.full(rows, tempered),
        group=None if n_states == 1 else state.copy(),
        state=state.copy(),
        action=action,
    )
