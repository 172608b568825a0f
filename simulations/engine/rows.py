"""Writes batches of bandits and prompts as rows of a TokenBatch: every action listed, or every draw."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from entropy_theory.policy import clamped_entropy, entropy, log_softmax, namespace
from entropy_theory.tabular import entropy_effects, listing
from entropy_theory.token_batch import TokenBatch, concatenate
from simulations.engine.sampling import ORDINARY, TEMPERED


def token_batch(
    logits: np.ndarray,
    reward: np.ndarray,
    *,
    ordinary: bool,
    temperature: np.ndarray | None,
    draws: Mapping[int, np.ndarray],
    sampling: Mapping[int, np.ndarray] = MappingProxyType({}),
    log_prob: np.ndarray | None = None,
    **columns: Any,
) -> TokenBatch:
    """Return the batch of one step as rows, exact where no draws are given.

    Args:
        logits: [runs, states, actions].
        reward: broadcastable to the shape of the logits.
        ordinary: whether the batch has rows at temperature 1.
        temperature: [runs], that of the second batch; None for no second batch.
        draws: [runs, states, samples], the actions that the rows of each kind took (`sampling.ORDINARY`,
            `sampling.TEMPERED`). Without draws of either kind all actions are listed.
        sampling: [runs, states, actions], the log-probabilities of what the rows of a kind are drawn
            from where that is not the policy at their temperature.
        log_prob: log softmax of the logits, where the caller has it.
        columns: reference_logits, removed_fraction and effects, as in `tabular.listing`.
    """
    if log_prob is None:
        log_prob = log_softmax(logits)
    parts = []
    if not draws:
        kinds = [(ORDINARY, None)] * ordinary + [(TEMPERED, temperature)] * (temperature is not None)
        parts = [
            listing(logits, reward, temperature=degree, sampling_log_prob=sampling.get(kind), **columns)
            for kind, degree in kinds]
        return parts[0] if len(parts) == 1 else concatenate(parts)
    n_runs, n_states, _ = logits.shape
    for kind, actions in draws.items():
        rows = (n_runs, n_states * actions.shape[-1], 1)
        state = np.broadcast_to(np.repeat(np.arange(n_states), actions.shape[-1])[:, None], rows)
        given = np.broadcast_to(reward, logits.shape)
        rewards = namespace(logits).take_along_axis(given, actions, axis=-1).reshape(rows)
        parts.append(sampled_rows(
            logits, state, actions.reshape(rows), np.ones(rows, dtype=bool), reward=rewards,
            group=None if n_states == 1 else state,
            temperature=temperature if kind == TEMPERED else None,
            columns={**columns, "log_prob": log_prob, "sampling_log_prob": sampling.get(kind)}))
    return concatenate(parts)


def sampled_rows(
    logits: np.ndarray,
    state: np.ndarray,
    action: np.ndarray,
    mask: np.ndarray,
    *,
    reward: np.ndarray,
    group: np.ndarray | None,
    temperature: np.ndarray | None,
    columns: Mapping[str, Any],
) -> TokenBatch:
    """Return the rows of what was drawn, with equal token weights.

    Args:
        logits: [runs, states, actions].
        state, action, mask, reward, group: [runs, rows, positions]. Without a group there is one prompt.
        temperature: [runs], at which rows were drawn; None for ordinary rows.
        columns: log_prob, and sampling_log_prob, reference_logits, removed_fraction and effects as in
            `tabular.listing`.
    """
    xp, shape = namespace(logits), mask.shape
    n_runs, _, n_actions = logits.shape
    index = (state * n_actions + action).reshape(n_runs, -1)

    def pick(values: np.ndarray) -> np.ndarray:
        """The entries of [runs, states, actions] at each row's state and action."""
        full = xp.broadcast_to(values, logits.shape).reshape(n_runs, -1)
        return xp.take_along_axis(full, index, axis=1).reshape(shape)

    taken, before = pick(columns["log_prob"]), pick(entropy(logits)[..., None])
    tempered = temperature is not None
    per_run = np.ones(n_runs) if temperature is None else temperature
    reference, removed = columns.get("reference_logits"), columns.get("removed_fraction", 0.0)
    sampling = columns.get("sampling_log_prob")
    if sampling is None and tempered:
        sampling = log_softmax(logits, per_run[:, None])
    return TokenBatch(
        log_prob=taken,
        old_log_prob=taken,
        reward=reward,
        mask=mask,
        weight=np.broadcast_to(1 / mask.sum(axis=(-2, -1), keepdims=True), shape),
        entropy=before,
        old_entropy=before,
        clamped_entropy=pick(clamped_entropy(logits, removed)[..., None]) if removed else None,
        reference_log_prob=None if reference is None else pick(log_softmax(reference)),
        sampling_log_prob=taken if sampling is None else pick(sampling),
        sampling_temperature=xp.broadcast_to(per_run[:, None, None], shape),
        tempered=np.full(shape, tempered),
        entropy_effect=pick(entropy_effects(logits)) if columns.get("effects") else None,
        group=group,
        state=state,
        action=action,
    )
