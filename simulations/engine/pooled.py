"""Computes the update rules' coefficients on states whose rows are summed by reward.

For each state and action, one step of a tabular policy needs only the share of the batch that took the
action. This is a probability in exact expectation, and a count over G for sampled responses. Most rules
read rewards and weighted means only (`Needs.pools`). All answers of a state with the same reward may then
stand as one row, so a state has two rows where answers are right or wrong. The rule itself computes
coefficients for these rows, which makes many runs at once cheap. Rules that read more get all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import UpdateRule
from simulations.engine.sampling import TEMPERED

MOST_LEVELS = 8
"""The largest number of distinct rewards for which rows are summed; beyond, every action is a row."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """The ordinary or the tempered rows of a batch, summed by action."""

    share: np.ndarray
    """The share of the state's rows that took the action, summing to 1: [runs, states, actions]."""
    by_level: np.ndarray
    """The share of each reward, in the order of `Levels.values`: [runs, states, levels]. Each is summed
    apart, so that nothing is lost where one tends to 1."""
    exact: bool
    """Whether the shares are probabilities, not counts of draws."""

    def centered(self, score: np.ndarray) -> np.ndarray:
        """Return a score of levels minus its mean over the rows: [runs, states, levels].

        It is summed over pairs of levels, which keeps its digits where one level has nearly all rows.
        """
        differences = score[..., :, None] - score[..., None, :]
        return np.einsum("rskl,rsl->rsk", differences, self.by_level)


@dataclass(frozen=True, kw_only=True, slots=True)
class Levels:
    """The distinct rewards of a problem, and which actions have each."""

    values: tuple[float, ...]
    """The rewards, largest first: (1, 0) for right and wrong answers."""
    masks: tuple[np.ndarray, ...]
    """For each level, 1 where an action has it: float [runs, states, actions], in the logits' order."""
    first: np.ndarray | None = None
    """The first mask as a boolean array."""

    @classmethod
    def of(cls, reward: np.ndarray, runs_contiguous: bool) -> Levels | None:
        """Return the levels of a reward [runs, states, actions]; None if they exceed MOST_LEVELS."""
        values = np.unique(reward)[::-1]
        if len(values) > MOST_LEVELS:
            return None
        order: Literal["F", "C"] = "F" if runs_contiguous else "C"
        return cls(
            values=tuple(values.tolist()),
            masks=tuple(np.array(reward == value, dtype=np.float64, order=order)
                        for value in values),
            first=np.array(reward == values[0], order=order),
        )

    def sums(self, share: np.ndarray) -> np.ndarray:
        """Return the share of each level, [runs, states, levels]."""
        return np.stack([np.einsum("rsa,rsa->rs", share, mask) for mask in self.masks], axis=-1)

    def at_actions(self, score: np.ndarray) -> np.ndarray:
        """Return each action's score [runs, states, actions], from scores of levels."""
        if len(self.masks) == 2 and self.first is not None:
            return np.where(self.first, score[..., :1], score[..., 1:])
        return sum(mask * score[..., i, None] for i, mask in enumerate(self.masks))


@dataclass(frozen=True, kw_only=True, slots=True)
class Coefficients:
    """A rule's coefficients on the rows of a batch, those of each kind in the order asked for."""

    scores: tuple[np.ndarray, ...]
    """The scores, [runs, states, levels] for each kind of rows."""
    terms: dict[str, np.ndarray]
    """The coefficients of the gradients of state functions, by name, for weights that sum to 1 over each
    state: [runs, states, 1] each."""


def coefficients(
    rule: UpdateRule,
    levels: Levels,
    kinds: Mapping[int, Rows],
    coefficient: np.ndarray | None = None,
    temperature: np.ndarray | None = None,
    step: int = 0,
    seed: int = 0,
    ready: Callable[[TokenBatch], TokenBatch] | None = None,
) -> Coefficients:
    """Compute the rule's coefficients on these rows; its `Needs.pools` must be true.

    Args:
        rule: the update rule.
        levels: the levels of the problem's rewards.
        kinds: the rows of the batch, by `sampling.ORDINARY` and `sampling.TEMPERED`, in that order.
        coefficient: [runs], what the rule's controller chose; None if it has none.
        temperature: [runs], temperature of the second batch, or None without one.
        step, seed: those of `TokenBatch`.
        ready: makes the batch ready for the rule; None takes it as it is.
    """
    parts = tuple(kinds.values())
    n_runs, n_states, n_levels = parts[0].by_level.shape
    batch = _template(n_runs, n_states, levels.values, tuple(kinds), parts[0].exact)
    weight = np.stack([rows.by_level / n_states for rows in parts], axis=1)
    columns: dict[str, Any] = {
        "weight": weight.reshape(batch.mask.shape), "step": step, "seed": seed}
    if temperature is not None:
        columns["sampling_temperature"] = np.where(batch.is_tempered, temperature[:, None, None], 1.0)
    if coefficient is not None:
        columns["coefficient"] = np.broadcast_to(coefficient[:, None, None], batch.mask.shape)
    batch = batch.replace(**columns)
    batch = rule.prepare(batch if ready is None else ready(batch))
    shape = (n_runs, len(parts), n_states, n_levels)
    scores = rule.scores(batch).reshape(shape)
    terms = {
        name: n_states * (batch.weight * term).reshape(shape).sum(axis=(1, 3))[..., None]
        for name, term in rule.state_terms(batch).items()
    }
    return Coefficients(scores=tuple(scores[:, i] for i in range(len(parts))), terms=terms)


@lru_cache(maxsize=8)
def _template(
    n_runs: int, n_states: int, values: tuple[float, ...], kinds: tuple[int, ...], exact: bool
) -> TokenBatch:
    """Make the batch without what changes from step to step: weights, temperatures, the step's number.

    Rows are the answers of each state by level, [runs, kinds * states * levels, 1]. Rules look at nothing
    but rewards and weights, so probabilities are placeholders.
    """
    n_levels = len(values)
    shape = (n_runs, len(kinds) * n_states * n_levels, 1)
    state = np.tile(np.repeat(np.arange(n_states), n_levels), len(kinds))[:, None]
    tempered = np.repeat([kind == TEMPERED for kind in kinds], n_states * n_levels)
    zeros = np.zeros(shape)
    return TokenBatch(
        log_prob=zeros,
        old_log_prob=zeros,
        reward=np.broadcast_to(np.tile(values, len(kinds) * n_states)[:, None], shape),
        mask=np.ones(shape, dtype=bool),
        weight=zeros,
        sampling_temperature=zeros + 1,
        tempered=np.broadcast_to(tempered[:, None], shape),
        group=None if n_states == 1 else np.broadcast_to(state, shape),
        listed=exact,
    )
