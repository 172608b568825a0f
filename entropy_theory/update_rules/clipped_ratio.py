"""The two pieces that PPO-like rules share: the clipped ratio and the length normalization."""

from __future__ import annotations

import math

from entropy_theory import rounding
from entropy_theory.array_types import Array, TokenColumn
from entropy_theory.policy import namespace
from entropy_theory.token_batch import TokenBatch, masked_sum

NORMALIZATIONS = ("sequence-mean", "token-mean", "dr-grpo")


ANCHORS = {"old": "old_log_prob", "sampling": "sampling_log_prob"}
"""The column below a ratio for each choice of ``anchor``. It belongs to the policy that a batch was
sampled with, or to what its tokens were drawn from (another precision or temperature, an older
policy)."""


def ratio(batch: TokenBatch) -> TokenColumn:
    """pi / pi_old at the sampled tokens, both at temperature 1; 1 on tokens outside the mask.

    Capped at the root of the largest float, so that an advantage of 0 times it is 0, not NaN.
    """
    return capped_exp(log_ratio(batch))


def log_ratio(
    batch: TokenBatch, below: str = "old_log_prob", above: str = "log_prob"
) -> TokenColumn:
    """log pi - log pi_old at the sampled tokens, nats; 0 outside the mask and where one is -inf.

    Args:
        batch: gives mask and columns.
        below, above: the names of two columns of log-probabilities.
    """
    first, second = getattr(batch, above), getattr(batch, below)
    xp = namespace(first)
    counts = batch.mask & xp.isfinite(first) & xp.isfinite(second)
    zeros = xp.zeros_like(first)
    return xp.where(counts, first, zeros) - xp.where(counts, second, zeros)


def over_sequence(batch: TokenBatch, column: TokenColumn, *, mean: bool) -> Array:
    """Sum of a column over each sequence's tokens, or their mean: [..., sequences, 1].

    Args:
        batch: gives the mask.
        column: 0 outside the mask.
        mean: whether to divide by the number of tokens.
    """
    xp = namespace(column)
    total = xp.sum(column, axis=-1, keepdims=True)
    if not mean:
        return total
    length = xp.sum(xp.astype(batch.mask, column.dtype), axis=-1, keepdims=True)
    return total / xp.clip(length, 1, None)


def capped_exp(values: Array) -> Array:
    """The exponential, at most the root of the largest float."""
    xp = namespace(values)
    cap = math.log(float(xp.finfo(values.dtype).max)) / 2
    return xp.exp(xp.where(values < cap, values, cap))


def unclipped(ratio: Array, advantage: Array, clip_low: Array, clip_high: Array) -> Array:
    r"""Return whether :math:`\min(r A, \operatorname{clip}(r, 1 - \text{ low}, 1 + \text{ high}) A)`
    has a gradient (PPO's rule): boolean.

    A ratio at a bound, up to rounding, counts as unclipped.
    """
    rising = (advantage > 0) & ~rounding.at_most(ratio, 1 + clip_high)
    falling = (advantage < 0) & ~rounding.at_least(ratio, 1 - clip_low)
    return ~(rising | falling)


def length_factor(
    batch: TokenBatch, rows: Array, normalization: str, max_length: int | None = None
) -> Array:
    r"""Return the factor of a token's score with which ``weight`` 1/N gives the normalization asked for.

    With N tokens in B sequences of lengths L_i (over ``rows``) the factor is

    - "sequence-mean", as printed in GRPO: :math:`N / (B L_i)`
    - "token-mean" (DAPO): 1
    - "dr-grpo": :math:`N / (B L_{\max})`, with L_max ``max_length`` or, if None, the longest of these
      sequences

    Where the batch is ``listed``, N / B is the mean length of its responses, by their probabilities.

    Returns:
        [..., sequences, positions]; 1 where ``rows`` is False.

    Raises:
        ValueError: an unknown normalization, or max_length below 1.
    """
    if normalization not in NORMALIZATIONS:
        raise ValueError(
            f"unknown normalization '{normalization}': use one of {', '.join(NORMALIZATIONS)}"
        )
    if max_length is not None and max_length < 1:
        raise ValueError(f"max_length must be at least 1, got {max_length}")
    xp = namespace(batch.weight)
    ones = xp.ones_like(batch.weight)
    one_token = batch.mask.shape[-1] == 1  # then N = B, and every length is 1
    if normalization == "token-mean" or (normalization == "sequence-mean" and one_token):
        return ones
    length = xp.sum(xp.astype(rows, ones.dtype), axis=-1, keepdims=True)
    counts = batch.weight if batch.listed else ones
    tokens = masked_sum(counts, rows)
    sequences = xp.sum(xp.max(xp.where(rows, counts, xp.zeros_like(counts)), axis=-1, keepdims=True),
                       axis=-2, keepdims=True)
    if normalization == "dr-grpo":
        longest = xp.max(length, axis=-2, keepdims=True)
        length = longest if max_length is None else xp.full_like(longest, float(max_length))
    divisor = sequences * length
    factor = tokens / xp.where(divisor > 0, divisor, xp.ones_like(divisor))
    return xp.where(rows, factor, ones)


def check_clip(clip_low: float, clip_high: float) -> None:
    """Raise ValueError unless 0 <= clip_low and 0 <= clip_high and neither is NaN."""
    for name, value in (("clip_low", clip_low), ("clip_high", clip_high)):
        if math.isnan(value) or value < 0:
            raise ValueError(f"{name} must be at least 0, got {value}")
