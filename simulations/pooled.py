"""The update rules' coefficients on states whose rows are summed by action.

One step of a tabular policy needs, for each state and action, only the share of the batch that took
the action: a probability in exact expectation, a count over G for sampled responses. Most rules see
rewards and weighted means only (`UpdateRule.pools_equal_rewards`), so all right answers of a state
may stand as one row, and all wrong ones as another. The rule itself is asked about those two rows;
that is what makes many runs at once cheap. Rules that see more are asked about all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import UpdateRule


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """Ordinary or tempered rows of a batch, summed by action."""

    share: np.ndarray
    """[runs, states, actions]: share of the state's rows that took the action; sums to 1."""
    right: np.ndarray
    """[runs, states, 1]: share of right answers."""
    wrong: np.ndarray
    """[runs, states, 1]: 1 - right, computed apart so that nothing is lost as right tends to 1."""
    group_size: int | None
    """Rows of each state; None in exact expectation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """A state's score of right and of wrong answers, each [runs, states, 1]."""

    right: np.ndarray
    wrong: np.ndarray


@dataclass(frozen=True, kw_only=True, slots=True)
class Coefficients:
    """What a rule gives the rows of a batch, those of each kind in the order asked."""

    scores: tuple[Score, ...]
    terms: dict[str, np.ndarray]
    """[runs, states, 1] each: coefficients of the gradients of state functions, by name."""


def coefficients(
    rule: UpdateRule,
    ordinary: Rows | None,
    tempered: Rows | None,
    coefficient: np.ndarray | None = None,
) -> Coefficients | None:
    """The rule's coefficients on these rows, or None where it needs every row.

    Args:
        rule: the update rule.
        ordinary: rows at temperature 1; None if the batch has none.
        tempered: rows of the second batch; None if the batch has none.
        coefficient: [runs], what the rule's controller chose; None if it has none.
    """
    if not rule.pools_equal_rewards:
        return None
    kinds = [(rows, is_tempered) for rows, is_tempered in ((ordinary, False), (tempered, True))
             if rows is not None]
    batch = _two_rows_a_state(kinds)
    if coefficient is not None:
        column = np.broadcast_to(coefficient[:, None, None], batch.mask.shape)
        batch = batch.replace(coefficient=column)
    batch = rule.prepare(batch)
    scores = rule.scores(batch)
    n_runs, n_states, _ = kinds[0][0].right.shape
    by_kind = scores.reshape(n_runs, len(kinds), n_states, 2)
    terms = {
        name: n_states * (batch.weight * term).reshape(n_runs, len(kinds), n_states, 2)
        .sum(axis=(1, 3))[..., None]
        for name, term in rule.state_terms(batch).items()
    }
    return Coefficients(
        scores=tuple(
            Score(right=by_kind[:, i, :, :1], wrong=by_kind[:, i, :, 1:]) for i in range(len(kinds))
        ),
        terms=terms,
    )


def _two_rows_a_state(kinds: list[tuple[Rows, bool]]) -> TokenBatch:
    """[runs, kinds * states * 2, 1]: of each state its right answers, then its wrong ones."""
    n_runs, n_states, _ = kinds[0][0].right.shape
    batch = _template(n_runs, n_states, tuple(is_tempered for _, is_tempered in kinds))
    shares = [np.concatenate([rows.right, rows.wrong], axis=-1) for rows, _ in kinds]
    weight = np.stack(shares, axis=1).reshape(batch.mask.shape) / n_states
    return batch.replace(weight=weight)


@lru_cache(maxsize=8)
def _template(n_runs: int, n_states: int, tempered: tuple[bool, ...]) -> TokenBatch:
    """All but the weights, which are what changes from step to step.

    Nothing but rewards and weights is looked at, so probabilities and temperatures are placeholders.
    """
    shape = (n_runs, len(tempered) * n_states * 2, 1)
    state = np.tile(np.repeat(np.arange(n_states), 2), len(tempered))[:, None]
    zeros = np.zeros(shape)
    return TokenBatch(
        log_prob=zeros,
        old_log_prob=zeros,
        reward=np.broadcast_to(np.tile([1.0, 0.0], shape[1] // 2)[:, None], shape),
        mask=np.ones(shape, dtype=bool),
        weight=zeros,
        sampling_temperature=zeros + 1,
        tempered=np.broadcast_to(np.repeat(tempered, n_states * 2)[:, None], shape),
        group=None if n_states == 1 else np.broadcast_to(state, shape),
    )
