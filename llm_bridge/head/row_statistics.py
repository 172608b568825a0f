"""Statistics of softmax rows and their gradient, which a fused head computes chunk by chunk.

One row is the logits of one token. Both functions read a chunk [rows, vocabulary] that fits in
memory. They return a few numbers per row, or the chunk's gradient. `triton_rows` does the same on a
GPU in fewer passes. On a CPU a chunk is processed in blocks, so that temporaries stay small. The
entropy is `policy.entropy`: shifted by the maximum, log1p over all other tokens, so that it keeps
its digits at collapse.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch

from entropy_theory import policy
from llm_bridge.array_types import PerRow, RowColumns, RowIndex, RowLogits, RowMask

COLUMNS = (
    "log_prob", "entropy", "sum_squared_prob", "sum_squared_prob_log_prob",
    "sum_squared_prob_squared_log_prob", "log_prob_variance",
)
"""The statistics of every row, in the order in which they are computed."""
CLAMPED_COLUMNS = ("clamped_entropy", "clamped_alignment")
"""The further statistics that are computed where a removed fraction is given."""


BLOCK_ELEMENTS = 2**20
"""The number of logits of a block on a CPU: 4 MiB."""
EXP_IS_ZERO = {torch.float32: -104.0, torch.float64: -746.0}
"""The logit at which exp has underflowed to 0; deeper logits, -inf among them, are treated alike."""


class Clamp(NamedTuple):
    """The logits of each row that the clamped entropy keeps; of equal ones those of lower index stay."""

    least: PerRow
    """The smallest logit kept, [rows]."""
    last: RowIndex
    """The last index kept at that value, [rows]."""


@functools.lru_cache
def kept_count(size: int, removed_fraction: float) -> int:
    """Return how many of ``size`` logits `policy.kept_actions` keeps; cached, as that function sorts.

    Raises:
        ValueError: a fraction that it refuses.
    """
    return int(policy.kept_actions(torch.zeros(size), removed_fraction).sum())


def row_statistics(
    logits: RowLogits, token_ids: RowIndex, removed_fraction: float | None = None
) -> tuple[RowColumns, Clamp | None]:
    """Compute the statistics of each row, without gradient.

    Args:
        logits: [rows, vocabulary], float32 or float64; -inf allowed.
        token_ids: integer [rows], the tokens taken.
        removed_fraction: share of the vocabulary that the clamped entropy leaves out. None: no
            clamped entropy.

    Returns:
        [columns, rows] in the order of ``COLUMNS`` and, with a fraction, ``CLAMPED_COLUMNS``; and the
        logits that were kept.

    Raises:
        ValueError: NaN or +inf logits, or a fraction that `policy.kept_actions` refuses.
    """
    found, clamps = [], []
    for block, ids in _blocks(logits, token_ids):
        columns, clamp = _block_statistics(block, ids, removed_fraction)
        found.append(columns)
        clamps += [] if clamp is None else [clamp]
    clamp = Clamp(*map(torch.cat, zip(*clamps, strict=True))) if clamps else None
    return torch.cat(found, dim=1), clamp


class _Soft(NamedTuple):
    """A block's unnormalized softmax: that of `policy.shift_logits`, in fewer passes."""

    top: torch.Tensor
    """The largest logit, [rows, 1]."""
    shifted: torch.Tensor
    """Logits minus the largest, not below the depth where exp is 0: [rows, vocabulary]."""
    exponentials: torch.Tensor
    rest: torch.Tensor
    """The sum of the exponentials without that of one largest logit, which is 1: [rows]."""
    top_index: torch.Tensor
    """The index of a largest logit, [rows, 1]."""


def _soft(logits: torch.Tensor) -> _Soft:
    if logits.device.type == "cpu":
        # torch's own search takes as long as the exponentials.
        top_index = torch.from_numpy(np.argmax(logits.numpy(), axis=1))[:, None]
    else:
        top_index = logits.argmax(1, keepdim=True)
    top = logits.gather(1, top_index)
    if not bool(torch.isfinite(top).all()):
        policy.shift_logits(logits)  # raises, naming the row
    shifted = (logits - top).clamp_(min=EXP_IS_ZERO[logits.dtype])
    exponentials = shifted.exp()
    # The sum over all but one maximal token: log1p of it keeps digits that log(1 + sum) loses.
    rest = exponentials.scatter_(1, top_index, 0.0).sum(1)
    exponentials.scatter_(1, top_index, 1.0)
    return _Soft(top, shifted, exponentials, rest, top_index)


