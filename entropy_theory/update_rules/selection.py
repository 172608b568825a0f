"""Selects the tokens of a covariance rule, the same tokens for any order, cut or spread of the rows.

A token's covariance is one of two. The paper's (`token_covariance`) counts what a token does to the
entropy of its own state, where logits are independent and states alike. The other (`network_covariance`)
counts what the token does through the parameters that all states share.

Statistics and ranks are taken over all ordinary rows of the step. Ties, also ties up to rounding, go to
the smaller (sequence, position). Randomness is a hash of (seed, step, sequence, position), not a
generator's next number.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import array_api_compat

from entropy_theory import rounding
from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.token_batch import TokenBatch, masked_sum

COVARIANCES = ("tabular", "network")
"""The choices of a rule's ``covariance``."""
EFFECT = "entropy_effect"
"""The column that "network" reads."""

# Odd 64-bit constants of splitmix64 (Steele, Lea, Flood 2014), as signed integers.
_STEPS = tuple(c - 2**64 for c in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB))


def covariances(
    batch: TokenBatch, scores: Callable[[TokenBatch], TokenColumn], advantage: TokenColumn, column: str,
    kind: str,
) -> tuple[TokenColumn, TokenColumn]:
    """The covariance of each token, and by how much rounding may move it: [..., sequences, positions].

    Args:
        batch: prepared by the base rule.
        scores: the base rule's, which "network" takes.
        advantage: the base rule's.
        column: the log-probabilities in the covariance, "log_prob" or "old_log_prob".
        kind: one of ``COVARIANCES``.
    """
    log_prob: Any = getattr(batch, column)
    found = token_covariance(batch, log_prob, advantage)
    xp, rows = namespace(found), batch.is_ordinary
    ones = xp.ones_like(found)
    if kind == "network":
        found = network_covariance(batch, scores(batch), found)
        return found, rounding_of(batch, found) * ones
    # The product of a log-probability, rounded relative to itself or to 1 nat, and of an advantage.
    size = ones + xp.where(rows & xp.isfinite(log_prob), abs(log_prob), 0 * ones)
    return found, rounding_of(batch, advantage) * size


def rounding_of(batch: TokenBatch, column: TokenColumn) -> Array:
    """By how much rounding may move a column whose values are sums over the step: [..., 1, 1]."""
    xp = namespace(column)
    size = xp.where(batch.is_ordinary, abs(column), xp.zeros_like(column))
    return rounding.tolerance(column) * xp.max(size, axis=(-2, -1), keepdims=True)


def token_covariance(
    batch: TokenBatch, log_prob: TokenColumn, advantage: TokenColumn
) -> TokenColumn:
    r"""Return :math:`(\log \pi - \operatorname{mean} \log \pi)(A - \operatorname{mean} A)` of each
    token: [..., sequences, positions], nats.

    Means are over the ordinary rows, by ``weight`` (Cui et al., Eq. 10; there 1/N). The weighted mean
    of the result is the covariance itself.
    """
    xp = namespace(batch.weight)
    rows = batch.is_ordinary
    # An action of probability 0 in an exact listing has log-probability -inf and weight 0.
    log_prob = xp.where(rows & xp.isfinite(log_prob), log_prob, xp.zeros_like(log_prob))
    advantage = xp.where(rows, advantage, xp.zeros_like(log_prob))
    mass = masked_sum(batch.weight, rows)
    mass = xp.where(mass > 0, mass, xp.ones_like(mass))
    centered_log_prob = log_prob - masked_sum(batch.weight * log_prob, rows) / mass
    centered_advantage = advantage - masked_sum(batch.weight * advantage, rows) / mass
    return xp.where(rows, centered_log_prob * centered_advantage, xp.zeros_like(log_prob))


def network_covariance(batch: TokenBatch, scores: TokenColumn, like: TokenColumn) -> TokenColumn:
    """Return how much each token's move takes from the mean entropy: [..., sequences, positions].

    It is ``-score x effect``. The effect is ``batch.entropy_effect``, on all states and through shared
    parameters, known up to a positive factor. The factor is chosen so that the root mean square over the
    ordinary rows, by ``weight``, is that of ``like`` (`token_covariance`): a band of covariances keeps
    its meaning.
    """
    xp = namespace(batch.weight)
    rows = batch.is_ordinary
    effect: Any = batch.entropy_effect
    found = xp.where(rows, -scores * effect, xp.zeros_like(like))
    size = masked_sum(batch.weight * found * found, rows)
    wanted = masked_sum(batch.weight * like * like, rows)
    return found * xp.sqrt(wanted / xp.where(size > 0, size, xp.ones_like(size)))


