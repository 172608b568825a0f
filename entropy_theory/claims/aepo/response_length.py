"""Responses of different lengths on a token tree: token 1 ends the response, what follows is padding.

On a complete tree of two tokens (`entropy_theory.token_tree`) a response has the length of its first
token 1 (index 0), or the horizon. Rewards depend on the response alone, not on its padding, and padding
takes no gradient. Horizon 1 is the case of equal lengths.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from entropy_theory.token_tree import TokenTree
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals

STOP = 0


@dataclass(frozen=True, slots=True)
class Responses:
    """The responses (leaves) of a tree in which one token ends a response.

    Attributes:
        tree: the tree.
        length: [leaves] tokens up to and including the stop.
        canonical: [leaves] the leaf with the same response and stops as padding.
        tokens_taken: [leaves, states * tokens] 1 where the response takes this token.
        states_seen: [leaves, states] 1 where the response chooses a token.
    """

    tree: TokenTree
    length: np.ndarray
    canonical: np.ndarray
    tokens_taken: np.ndarray
    states_seen: np.ndarray


@lru_cache
def responses(tree: TokenTree) -> Responses:
    """The table of responses of this tree."""
    n, h = tree.n_responses, tree.horizon
    length, canonical = np.full(n, h), np.arange(n)
    taken = np.zeros((n, tree.n_states, tree.n_tokens), dtype=int)
    for leaf in range(n):
        path = tree.path(leaf)
        tokens = [token for _, token in path]
        if STOP in tokens:
            length[leaf] = tokens.index(STOP) + 1
            kept = tokens[: length[leaf]] + [STOP] * (h - int(length[leaf]))
            canonical[leaf] = sum(t * tree.n_tokens ** (h - 1 - k) for k, t in enumerate(kept))
        for state, token in path[: length[leaf]]:
            taken[leaf, state, token] = 1
    return Responses(tree, length, canonical, taken.reshape(n, -1), taken.sum(axis=-1))


def right(correct: Mask, table: Responses) -> Mask:
    """The mask of right responses, made independent of padding."""
    return correct[..., table.canonical]


def lengths(logits: Reals, table: Responses) -> Reals:
    """[1, leaves] lengths in the arithmetic of ``logits``."""
    return np.array([[ar.constant(int(n), like=logits) for n in table.length]])


def policy_update(
    logits: Reals, factor: Reals, table: Responses, temperature: Reals | None = None
) -> Reals:
    """E_{o ~ pi^T} factor(o) sum_{t <= |o|} grad log pi(o_t | o_{<t}), flattened."""
    if temperature is not None:
        temperature = ar.per_action(temperature)
    sampled = table.tree.response_probabilities(ar.softmax(logits, temperature))
    weights = sampled * factor
    dtype = object if ar.is_exact(weights) else float
    taken = weights @ table.tokens_taken.astype(dtype)
    seen = weights @ table.states_seen.astype(dtype)
    expected = ar.softmax(logits) * seen[..., None]
    return taken - expected.reshape(taken.shape)


def one_length(correct: Mask, table: Responses) -> Mask:
    """Whether all right responses have the same length."""
    mask = right(correct, table)
    longest = np.max(np.where(mask, table.length, 0), axis=-1)
    shortest = np.min(np.where(mask, table.length, table.tree.horizon), axis=-1)
    return (longest == shortest) | ~np.any(mask, axis=-1)


def common_length(logits: Reals, correct: Mask, table: Responses) -> Reals:
    """[B, 1] the length of the longest right response (1 if none is right)."""
    longest = np.max(np.where(right(correct, table), table.length, 1), axis=-1)
    return np.array([[ar.constant(int(n), like=logits)] for n in longest])
