r"""Autoregressive policies on a token tree: the smallest model of a language model's response.

A response is a string of at most ``horizon`` tokens out of ``n_tokens``; a state is a prefix, transitions
append a token. Every state has its own logits (tabular). In a complete tree all responses have
``horizon`` tokens. Other trees have an end token, the last one, after which nothing follows. Their
responses are the paths that end with it or reach the horizon, so lengths vary.

States are numbered level by level: 0 is the empty prefix, the child of state s by token a is
s * branching + a + 1, where branching counts the tokens that something follows. Responses are in the
order of their last state, then of their last token; in a complete tree that is lexicographic.

Everything is exact, by recursion over levels. Only arithmetic on *probabilities* is used, so arrays may
hold floats, balls or symbols; the last axes are [states, tokens], any leading axes are a batch.

Quantities per (state, token) are called *edges*, such as a reward, :math:`-\log \pi`, or
:math:`r - \lambda \log \pi`. The return of a response is the sum of an edge along it. With the edge
held fixed the policy gradient is :math:`d(s) \pi(a|s) (Q(s, a) - V(s))` (`expectation_gradient`; policy
gradient theorem, AEnt Lemma 3 at lambda = 0). The same recursion gives values, entropy-to-go and
regularized values.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Array = Any
"""A numpy array of floats, or of objects that can be added and multiplied."""


class Paths(NamedTuple):
    """Every response written out as arrays [responses, horizon].

    Beyond a response's end ``mask`` is False, and ``state`` and ``token`` are 0.
    """

    state: np.ndarray
    token: np.ndarray
    mask: np.ndarray


@dataclass(frozen=True, slots=True)
class TokenTree:
    """A tree of prefixes, complete or with an end token.

    Attributes:
        n_tokens: vocabulary size, the end token included; at least 2.
        horizon: most tokens of a response, at least 1 (1 is a bandit).
        end_token: whether the last token ends a response.
    """

    n_tokens: int
    horizon: int
    end_token: bool = False

    def __post_init__(self) -> None:
        if self.n_tokens < 2 or self.horizon < 1:
            raise ValueError(
                f"a token tree needs n_tokens >= 2 and horizon >= 1, got {self.n_tokens} and "
                f"{self.horizon}"
            )
        if self.branching > 1 and self.horizon * math.log2(self.branching) > 1000:
            raise ValueError(
                f"a token tree of {self.n_tokens} tokens and horizon {self.horizon} has more than 2^1000 "
                "prefixes, which no memory holds: use a smaller horizon or fewer tokens"
            )

    @classmethod
    def of(cls, logits: Array) -> TokenTree:
        """The complete tree whose states and tokens are the last two axes of ``logits``.

        Raises:
            ValueError: the number of states is not that of a complete tree.
        """
        n_states, n_tokens = np.shape(logits)[-2:]
        horizon = 1
        while n_tokens > 1 and _states(n_tokens, horizon) < n_states:
            horizon += 1
        if n_tokens < 2 or _states(n_tokens, horizon) != n_states:
            raise ValueError(
                f"{n_states} states with {n_tokens} tokens do not make a complete tree: the number of "
                "states must be 1 + A + ... + A^(horizon - 1)"
            )
        return cls(n_tokens, horizon)

    @property
    def branching(self) -> int:
        """The number b of tokens that another token may follow: all, or all but the end token."""
        return self.n_tokens - self.end_token

    @property
    def n_states(self) -> int:
        """The number of states at which a token is chosen: 1 + b + ... + b^(h - 1)."""
        return _states(self.branching, self.horizon)

    @property
    def n_responses(self) -> int:
        """The number of responses: A^h in a complete tree; else 1 per inner state, A per last one."""
        last = self.branching ** (self.horizon - 1)
        return (self.n_states - last) * self.end_token + last * self.n_tokens

    @property
    def levels(self) -> list[slice]:
        """The states of each depth, from the root."""
        starts = [_states(self.branching, depth) for depth in range(self.horizon + 1)]
        return [slice(a, b) for a, b in itertools.pairwise(starts)]

    @property
    def lengths(self) -> np.ndarray:
        """The number of tokens of each response: integer [responses]."""
        return self._of_last_edges(
            np.broadcast_to(self._depths()[:, None] + 1, (self.n_states, self.n_tokens)))

    def _depths(self) -> np.ndarray:
        sizes = [level.stop - level.start for level in self.levels]
        return np.repeat(np.arange(self.horizon), sizes)

    def _of_last_edges(self, edge: Array) -> Array:
        """[..., responses]: the entry of [..., states, tokens] at the last token of each response."""
        *inner, last = self.levels
        at_last = edge[..., last, :]
        flat = at_last.reshape(*at_last.shape[:-2], -1)
        if not self.end_token or not inner:
            return flat
        return np.concatenate([edge[..., : last.start, -1], flat], axis=-1)

    def visitation(self, probabilities: Array) -> Array:
        """d(s) [..., states]: the probability that a response passes through s; 1 at the root."""
        reached = [self._one(probabilities)]
        for level in self.levels[:-1]:
            edges = reached[-1][..., None] * probabilities[..., level, : self.branching]
            reached.append(edges.reshape(*edges.shape[:-2], -1))
        return np.concatenate(reached, axis=-1)

    def response_probabilities(self, probabilities: Array) -> Array:
        """[..., responses]: the probability of each response."""
        visits = self.visitation(probabilities)
        if self.end_token:
            return self._of_last_edges(visits[..., None] * probabilities)
        last = self.levels[-1]
        edges = visits[..., last, None] * probabilities[..., last, :]
        return edges.reshape(*edges.shape[:-2], -1)

    def sum_along(self, edge: Array) -> Array:
        """[..., responses]: the sum of ``edge`` [..., states, tokens] along each response."""
        total = 0 * edge[..., 0, :1]
        sums = []
        for level in self.levels:
            sums.append(total[..., None] + edge[..., level, :])
            total = sums[-1][..., : self.branching]
            total = total.reshape(*total.shape[:-2], -1)
        return self._of_last_edges(np.concatenate(sums, axis=-2))

    def edge_reward(self, reward: Array) -> Array:
        """[..., states, tokens]: a reward of responses [..., responses] put on their last token."""
        lead = np.shape(reward)[:-1]
        edge = np.zeros((*lead, self.n_states, self.n_tokens), dtype=np.asarray(reward).dtype)
        last = self.levels[-1]
        ended = last.start * self.end_token
        edge[..., :ended, -1] = reward[..., :ended]
        edge[..., last, :] = np.reshape(reward[..., ended:], (*lead, -1, self.n_tokens))
        return edge

    def values(self, probabilities: Array, edge: Array) -> tuple[Array, Array]:
        r"""(V [..., states], Q [..., states, tokens]): expected sum of ``edge`` from here on.

        With ``edge = -log pi`` V is the entropy-to-go, with :math:`r - \lambda \log \pi` the
        regularized value.
        """
        values: list[Array] = []
        action_values: list[Array] = []
        for level in reversed(self.levels):
            of_tokens = edge[..., level, :]
            if values:
                to_go = values[-1].reshape(*values[-1].shape[:-1], -1, self.branching)
                going_on = of_tokens[..., : self.branching] + to_go
                of_tokens = going_on if not self.end_token else np.concatenate(
                    [going_on, of_tokens[..., -1:] + 0 * going_on[..., :1]], axis=-1)
            action_values.append(of_tokens)
            values.append(np.sum(probabilities[..., level, :] * of_tokens, axis=-1))
        # An edge that does not depend on the batch has fewer leading axes at the last level.
        lead = values[0].shape[:-1]
        action_values[0] = np.broadcast_to(
            action_values[0], (*lead, *action_values[0].shape[-2:]))
        return (np.concatenate(values[::-1], axis=-1),
                np.concatenate(action_values[::-1], axis=-2))

    def flow(self, probabilities: Array, of_response: Array) -> Array:
        """[..., states, tokens]: the sum over responses through an edge of P(response) x of_response.

        Args:
            probabilities: [..., states, tokens].
            of_response: [..., responses], any function of the response.
        """
        _, action_values = self.values(probabilities, self.edge_reward(of_response))
        return self.visitation(probabilities)[..., None] * probabilities * action_values

    def sum_through(self, of_response: Array) -> Array:
        """[..., states, tokens]: the sum over the responses through each edge of ``of_response``."""
        edge = self.edge_reward(of_response)
        return self.values(0 * edge + 1, edge)[1]

    def token_shares(self, probabilities: Array) -> Array:
        """w(s) [..., states], summing to 1: E[ share of the response's tokens chosen at s ].

        A mean over tokens, per response and then over responses, weighs states by it (Cui et al., Eq. 5).
        In a complete tree it is visitation / horizon.
        """
        visits = self.visitation(probabilities)
        if not self.end_token:
            return visits / self.horizon
        return visits * self.values(probabilities, self.edge_reward(1 / self.lengths))[0]

    def expectation_gradient(self, probabilities: Array, edge: Array) -> Array:
        r"""Return ``d V(root)/d logits`` with ``edge`` held fixed, [..., states, tokens].

        It is :math:`d(s) \pi(a|s) (Q - V)`.

        For ``edge = -log pi``, or :math:`r - \lambda \log \pi`, it is the full gradient. The change of
        the edge itself adds zero, because :math:`\mathbb E[d \log \pi] = 0` (AEnt, Lemmas 1 and 3).
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
        last = self.levels[-1].start
        if self.end_token and response < last:
            state, token = response, self.n_tokens - 1
        else:
            beyond = response - last * self.end_token
            state, token = last + beyond // self.n_tokens, beyond % self.n_tokens
        pairs = [(state, token)]
        while state:
            state, token = divmod(state - 1, self.branching)
            pairs.append((state, token))
        return pairs[::-1]

    def paths(self) -> Paths:
        """Every response as its states and tokens, [responses, horizon]."""
        edges = np.arange(self.n_states * self.n_tokens).reshape(self.n_states, self.n_tokens)
        state, token = np.divmod(self._of_last_edges(edges), self.n_tokens)
        position = self.lengths - 1
        states, tokens = np.zeros((2, self.n_responses, self.horizon), dtype=np.int64)
        mask = np.arange(self.horizon) <= position[:, None]
        row = np.arange(self.n_responses)
        while True:
            states[row, position], tokens[row, position] = state, token
            going = position > 0
            if not going.any():
                return Paths(states, tokens, mask)
            row, position, state = row[going], position[going] - 1, state[going]
            state, token = np.divmod(state - 1, self.branching)

    def response_of_edge(self) -> np.ndarray:
        """Integer [states, tokens]: the response that ends with an edge; -1 where none does."""
        found = np.full((self.n_states, self.n_tokens), -1)
        last = self.levels[-1]
        ended = last.start * self.end_token
        found[:ended, -1] = np.arange(ended)
        found[last] = np.arange(ended, self.n_responses).reshape(-1, self.n_tokens)
        return found

    def _one(self, probabilities: Array) -> Array:
        zero = 0 * probabilities[..., 0, :1]
        return zero + 1


def _states(branching: int, horizon: int) -> int:
    return horizon if branching == 1 else (branching**horizon - 1) // (branching - 1)
