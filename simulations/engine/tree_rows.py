"""Draws responses on token trees token by token, and writes them as rows of a TokenBatch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from entropy_theory.token_batch import TokenBatch
from entropy_theory.token_tree import Paths, TokenTree
from simulations.engine.rows import sampled_rows
from simulations.engine.sampling import draw


def draw_responses(
    tree: TokenTree, probabilities: np.ndarray, uniforms: Callable[[int], np.ndarray]
) -> Paths:
    """Draw independent responses token by token: [runs, prompts, samples, horizon] each.

    Args:
        tree: the tree of each prompt.
        probabilities: [runs, prompts, states, tokens], those of the policy that is sampled.
        uniforms: function from a position to uniforms [runs, prompts, samples].
    """
    n_runs, n_prompts, *_ = probabilities.shape
    first = uniforms(0)
    states, tokens = np.zeros((2, *first.shape, tree.horizon), dtype=np.int64)
    mask = np.zeros(states.shape, dtype=bool)
    state = np.zeros(first.shape, dtype=np.int64)
    going = np.ones(first.shape, dtype=bool)
    run, prompt = np.arange(n_runs)[:, None, None], np.arange(n_prompts)[:, None]
    for position in range(tree.horizon):
        uniform = first if position == 0 else uniforms(position)
        token = draw(probabilities[run, prompt, state], uniform[..., None])[..., 0]
        states[..., position] = np.where(going, state, 0)
        tokens[..., position] = np.where(going, token, 0)
        mask[..., position] = going
        if tree.end_token:
            going = going & (token < tree.branching)
            if not going.any():
                break
        if position + 1 < tree.horizon:
            state = np.where(going, state * tree.branching + token + 1, 0)
    return Paths(states, tokens, mask)


def sampled_responses(
    logits: np.ndarray,
    reward: np.ndarray,
    tree: TokenTree,
    paths: Paths,
    response_of_edge: np.ndarray,
    *,
    temperature: np.ndarray | None,
    columns: Mapping[str, Any],
) -> TokenBatch:
    """Return a row for each response, [runs, prompts * samples, horizon], with equal token weights.

    Args:
        logits: [runs, prompts * states, tokens].
        reward: [runs or 1, prompts or 1, responses].
        tree: the tree of each prompt.
        paths: [runs, prompts, samples, horizon], from `draw_responses`.
        response_of_edge: `TokenTree.response_of_edge`.
        temperature: [runs], at which responses were drawn; None for ordinary rows.
        columns: as in `rows.sampled_rows`.
    """
    n_runs, n_prompts, samples, horizon = paths.state.shape
    shape = (n_runs, n_prompts * samples, horizon)
    prompt = np.repeat(np.arange(n_prompts), samples)[:, None]
    mask, action = paths.mask.reshape(shape), paths.token.reshape(shape)
    in_tree = paths.state.reshape(shape)
    state = in_tree + tree.n_states * prompt
    last = mask.sum(axis=-1, keepdims=True) - 1
    response = response_of_edge[
        np.take_along_axis(in_tree, last, axis=-1), np.take_along_axis(action, last, axis=-1)]
    runs = np.arange(n_runs)[:, None, None]
    of_prompts = np.broadcast_to(reward, (n_runs, n_prompts, tree.n_responses))
    rewards = of_prompts[runs, prompt, response]
    return sampled_rows(
        logits, state, action, mask, reward=np.broadcast_to(rewards, shape),
        group=None if n_prompts == 1 else np.broadcast_to(prompt, shape), temperature=temperature,
        columns=columns)