def quota(batch: TokenBatch, share: float, at_least_one: bool) -> Array:
    """The number of tokens to select, floor(share x tokens), [..., 1, 1]; at least 1 if asked for."""
    xp = namespace(batch.weight)
    count = masked_sum(xp.ones_like(batch.weight), batch.is_ordinary)
    allowed = xp.floor(share * count + 1e-9)
    return xp.clip(allowed, 1, None) if at_least_one else allowed


def largest(
    batch: TokenBatch, values: Array, candidates: Array, count: Array, tolerance: Array | None = None
) -> Array:
    """Mask of the ``count`` [..., 1, 1] candidates with the largest values.

    Args:
        batch: gives the identity, by which ties are broken.
        values, candidates: [..., sequences, positions].
        count: how many.
        tolerance: by how much rounding may move a value, of the shape of ``values``. Candidates that are
            as near to the last selected value are tied with it. With None values are exact.
    """
    xp = namespace(values)
    shape = values.shape
    flat = (*shape[:-2], shape[-2] * shape[-1])
    by_identity = xp.argsort(xp.reshape(identity(batch), flat), axis=-1, stable=True)

    def first(values: Array) -> Array:
        key = xp.reshape(xp.where(candidates, -values, xp.full_like(values, math.inf)), flat)
        # Two stable sorts: by identity, then by value, so that ties go to the smaller identity.
        by_value = xp.argsort(xp.take_along_axis(key, by_identity, axis=-1), axis=-1, stable=True)
        order = xp.take_along_axis(by_identity, by_value, axis=-1)
        rank = xp.reshape(xp.argsort(order, axis=-1, stable=True), shape)
        return candidates & (xp.astype(rank, values.dtype) < count)

    chosen = first(values)
    if tolerance is None:
        return chosen
    # The value of a rank moves no further than values do, so that only who is tied with it, by a margin
    # that no value is at but by chance, can hang on rounding.
    last = xp.min(xp.where(chosen, values, xp.full_like(values, math.inf)), axis=(-2, -1), keepdims=True)
    return first(xp.where(abs(values - last) <= tolerance, last, values))


def identity(batch: TokenBatch) -> Array:
    """The (sequence, position) of each token as one integer; without ids the row's place counts."""
    xp = namespace(batch.mask)
    device = array_api_compat.device(batch.mask)
    rows, width = batch.mask.shape[-2:]
    sequence: Any = batch.sequence
    if sequence is None:
        sequence = xp.broadcast_to(xp.arange(rows, device=device)[:, None], batch.mask.shape)
    return xp.astype(sequence, xp.int64) * 2**20 + xp.arange(width, device=device)


def rank(batch: TokenBatch) -> Array:
    """Position of each token in the order of `identity`, as a float column."""
    xp = namespace(batch.log_prob)
    shape = batch.log_prob.shape
    order = xp.argsort(xp.reshape(identity(batch), (*shape[:-2], -1)), axis=-1, stable=True)
    return xp.astype(xp.reshape(xp.argsort(order, axis=-1, stable=True), shape), batch.log_prob.dtype)


def first_tokens(batch: TokenBatch) -> Array:
    """Mask of the first response token of each sequence, which stands for it."""
    xp = namespace(batch.mask)
    counted = xp.cumulative_sum(xp.astype(batch.mask, xp.int64), axis=-1)
    return batch.mask & (counted == 1)


def keyed_uniform(batch: TokenBatch) -> Array:
    """A number in [0, 1) for each token, a function of (seed, step, sequence, position) alone."""
    xp = namespace(batch.mask)
    state = identity(batch)
    for key in (batch.seed, batch.step):
        product = (key + 1) * _STEPS[0]  # (Integers of arrays wrap by themselves.)
        state = _mix(state + (_wrap(product) if isinstance(product, int) else product))
    return xp.astype(_shift(state, 11), batch.log_prob.dtype) * 2.0**-53


def _mix(state: Array) -> Array:
    state = (state ^ _shift(state, 30)) * _STEPS[1]
    state = (state ^ _shift(state, 27)) * _STEPS[2]
    return state ^ _shift(state, 31)


def _shift(state: Array, bits: int) -> Array:
    """Logical shift to the right of signed 64-bit integers."""
    return (state >> bits) & (2 ** (64 - bits) - 1)


def _wrap(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63
