"""Advantages by the order of a group's rewards: quantile baselines, and the best of several answers."""

from __future__ import annotations

import math
from typing import Any

from entropy_theory import rounding
from entropy_theory.advantages.groups import Groups, check_equal_weights, over_sample_deviation
from entropy_theory.array_types import Array, TokenColumn, TokenMask
from entropy_theory.policy import namespace
from entropy_theory.token_batch import TokenBatch, sequence_value


def above_quantile(
    batch: TokenBatch, rows: TokenMask, *, quantile: float = 0.4, ddof: int = 0
) -> TokenColumn:
    """(R - Q) / std, Q a quantile of the group's rewards (QAE, arXiv 2509.22611, Eqs. 3 and 4).

    Q = inf{x : share of rewards at most x >= K}, as printed. With rewards 0 and 1 it is 0 where the share
    p of right answers is at most 1 - K, so that wrong answers get 0, and 1 above, so that right ones do.
    The authors' K is .4 where entropy is to fall, .6 where it is to rise. In an exact gradient a baseline
    cancels, whatever it is (`later-work.quantile-baseline`).

    Args:
        quantile: K, in (0, 1).
        ddof: as in `group_normalized`.

    Raises:
        ValueError: a K outside (0, 1).
    """
    if not 0 < quantile < 1:
        raise ValueError(f"quantile must be above 0 and below 1, got {quantile}")
    xp = namespace(batch.reward)
    group = Groups(batch, rows)
    ordered = group.ascending(batch.reward)
    reached = rounding.at_least(xp.cumulative_sum(ordered.share, axis=-1), quantile)
    infinite = xp.full_like(ordered.values, math.inf)
    baseline = ordered.back(
        xp.min(xp.where(reached, ordered.values, infinite), axis=-1, keepdims=True))
    reward = xp.where(xp.isfinite(baseline), batch.reward, xp.zeros_like(batch.reward))
    baseline = xp.where(xp.isfinite(baseline), baseline, xp.zeros_like(baseline))
    above = group.without_rounding(reward - baseline, batch.reward)
    above = group.over_deviation(above, batch.reward)
    return over_sample_deviation(above, batch, rows, group, ddof)


def best_over_second(batch: TokenBatch, rows: TokenMask, *, ddof: int = 0,
                     normalized: bool = True) -> TokenColumn:
    """The best answer's margin over the second best, over the standard deviation; 0 for all others.

    verl's ``grpo_passk`` (arXiv 2503.19595), which divides by the deviation over G - 1 by default.
    Answers that share the best reward get 0.

    Args:
        ddof: as in `group_normalized`.
        normalized: whether to divide by the standard deviation.

    Raises:
        ValueError: a group of one answer, or rows of unequal weight.
    """
    group = _sampled(batch, rows, "best-over-second", 2)
    margin = group.margin(batch.reward)
    if not normalized:
        return margin * namespace(margin).ones_like(batch.reward)
    margin = group.over_deviation(margin, batch.reward)
    return over_sample_deviation(margin, batch, rows, group, ddof)


def pass_at_k(batch: TokenBatch, rows: TokenMask, *, k: int = 4) -> TokenColumn:
    r"""The mean advantage of an answer over all k of the group's answers with it (arXiv 2508.10751).

    A set of k answers has reward 1 if one of them is right, of reward 1 or more. With f the share of sets
    without a right one, o that share among the sets of a given wrong answer, and s = sqrt(f (1 - f)),

    .. math::

        A = f / s \text{ at right answers}, \quad A = (f - o) / s \text{ at wrong ones},

    and 0 where s is 0. Of a listing of all answers it is the limit of infinitely many samples.

    Args:
        k: the number of answers in a set, 2 or more.

    Raises:
        ValueError: a group of fewer than k answers, or rows of unequal weight.
    """
    xp = namespace(batch.reward)
    group = _of_k(batch, rows, "pass-at-k", k)
    reward = sequence_value(batch.reward, rows, checked=batch.checked)
    right = xp.astype(rounding.at_least(reward, 1.0), reward.dtype)
    wrong = 1 - group.mean(right)
    each = _each(batch, group.size)
    others = xp.ones_like(wrong)
    for drawn in range(1, k):
        others = others * _left(wrong, drawn, each) / xp.clip(1 - drawn * each, each, None)
    none = wrong * others
    spread = xp.sqrt(none * xp.clip(1 - none, 0.0, None))
    some = (spread > 0) & ~rounding.near(wrong, 1.0)
    advantage = right * none - (1 - right) * (1 - wrong) * others
    advantage = advantage / xp.where(some, spread, xp.ones_like(spread))
    return xp.where(some, advantage, xp.zeros_like(advantage)) * xp.ones_like(batch.reward)