def _block_statistics(
    logits: torch.Tensor, token_ids: torch.Tensor, removed_fraction: float | None
) -> tuple[torch.Tensor, Clamp | None]:
    soft = _soft(logits)
    shifted, exponentials = soft.shifted, soft.exponentials
    normalizer, log_normalizer = 1 + soft.rest, soft.rest.log1p()
    weighted = exponentials * shifted
    mean = weighted.sum(1) / normalizer
    product = torch.mul(exponentials, exponentials)
    square = product.sum(1) / normalizer**2
    square_shifted = torch.mul(exponentials, weighted, out=product).sum(1) / normalizer**2
    square_shifted_twice = torch.mul(weighted, weighted, out=product).sum(1) / normalizer**2
    second = torch.mul(weighted, shifted, out=product).sum(1) / normalizer
    columns = [
        logits.gather(1, token_ids[:, None])[:, 0] - soft.top[:, 0] - log_normalizer,
        log_normalizer - mean,
        square,
        # log pi is shifted - log_normalizer, both <= 0: multiplied out, terms of one sign.
        square_shifted - log_normalizer * square,
        square_shifted_twice - 2 * log_normalizer * square_shifted + log_normalizer**2 * square,
        _variance(soft, normalizer, mean, second),
    ]
    if removed_fraction is None:
        return torch.stack(columns), None
    clamp = least_kept(logits, kept_count(logits.shape[1], removed_fraction))
    kept, kept_log_normalizer = _clamped(soft, is_kept(logits, clamp))
    kept_mean = torch.mul(kept, shifted, out=product).sum(1)
    # The product of both gradients: pi (log pi + H), of all tokens and of those kept.
    tilts = torch.sub(shifted, kept_mean[:, None], out=product).mul_(kept)
    tilts = tilts.mul_(exponentials).mul_(shifted - mean[:, None]).sum(1) / normalizer
    columns += [kept_log_normalizer - kept_mean, tilts]
    return torch.stack(columns), clamp


def _variance(
    soft: _Soft, normalizer: torch.Tensor, mean: torch.Tensor, second: torch.Tensor
) -> torch.Tensor:
    """Compute Var(log pi) of each row, from moments of the shifted logits where they are accurate."""
    found = second - mean**2
    # The subtraction takes at most a factor of nine in rounding from the others.
    far = mean**2 > 8 * found
    if bool(far.any()):
        gap = soft.shifted[far] - mean[far, None]
        found[far] = gap.square_().mul_(soft.exponentials[far]).sum(1) / normalizer[far]
    return found


