"""Writes batches of bandits and prompts as rows of a TokenBatch: every action listed, or every draw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from entropy_theory.policy import clamped_entropy, entropy, log_softmax, namespace
from entropy_theory.tabular import entropy_effects, exact_batch, listing
from entropy_theory.token_batch import TokenBatch, concatenate
from simulations.engine.sampling import TEMPERED


def token_batch(
    logits: np.ndarray,
    reward: np.ndarray,
    *,
    ordinary: bool,
    temperature: np.ndarray | None,
    draws: Mapping[int, np.ndarray],
    log_prob: np.ndarray | None = None,
    reference_logits: np.ndarray | None = None,
    removed_fraction: float = 0.0,
    effects: bool = False,
) -> TokenBatch:
    """Return the batch of one step as rows, exact where no draws are given.

    Args:
        logits: [runs, states, actions].
        reward: broadcastable to the shape of the logits.
        ordinary: whether the batch has rows at temperature 1.
        temperature: [runs], that of the second batch; None for no second batch.
        draws: [runs, states, samples], the actions that the rows of each kind took (`sampling.ORDINARY`,
            `sampling.TEMPERED`); without draws of either kind all actions are listed.
        log_prob: log softmax of the logits, where the caller has it.
        reference_logits: logits of the reference policy, where a rule reads it.
        removed_fraction: share of the actions that the clamped entropy leaves out, where a rule has
            that term.
        effects: whether the batch has the column ``entropy_effect``, where a rule reads it.
    """
    if log_prob is None:
        log_prob = log_softmax(logits)
    columns: dict[str, Any] = {
        "reference_logits": reference_logits, "removed_fraction": removed_fraction,
        "effects": effects,
    }
    if not draws:
        if ordinary:
            return exact_batch(logits, reward, temperature=temperature, **columns)
        return listing(logits, reward, temperature=temperature, **columns)
    return concatenate([
        _sampled_rows(logits, reward, actions, temperature if kind == TEMPERED else None, log_prob,
                      **columns)
        for kind, actions in draws.items()
    ])


def _sampled_rows(
    logits: np.ndarray,
    reward: np.ndarray,
    actions: np.ndarray,
    temperature: np.ndarray | None,
    log_prob: np.ndarray,
    *,
    reference_logits: np.ndarray | None,
    removed_fraction: float,
    effects: bool,
) -> TokenBatch:
    """Return one row for each draw, [runs, states * samples, 1], equally weighted."""
    xp = namespace(logits)
    n_runs, n_states, n_actions = logits.shape
    samples = actions.shape[-1]
    rows = (n_runs, n_states * samples, 1)
    action = actions.reshape(rows)
    state = np.broadcast_to(np.repeat(np.arange(n_states), samples)[:, None], rows)

    def pick(values: np.ndarray) -> np.ndarray:
        """The entries of [runs, states, actions] at each row's state and action."""
        full = xp.broadcast_to(values, logits.shape).reshape(n_runs, -1)
        return xp.take_along_axis(full, (state * n_actions + action)[..., 0], axis=1)[..., None]

    taken = pick(log_prob)
    tempered = temperature is not None
    per_run = np.ones(n_runs) if temperature is None else temperature
    return TokenBatch(
        log_prob=taken,
        old_log_prob=taken,
        reward=pick(reward),
        mask=np.ones(rows, dtype=bool),
        weight=np.full(rows, 1 / (n_states * samples)),
        entropy=pick(entropy(logits)[..., None]),
        clamped_entropy=(
            pick(clamped_entropy(logits, removed_fraction)[..., None]) if removed_fraction else None
        ),
        reference_log_prob=(
            None if reference_logits is None else pick(log_softmax(reference_logits))
        ),
        sampling_log_prob=pick(log_softmax(logits, per_run[:, None])) if tempered else taken,
        sampling_temperature=xp.broadcast_to(per_run[:, None, None], rows),
        tempered=np.full(rows, tempered),
        entropy_effect=pick(entropy_effects(logits)) if effects else None,
        group=None if n_states == 1 else state,
        state=state,
        action=action,
    )
