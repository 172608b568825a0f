"""Autoregressive policies on a complete token tree: the smallest model of a language model's response.

A response is ``horizon`` tokens out of ``n_tokens``; a state is a prefix, transitions append a token.
Every state has its own logits (tabular). States are numbered level by level: 0 is the empty prefix,
the child of state s by token a is s * n_tokens + a + 1. Responses (leaves) are in lexicographic order.

Everything is exact, by recursion over levels. Only arithmetic on *probabilities* is used, so arrays may
hold floats, balls or symbols; the last axes are [states, tokens], any leading axes are a batch.

Quantities per (state, token) are called *edges*: a reward, -log pi, or r - lambda log pi. For any of
them the return of a response is the sum along it, and with the edge held fixed the policy gradient is
d(s) pi(a|s) (Q(s, a) - V(s)) (`expectation_gradient`; policy gradient theorem, AEnt Lemma 3 at
lambda = 0). The same recursion gives values, entropy-to-go and regularized values.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any
"""numpy array of floats, or of objects that can be added and multiplied."""


@dataclass(frozen=True, slots=True)
class TokenTree:
    """A complete tree of prefixes.

    Attributes:
        n_tokens: vocabulary size, at least 2.
        horizon: tokens of a response, at least 1 (1 is a bandit).
    """

    n_tokens: int
    horizon: int

    def __post_init__(self) -> None:
        if self.n_tokens < 2 or self.horizon < 1:
            raise ValueError(
                f"a token tree needs n_tokens >= 2 and horizon >= 1, got {self.n_tokens} and "
                f"{self.horizon}"
            )

    @classmethod
    def of(cls, logits: Array) -> TokenTree:
        """The tree whose states and tokens are the last two axes of ``logits``.

        Raises:
            ValueError: the number of states is not that of a complete tree.
        """
        n_states, n_tokens = np.shape(logits)[-2:]
        horizon = 1
        while n_tokens > 1 and _states(n_tokens, horizon) < n_states:
            horizon += 1
        if n_tokens < 2 or _states(n_tokens, horizon) != n_states:
            raise ValueError(
                f"{n_states} states with {n_tokens} tokens are no complete tree: the states must be "
                "1 + A + ... + A^(horizon - 1)"
            )
        return cls(n_tokens, horizon)

    @property
    def n_states(self) -> int:
        """States at which a token is chosen: (A^h - 1)/(A - 1)."""
        return _states(self.n_tokens, self.horizon)

    @property
    def n_responses(self) -> int:
        """Complete responses: A^h."""
        return self.n_tokens**self.horizon

    @property
    def levels(self) -> list[slice]:
        """The states of each depth, from the root."""
        starts = [_states(self.n_tokens, depth) for depth in range(self.horizon + 1)]
        return [slice(a, b) for a, b in itertools.pairwise(starts)]

    def visitation(self, probabilities: Array) -> Array:
        """d(s) [..., states]: the probability that a response passes through s; 1 at the root."""
        reached = [self._one(probabilities)]
        for level in self.levels[:-1]:
            edges = reached[-1][..., None] * probabilities[..., level, :]
            reached.append(edges.reshape(*edges.shape[:-2], -1))
        return np.concatenate(reached, axis=-1)

    def response_probabilities(self, probabilities: Array) -> Array:
        """[..., A^h]: the probability of each response."""
        last = self.levels[-1]
        edges = self.visitation(probabilities)[..., last, None] * probabilities[..., last, :]
        return edges.reshape(*edges.shape[:-2], -1)

    def sum_along(self, edge: Array) -> Array:
        """[..., A^h]: the sum of ``edge`` [..., states, tokens] along each response."""
        total = 0 * edge[..., 0, :1]
        for level in self.levels:
            sums = total[..., None] + edge[..., level, :]
            total = sums.reshape(*sums.shape[:-2], -1)
        return total

    def edge_reward(self, reward: Array) -> Array:
        """[..., states, tokens]: a reward of responses [..., A^h] put on their last token."""
        edge = np.zeros((*np.shape(reward)[:-1], self.n_states, self.n_tokens),
                        dtype=np.asarray(reward).dtype)
        last = self.levels[-1]
        edge[..., last, :] = np.reshape(reward, (*np.shape(reward)[:-1], -1, self.n_tokens))
        return edge

    def values(self, probabilities: Array, edge: Array) -> tuple[Array, Array]:
        """(V [..., states], Q [..., states, tokens]): expected sum of ``edge`` from here on.

        With ``edge = -log pi`` V is the entropy-to-go, with ``r - lambda log pi`` the regularized value.
        """
        values: list[Array] = []
        action_values: list[Array] = []
        for level in reversed(self.levels):
            of_tokens = edge[..., level, :]
            if values:
                of_tokens = of_tokens + values[-1].reshape(of_tokens.shape)
            action_values.append(of_tokens)
            values.append(np.sum(probabilities[..., level, :] * of_tokens, axis=-1))
        return (np.concatenate(values[::-1], axis=-1),
                np.concatenate(action_values[::-1], axis=-2))

    def expectation_gradient(self, probabilities: Array, edge: Array) -> Array:
        """d V(root)/d logits [..., states, tokens] with ``edge`` held fixed: d(s) pi(a|s) (Q - V).

        For ``edge = -log pi``, or ``r - lambda log pi``, it is the full gradient: what the change of
        the edge itself adds is zero, because E[d log pi] = 0 (AEnt, Lemmas 1 and 3).
        """
        state_values, action_values = self.values(probabilities, edge)
        weight = self.visitation(probabilities)[..., None] * probabilities
        return weight * (action_values - state_values[..., None])

    def path(self, response: int) -> list[tuple[int, int]]:
        """The (state, token) pairs of a response, from the root.

        Raises:
            ValueError: no such response.
        """
        if not 0 <= response < self.n_responses:
            raise ValueError(f"response must be in 0..{self.n_responses - 1}, got {response}")
        pairs, state = [], 0
        for depth in reversed(range(self.horizon)):
            token = response // self.n_tokens**depth % self.n_tokens
            pairs.append((state, token))
            state = state * self.n_tokens + token + 1
        return pairs

    def _one(self, probabilities: Array) -> Array:
        zero = 0 * probabilities[..., 0, :1]
        return zero + 1


def _states(n_tokens: int, horizon: int) -> int:
    return sum(n_tokens**depth for depth in range(horizon))