def _clamped(soft: _Soft, kept: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the kept logits' probabilities and their log-normalizer under the rows' own shift.

    Removed logits are multiplied away and not set to -inf, where exp takes ten times as long.
    """
    weights = soft.exponentials * kept
    # A largest logit is always kept, but among ties it may be another one.
    top_index = soft.top_index
    if not bool(kept.gather(1, top_index).all()):
        top_index = weights.argmax(1, keepdim=True)
    rest = weights.scatter_(1, top_index, 0.0).sum(1)
    weights.scatter_(1, top_index, 1.0)
    return weights.div_((1 + rest)[:, None]), rest.log1p()


def row_gradient(
    logits: RowLogits,
    token_ids: RowIndex,
    by_log_prob: PerRow,
    by_entropy: PerRow,
    by_clamped_entropy: PerRow | None = None,
    clamp: Clamp | None = None,
) -> RowLogits:
    """The gradient with respect to the logits, [rows, vocabulary], in their place.

    Args:
        logits: as in `row_statistics`; overwritten with the gradient, which is returned too.
        token_ids: as in `row_statistics`.
        by_log_prob: [rows], the derivative of the objective by each row's log_prob.
        by_entropy: [rows], its derivative by the entropy.
        by_clamped_entropy: [rows], its derivative by the clamped entropy; kept tokens are held fixed.
        clamp: the logits that `row_statistics` kept, where ``by_clamped_entropy`` is given.
    """
    columns = [token_ids, by_log_prob, by_entropy]
    if by_clamped_entropy is not None and clamp is not None:
        columns += [by_clamped_entropy, *clamp]
    for block in _blocks(logits, *columns):
        _block_gradient(*block)
    return logits


def _block_gradient(
    rows: torch.Tensor, ids: torch.Tensor, by_log_prob: torch.Tensor, by_entropy: torch.Tensor,
    by_clamped_entropy: torch.Tensor | None = None, *clamp: torch.Tensor,
) -> None:
    kept = is_kept(rows, Clamp(*clamp)) if clamp else None
    soft = _soft(rows)
    normalizer = 1 + soft.rest
    mean = torch.mul(soft.exponentials, soft.shifted, out=rows).sum(1) / normalizer
    # d log pi(a) / dz = e_a - pi;  dH / dz = -pi (log pi + H), where log pi + H is the shifted logit
    # minus its mean: with the row's own mean the gradient sums to 0.
    level = (by_entropy * mean - by_log_prob) / normalizer
    slope = -by_entropy / normalizer
    torch.mul(soft.shifted, slope[:, None], out=rows)
    rows.add_(level[:, None]).mul_(soft.exponentials)
    rows.scatter_add_(1, ids[:, None], by_log_prob[:, None])
    if kept is not None and by_clamped_entropy is not None:
        kept_prob, _ = _clamped(soft, kept)
        kept_mean = (kept_prob * soft.shifted).sum(1, keepdim=True)
        rows -= kept_prob.mul_(by_clamped_entropy[:, None]).mul_(soft.shifted.sub_(kept_mean))


def row_tangent(
    logits: RowLogits, token_ids: RowIndex, change: RowLogits, clamp: Clamp | None = None
) -> list[PerRow]:
    """The derivatives of log_prob, entropy and, with a clamp, clamped_entropy, as the logits change.

    Args:
        logits: as in `row_statistics`; left as they are.
        token_ids: as in `row_statistics`.
        change: [rows, vocabulary], finite.
        clamp: the logits that the clamped entropy keeps, which are held fixed.
    """
    found = []
    kept_rows = () if clamp is None else clamp
    for block, ids, moved, *kept in _blocks(logits, token_ids, change, *kept_rows):
        soft = _soft(block)
        prob = soft.exponentials / (1 + soft.rest)[:, None]
        mean = (prob * moved).sum(1)
        columns = [
            moved.gather(1, ids[:, None])[:, 0] - mean,
            # -Cov(log pi, change); the shift of the logits is none of the policy.
            -(prob * soft.shifted * (moved - mean[:, None])).sum(1),
        ]
        if kept:
            prob, _ = _clamped(soft, is_kept(block, Clamp(*kept)))
            mean = (prob * moved).sum(1)
            columns.append(-(prob * soft.shifted * (moved - mean[:, None])).sum(1))
        found.append(columns)
    return [torch.cat(column) for column in zip(*found, strict=True)]


def _blocks(logits: torch.Tensor, *columns: torch.Tensor) -> Iterator[tuple[torch.Tensor, ...]]:
    size = BLOCK_ELEMENTS if logits.device.type == "cpu" else logits.numel()
    rows = max(1, size // logits.shape[1])
    return zip(logits.split(rows), *(column.split(rows) for column in columns), strict=True)


def least_kept(logits: RowLogits, count: int) -> Clamp:
    """Which ``count`` logits of each row [rows, vocabulary] are the largest.

    They are selected, since sorting a vocabulary of 150,000 would take longer.
    """
    place = logits.shape[1] - count
    if logits.device.type == "cpu":
        # torch's own selection takes five times as long.
        least = torch.from_numpy(np.partition(logits.detach().numpy(), place, axis=1)[:, place])
    else:
        least = logits.kthvalue(place + 1, dim=1).values
    reached = (logits >= least[:, None]).sum(1)
    last = torch.full_like(reached, logits.shape[1] - 1)
    # Few rows, if any, have more logits at this value than places for them.
    crowded = reached > count
    ties = logits[crowded] == least[crowded, None]
    places = ties.sum(1) - reached[crowded] + count
    last[crowded] = (ties & (ties.cumsum(1) == places[:, None])).int().argmax(1)
    return Clamp(least, last)


def is_kept(logits: RowLogits, clamp: Clamp) -> RowMask:
    """Return a boolean mask of the logits that the clamp keeps."""
    kept = logits >= clamp.least[:, None]
    crowded = clamp.last < logits.shape[1] - 1
    ties = logits[crowded] == clamp.least[crowded, None]
    late = torch.arange(logits.shape[1], device=logits.device) > clamp.last[crowded, None]
    kept[crowded] &= ~(ties & late)
    return kept
