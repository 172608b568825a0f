"""Sampled rollouts: which actions were drawn, by keyed uniforms and the inverse of the distribution.

A uniform is a function of (seed, batch, kind, run, prompt, sample, position) and of nothing else. So
results do not depend on how runs are blocked, over processes or in memory. GOLDEN and `mix` are those of
splitmix64 (Steele, Lea, Flood 2014), and all arithmetic is modulo 2^64::

    absorb(h, word) = mix(h + (word + 1) * GOLDEN)
    key  = absorb(absorb(0, seed), batch)
    lane = absorb(absorb(absorb(absorb(absorb(0, kind), run), prompt), sample), position)
    u    = (mix(lane + key) >> 11) * 2^-53

- ``batch`` counts batches from 1.
- ``kind`` is 0 for ordinary rows, 1 for tempered rows and 2 for noise (`simulations.engine.sampler`).
- ``run`` is the run's number, ``Dynamics.first_run`` + its place.
- ``position`` is the token's place in its response, 0 for a bandit.

The action drawn is the number of actions a with c_a <= u c_last. Here c is the running sum of the
probabilities in the order of actions, added one by one. An action of probability 0 is never drawn, and a
compiled loop that adds in the same order draws the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from simulations.engine.array_types import (
    Counts,
    Draws,
    Lanes,
    Probabilities,
    RunNumbers,
    Uniforms,
)

GOLDEN = 0x9E3779B97F4A7C15
MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
ORDINARY, TEMPERED = 0, 1
_FEW_ACTIONS = 32
_MANY_ROWS = 256


@dataclass(frozen=True, kw_only=True, slots=True)
class Samples:
    """How many responses are drawn for each prompt in each step."""

    group_size: int = 8
    """The number G of responses at temperature 1 (AEPO, Table 4)."""
    tempered: int = 8
    """The number of responses of the second batch, at the controller's temperature."""

    def __post_init__(self) -> None:
        for name in ("group_size", "tempered"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")


def lanes(kind: int, runs: RunNumbers, prompts: int, samples: int, position: int = 0) -> Lanes:
    """Return the part of a uniform without seed and batch: uint64 [runs, prompts, samples].

    Args:
        kind: ORDINARY or TEMPERED.
        runs: [runs], the runs' numbers.
        prompts: number of prompts of a run.
        samples: number of draws of each prompt.
        position: position of the token in its response.
    """
    with np.errstate(over="ignore"):
        lane = _absorb(np.zeros((1, 1, 1), dtype=np.uint64), kind)
        lane = _absorb(lane, np.asarray(runs, dtype=np.uint64)[:, None, None])
        lane = _absorb(lane, np.arange(prompts, dtype=np.uint64)[:, None])
        lane = _absorb(lane, np.arange(samples, dtype=np.uint64))
        return _absorb(lane, position)


def batch_key(seed: int, batch: int) -> int:
    """Return the key of uniforms besides their lanes: an integer in [0, 2^64)."""
    return _mix_integer((seed_key(seed) + (batch + 1) * GOLDEN) % 2**64)


def seed_key(seed: int) -> int:
    """Return the part of `batch_key` that does not depend on the batch."""
    return _mix_integer((seed + 1) * GOLDEN % 2**64)


def uniforms(lane: Lanes, key: int) -> Uniforms:
    """Return a number in [0, 1) for each lane, by the module's formula."""
    mixed = _mix(lane + np.uint64(key))
    mixed >>= np.uint64(11)
    return mixed.astype(np.float64) * 2.0**-53


def draw(probabilities: Probabilities, uniform: Uniforms) -> Draws:
    """The action that each uniform picks: integer [..., samples].

    Args:
        probabilities: [..., actions], not negative; they need not be normalized.
        uniform: [..., samples], in [0, 1).
    """
    running = _running_sums(probabilities)
    level = uniform * running[..., -1:]
    n_actions = running.shape[-1]
    action = np.zeros(level.shape, dtype=np.intp)
    if n_actions <= _FEW_ACTIONS:
        for a in range(n_actions - 1):
            action += running[..., a, None] <= level
        return action
    # Bisection: ``action`` is the number of sums known to be at most the level.
    flat = np.ascontiguousarray(running).reshape(-1)
    start = (np.arange(flat.size // n_actions) * n_actions).reshape(*running.shape[:-1], 1)
    stride = 1 << (n_actions.bit_length() - 1)
    while stride:
        candidate = action + stride
        fits = candidate < n_actions
        sums = flat[start + np.minimum(candidate, n_actions) - 1]
        action = np.where(fits & (sums <= level), candidate, action)
        stride >>= 1
    return action


def _running_sums(values: np.ndarray) -> np.ndarray:
    """Return the running sums over the last axis, whose entries are added one by one.

    Many runs that are contiguous in memory are added as vectors, ten times faster.
    """
    if not values.flags.f_contiguous or len(values) < _MANY_ROWS:
        return np.cumsum(values, axis=-1)
    running = np.empty_like(values)
    running[..., 0] = values[..., 0]
    for a in range(1, values.shape[-1]):
        np.add(running[..., a - 1], values[..., a], out=running[..., a])
    return running


def count(actions: Draws, n_actions: int, order: Literal["C", "F"] = "C") -> Counts:
    """How many of the draws [runs, states, samples] took each action: float [runs, states, actions].

    ``order`` is the order of the result in memory.
    """
    *shape, _ = actions.shape
    rows = int(np.prod(shape))
    row = np.arange(rows).reshape(*shape, order=order)[..., None]
    index = row * n_actions + actions if order == "C" else row + rows * actions
    counts = np.bincount(index.ravel(), minlength=rows * n_actions).astype(np.float64)
    return counts.reshape(*shape, n_actions, order=order)


def _absorb(state: np.ndarray, word: np.ndarray | int) -> np.ndarray:
    return _mix(state + (np.asarray(word, dtype=np.uint64) + np.uint64(1)) * np.uint64(GOLDEN))


def _mix(state: np.ndarray) -> np.ndarray:
    """The finalizer of splitmix64, on a new array of uint64."""
    state = state ^ (state >> np.uint64(30))
    state *= np.uint64(MULTIPLIERS[0])
    state ^= state >> np.uint64(27)
    state *= np.uint64(MULTIPLIERS[1])
    state ^= state >> np.uint64(31)
    return state


def _mix_integer(state: int) -> int:
    return int(_mix(np.array([state], dtype=np.uint64))[0])