def best_of_k(batch: TokenBatch, rows: TokenMask, *, k: int = 4) -> TokenColumn:
    r"""Return k times the mean gain that an answer brings to :math:`k - 1` others of its group.

    This is PKPO (arXiv 2505.15201): :math:`A_i = k \mathbb E_S[\max(R_i, \max S) - \max S]`, where S is
    any :math:`k - 1` of the other answers. It is the paper's s^(loo-1) of Eq. 33, times G. Its mean
    over the samples is the gradient of the expected best reward of k, without bias, for any rewards. No
    answer gets less than 0. In a listing of all answers S stands for :math:`k - 1` samples.

    Args:
        k: the number of answers of which the best counts, 2 or more.

    Raises:
        ValueError: a group of fewer than k answers, or rows of unequal weight.
    """
    xp = namespace(batch.reward)
    group = _of_k(batch, rows, "best-of-k", k)
    ordered = group.ascending(batch.reward)
    table: Any = ordered.values
    here, above = table[..., :-1], table[..., 1:]
    step = xp.where(xp.isfinite(above), above, xp.zeros_like(above)) - xp.where(
        xp.isfinite(above), here, xp.zeros_like(here))
    step = xp.where(step < ordered.tolerance, xp.zeros_like(step), step)
    # The chance that all of S are at or below each value, the answer itself being above it.
    chance, below = xp.ones_like(step), xp.cumulative_sum(ordered.share, axis=-1)[..., :-1]
    each = _each(batch, xp.sum(xp.astype(ordered.share > 0, table.dtype), axis=-1, keepdims=True))
    for drawn in range(k - 1):
        chance = chance * _left(below, drawn, each) / xp.clip(1 - (drawn + 1) * each, each, None)
    gain = xp.cumulative_sum(chance * step, axis=-1)
    found = ordered.back(xp.concat([xp.zeros_like(table[..., :1]), gain], axis=-1))
    return k * found * xp.ones_like(batch.reward)


def _each(batch: TokenBatch, size: Array) -> Array:
    """1 / G, what drawing an answer takes from the group's share; 0 in a listing, which is drawn anew."""
    return 0 * size if batch.listed else 1 / namespace(size).clip(size, 1, None)


def _left(share: Array, drawn: int, each: Array) -> Array:
    """The share of a group that is left of ``share`` when some have been drawn from it."""
    xp = namespace(share)
    left = share - drawn * each
    return xp.where(left > each / 2, left, xp.zeros_like(left))


def _of_k(batch: TokenBatch, rows: TokenMask, what: str, k: int) -> Groups:
    if not (isinstance(k, int) and k >= 2):
        raise ValueError(f"k must be an integer of at least 2, got {k}")
    return Groups(batch, rows) if batch.listed else _sampled(batch, rows, what, k)


def _sampled(batch: TokenBatch, rows: TokenMask, what: str, least: int) -> Groups:
    """Return the groups, of samples with equal weights and at least so many each."""
    xp = namespace(batch.reward)
    check_equal_weights(batch, rows, what)
    group = Groups(batch, rows)
    if not batch.checked and not bool(xp.all(xp.where(rows, group.size >= least, True))):
        smallest = int(xp.min(xp.where(rows, group.size, xp.full_like(group.size, math.inf))))
        raise ValueError(f"{what} needs at least {least} sequences of each prompt, found {smallest}")
    return group
