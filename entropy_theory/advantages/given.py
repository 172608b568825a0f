"""Advantages from more than rewards: a critic, a greedy answer, token probabilities, several rewards.

No sampler here brings what these need, so no rule estimates them. They make an ``advantage`` column, and
every rule takes it in place of its own estimate: ``batch.replace(advantage=above_greedy(...))``. The
engine verl computes its advantages itself, and hands them to the rules that run in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from entropy_theory import rounding
from entropy_theory.advantages.groups import Groups, over_sample_deviation
from entropy_theory.array_types import Array, TokenColumn, TokenMask
from entropy_theory.policy import namespace
from entropy_theory.token_batch import TokenBatch, sequence_value


def above_greedy(batch: TokenBatch, rows: TokenMask, *, greedy: TokenColumn) -> TokenColumn:
    """R minus the reward of the prompt's greedy answer (ReMax, arXiv 2310.10505). verl's ``remax``.

    Args:
        greedy: that reward, repeated over the tokens of each answer to the prompt.
    """
    xp = namespace(batch.reward)
    reward, base = (
        sequence_value(column, rows, checked=batch.checked) for column in (batch.reward, greedy))
    above = reward - base
    equal = rounding.equal(xp.minimum(reward, base), xp.maximum(reward, base))
    return xp.where(equal, xp.zeros_like(above), above) * xp.ones_like(batch.reward)


def generalized(
    batch: TokenBatch, rows: TokenMask, *, values: TokenColumn, discount: float = 1.0, decay: float = 1.0
) -> TokenColumn:
    """sum_l (discount decay)^l delta_(t+l) over an answer's tokens (GAE, arXiv 1506.02438, Eq. 16).

    delta_t = r_t + discount V_(t+1) - V_t, the reward coming with the last token. verl's ``gae`` then
    normalizes over all tokens, which moves a token's sign; this does not.

    Args:
        values: V(s_t) of a critic, in the reward's unit.
        discount: gamma, 1 in verl.
        decay: lambda, 1 in verl.
    """
    xp = namespace(batch.reward)
    reward = sequence_value(batch.reward, rows, checked=batch.checked)[..., 0]
    zeros = xp.zeros_like(reward)
    following, found, is_last = zeros, zeros, xp.ones_like(rows[..., 0])
    columns: list[Array] = []
    for position in reversed(range(rows.shape[-1])):
        here, value = rows[..., position], values[..., position]
        delta = xp.where(is_last, reward, zeros) + discount * following - value
        found = xp.where(here, delta + discount * decay * found, found)
        following, is_last = xp.where(here, value, following), is_last & ~here
        columns.append(xp.where(here, found, zeros))
    return xp.stack(columns[::-1], axis=-1)


def optimal_token_baseline(batch: TokenBatch, rows: TokenMask, *, squares: TokenColumn) -> TokenColumn:
    """R minus a baseline of least variance at each place of an answer. verl's ``optimal_token_baseline``.

    The baseline at the t-th token is sum_i W_it R_i / sum_i W_it over the group's answers that have one.
    W_it is the sum over the first t tokens of 1 - 2 pi + sum of pi^2, the squared norm of a token's
    gradient by its logits. Where one answer alone is that long it is 0. Tokens are counted within the
    answer, as in verl's ``tir_optimal_token_baseline``.

    Args:
        squares: sum over the vocabulary of pi^2 at each token's state.
    """
    xp: Any = namespace(batch.reward)
    reward = sequence_value(batch.reward, rows, checked=batch.checked)
    counted = xp.astype(rows, reward.dtype)
    log_prob = xp.where(rows, batch.old_log_prob, xp.zeros_like(batch.old_log_prob))
    norm = xp.where(rows, 1 - 2 * xp.exp(log_prob) + squares, xp.zeros_like(log_prob))
    energy = xp.cumulative_sum(norm, axis=-1)
    # Tokens to the front of their row, so that the t-th of each are beside each other.
    order = xp.argsort(1 - counted, axis=-1, stable=True)
    energy, present = (
        xp.take_along_axis(column, order, axis=-1) for column in (energy * counted, counted))
    group, columns = Groups(batch, rows), []
    for place in range(rows.shape[-1]):
        here, weight = present[..., place:place + 1], energy[..., place:place + 1]
        total = group.total(weight)
        shared = (group.total(here) > 1) & (total > 0)
        base = group.total(weight * reward) / xp.where(shared, total, xp.ones_like(total))
        columns.append(xp.where(shared, base, xp.zeros_like(base)))
    baseline = xp.take_along_axis(
        xp.concat(columns, axis=-1), xp.argsort(order, axis=-1, stable=True), axis=-1)
    return xp.where(rows, reward - baseline, xp.zeros_like(baseline))


def decoupled(batch: TokenBatch, rows: TokenMask, *, rewards: Sequence[TokenColumn],
              weights: Sequence[float] | None = None, ddof: int = 0) -> TokenColumn:
    """Several rewards, each normalized within its group, weighted, summed and normalized over the batch.

    GDPO (arXiv 2601.05242), verl's ``gdpo``, which counts tokens in the last step; here it is sequences,
    as for REINFORCE++.

    Args:
        rewards: columns as the batch's ``reward``.
        weights: one a reward; None for 1 each.
        ddof: as in `group_normalized`.

    Raises:
        ValueError: another number of weights than of rewards.
    """
    weights = [1.0] * len(rewards) if weights is None else weights
    if not rewards or len(weights) != len(rewards):
        raise ValueError(f"decoupled advantages need rewards and a weight for each, got {len(rewards)} "
                         f"rewards and {len(weights)} weights")
    group, total = Groups(batch, rows), 0 * batch.reward
    for reward, weight in zip(rewards, weights, strict=True):
        normalized = over_sample_deviation(group.normalized(reward), batch, rows, group, ddof)
        total = total + weight * normalized
    return Groups(batch.replace(group=None), rows).normalized(total)
