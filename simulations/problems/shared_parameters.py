"""Parameters that states and actions share: the smallest model where a step at one moves the others.

With logits = start + features @ theta, a gradient step on theta moves the logits by K d. Here d is the
step of independent logits and K = features @ features.T the kernel. The papers' statements about entropy
assume K = I, orthonormal gradients of the logits. They do so in AEPO's Assumption B.4 and in the tabular
softmax of Cui et al. `Coupled` leaves the diagonal at 1 and sets how far from the identity the rest is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulations.problems.bandits import check_memory

COUPLINGS = ("actions", "states", "both")


@dataclass(frozen=True, kw_only=True, slots=True)
class Coupled:
    """Features with the kernel ``(1 - coupling) I + coupling x (V V^T)``.

    The rows of V are unit vectors, drawn at random in ``rank`` dimensions, so the diagonal is 1. With
    coupling 0 logits are independent. Towards 1 the whole policy has ``rank`` parameters (at a given
    state and action). Raises ValueError for a value outside its range, named.
    """

    coupling: float = 0.5
    """How far the kernel is from the identity, in [0, 1)."""
    between: str = "both"
    """Which logits share parameters. "actions" couples those of one state; states have dimensions of
    their own. "states" couples those of one action, which move alike. "both" couples every pair."""
    rank: int = 4
    """Dimensions of the shared part, at least 1; for "states" it is the number of actions."""
    seed: int = 0
    """Seed of the random directions."""

    def __post_init__(self) -> None:
        if not 0 <= self.coupling < 1:
            raise ValueError(f"coupling must be in [0, 1), got {self.coupling}")
        if self.between not in COUPLINGS:
            raise ValueError(f"unknown between '{self.between}': use one of {', '.join(COUPLINGS)}")
        _check_least(rank=self.rank, seed=self.seed)

    def check(self, n_states: int, n_actions: int) -> None:
        """Raise ValueError if a number is below 1, or if the features do not fit into memory."""
        _check_least(n_states=n_states, n_actions=n_actions)
        check_memory(
            16 * (n_states * n_actions) ** 2, f"features of {n_states} states x {n_actions} actions",
            "use fewer states and actions: shared parameters are for small models")

    def features(self, n_states: int, n_actions: int) -> np.ndarray:
        """[states * actions, d]."""
        self.check(n_states, n_actions)
        size = n_states * n_actions
        generator = np.random.default_rng(self.seed)
        if self.between == "states":
            shared = np.tile(np.eye(n_actions), (n_states, 1))
        elif self.between == "actions":
            shared = np.kron(np.eye(n_states), _unit_rows(generator, n_actions, self.rank))
        else:
            shared = _unit_rows(generator, size, self.rank)
        own = np.sqrt(1 - self.coupling) * np.eye(size)
        return np.concatenate([own, np.sqrt(self.coupling) * shared], axis=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Random:
    """Options of `random_features`, as a sweep file has them. Raises ValueError for impossible ones."""

    n_features: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        _check_least(n_features=self.n_features, seed=self.seed)

    def check(self, n_states: int, n_actions: int) -> None:
        """Raise ValueError if the features of such a problem do not fit in memory."""
        _check_random_size(n_states * n_actions, self.n_features)

    def features(self, n_states: int, n_actions: int) -> np.ndarray:
        """[states * actions, d]."""
        return random_features(n_states, n_actions, self.n_features, seed=self.seed)


def coupled_features(n_states: int, n_actions: int, coupling: float, **options: Any) -> np.ndarray:
    """Return features [states * actions, d] of so many states and actions; ``options`` as of `Coupled`.

    Raises:
        ValueError: a value outside its range, named; features that do not fit in memory.
    """
    return Coupled(coupling=coupling, **options).features(n_states, n_actions)


def random_features(
    n_states: int, n_actions: int, n_features: int, *, seed: int | Sequence[int] = 0
) -> np.ndarray:
    """Independent normal features [states * actions, d] of variance 1 / d; d sets the capacity.

    The kernel is the identity on average, with off-diagonal entries of size 1 / sqrt(d), and of rank d:
    fewer features than logits cannot tell all actions apart. With the same seed, the first features of a
    small and of a large d are the same up to scale.

    Raises:
        ValueError: ``n_features`` below 1; features that do not fit in memory.
    """
    _check_least(n_features=n_features)
    size = n_states * n_actions
    _check_random_size(size, n_features)
    table = np.random.default_rng(seed).standard_normal((n_features, size))
    return table.T / np.sqrt(n_features)


def _check_least(**sizes: int) -> None:
    for name, value in sizes.items():
        least = {"n_actions": 2, "seed": 0}.get(name, 1)
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}")


def _check_random_size(size: int, n_features: int) -> None:
    check_memory(8 * size * n_features, f"{n_features} features of {size} logits",
                 "use fewer of either")


def _unit_rows(generator: np.random.Generator, n: int, rank: int) -> np.ndarray:
    rows = generator.normal(size=(n, rank))
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)
