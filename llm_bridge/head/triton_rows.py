"""`row_statistics` in Triton: one program a row, which it reads a few times out of cache.

The same two functions as `row_statistics`, for float32 logits on a GPU (anything else goes
there). Scalars of a row (its normalizer, its entropies) are worked out between kernels by torch, whose
log1p keeps the digits that a kernel's log loses at collapse. The clamp's threshold is found exactly, by
counting: eight passes fix four bits each of the order-preserving integer of the smallest logit kept.

Under TRITON_INTERPRET=1 the kernels run on a CPU, for tests.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from entropy_theory import policy
from llm_bridge.head import row_statistics as on_torch
from llm_bridge.head.row_statistics import Clamp, kept_count

BLOCK = 2048
"""The number of a row's logits that a program reads at once."""
COMPILED = {"num_warps": 8, "enable_fp_fusion": True}
"""How programs are compiled. With 8 warps each thread has eight logits at a time, two vector loads. From
3.9 on Triton warns where fused multiply-adds, its default so far, are not asked for."""


def row_statistics(
    logits: torch.Tensor, token_ids: torch.Tensor, removed_fraction: float | None = None
) -> tuple[torch.Tensor, Clamp | None]:
    """Do what `llm_bridge.head.row_statistics.row_statistics` does."""
    if logits.dtype != torch.float32:
        return on_torch.row_statistics(logits, token_ids, removed_fraction)
    logits = logits.contiguous()
    count, size = logits.shape
    whole = _moments(logits)
    if not bool(torch.isfinite(whole.top).all()):
        policy.shift_logits(logits)  # raises, naming the row
    clamp = None
    kept = whole
    if removed_fraction is not None:
        clamp = _least_kept(logits, kept_count(size, removed_fraction))
        kept = _moments(logits, clamp)
    sums = logits.new_empty(5, count)
    _sums_kernel[(count,)](
        logits, size, sums, count, whole.top, whole.log_normalizer, whole.mean_depth,
        kept.log_normalizer, kept.mean_depth, *_or_empty(clamp, logits),
        CLAMPED=clamp is not None, BLOCK=BLOCK, **COMPILED,
    )
    taken = logits.gather(1, token_ids[:, None])[:, 0] - whole.top - whole.log_normalizer
    columns = [taken, whole.entropy, *sums[:4]]
    if clamp is not None:
        columns += [kept.entropy, sums[4]]
    return torch.stack(columns), clamp


def row_gradient(
    logits: torch.Tensor,
    token_ids: torch.Tensor,
    by_log_prob: torch.Tensor,
    by_entropy: torch.Tensor,
    by_clamped_entropy: torch.Tensor | None = None,
    clamp: Clamp | None = None,
) -> torch.Tensor:
    """Do what `llm_bridge.head.row_statistics.row_gradient` does."""
    if logits.dtype != torch.float32 or not logits.is_contiguous():
        return on_torch.row_gradient(
            logits, token_ids, by_log_prob, by_entropy, by_clamped_entropy, clamp
        )
    count, size = logits.shape
    if by_clamped_entropy is None:
        clamp = None
    whole = _moments(logits)
    kept = whole if clamp is None else _moments(logits, clamp)
    _gradient_kernel[(count,)](
        logits, size, token_ids, by_log_prob.contiguous(), by_entropy.contiguous(),
        by_entropy if by_clamped_entropy is None else by_clamped_entropy.contiguous(),
        whole.top, whole.log_normalizer, whole.entropy, kept.log_normalizer, kept.entropy,
        *_or_empty(clamp, logits), CLAMPED=clamp is not None, BLOCK=BLOCK, **COMPILED,
    )
    return logits


class _Moments:
    """The normalizers of each row, over all its logits or those that a clamp keeps: [rows] each."""

    def __init__(self, top: torch.Tensor, rest: torch.Tensor, weighted_depth: torch.Tensor) -> None:
        self.top = top
        # The sum over all but one maximal token: log1p keeps what log(1 + rest) loses.
        self.log_normalizer = torch.log1p(rest)
        self.mean_depth = weighted_depth / (1 + rest)
        self.entropy = self.log_normalizer + self.mean_depth


def _moments(logits: torch.Tensor, clamp: Clamp | None = None) -> _Moments:
    found = logits.new_empty(3, len(logits))
    _moments_kernel[(len(logits),)](
        logits, logits.shape[1], found, len(logits), *_or_empty(clamp, logits),
        CLAMPED=clamp is not None, BLOCK=BLOCK, **COMPILED,
    )
    return _Moments(*found)


def _least_kept(logits: torch.Tensor, count: int) -> Clamp:
    least = logits.new_empty(len(logits))
    last = torch.empty(len(logits), dtype=torch.long, device=logits.device)
    _least_kept_kernel[(len(logits),)](
        logits, logits.shape[1], count, least, last, BLOCK=BLOCK, **COMPILED
    )
    return Clamp(least, last)


def _or_empty(clamp: Clamp | None, logits: torch.Tensor) -> Clamp:
    """Return the clamp, or an empty one to pass to a kernel that does not read it."""
    return Clamp(logits, logits) if clamp is None else clamp


@triton.jit
def _exp(x):
    # tl.exp multiplies by log2(e) in float32, which costs |x| roundings: at -30, two digits. Exact
    # powers of two are taken out first (Cody and Waite's two-part log 2).
    x = tl.maximum(x, -120.0)  # exp(-120) is 0 in float32; with -inf the remainder would be NaN
    n = tl.floor(x * 1.4426950408889634 + 0.5)
    remainder = (x - n * 0.693359375) + n * 2.12194440054690583e-4
    # Two factors, since 2^-140 alone may be flushed to 0 where the product need not be.
    half = tl.floor(n * 0.5)
    return tl.exp(remainder) * tl.exp2(half) * tl.exp2(n - half)


@triton.jit
def _kept(x, index, least, last):
    return (x > least) | ((x == least) & (index <= last))


@triton.jit
def _row(logits, size):
    """Return the last 16-byte boundary up to a row's first logit, and how many logits lie between.

    Counted from there blocks are aligned, whatever the length of a row or the start of a view: vectors
    of four are read and written.
    """
    start = logits + tl.program_id(0).to(tl.int64) * size
    before = ((start.to(tl.int64) // 4) % 4).to(tl.int32)
    return tl.multiple_of(start - before, 16), before


@triton.jit
def _load(row, before, size, begin, BLOCK: tl.constexpr):
    """Return a block's logits, -inf outside the row, and their indices in the row."""
    place = begin + tl.arange(0, BLOCK)
    index = place - before
    # A mask of any row length would forbid vectors; the blocks within the row need none.
    if (begin >= before) & (begin + BLOCK <= before + size):
        x = tl.load(row + place)
    else:
        x = tl.load(row + place, mask=(index >= 0) & (index < size), other=-float("inf"))
    return x, index


@triton.jit
def _moments_kernel(
    logits, size, out, count, least_ptr, last_ptr, CLAMPED: tl.constexpr, BLOCK: tl.constexpr
):
    at = tl.program_id(0)
    row, before = _row(logits, size)
    # Sums over the row stay apart for each place of a block until the end: threads need not wait for
    # one another, and fewer terms are rounded.
    tops = tl.full((BLOCK,), -float("inf"), tl.float32)
    broken = tl.zeros((BLOCK,), tl.int32)
    for begin in range(0, before + size, BLOCK):
        x, _ = _load(row, before, size, begin, BLOCK)
        tops = tl.maximum(tops, x)
        broken |= (x != x).to(tl.int32)
    top = tl.max(tops, axis=0)
    # The first maximal token is left out of the rest; the clamp always keeps it.
    where = size
    rest = tl.zeros((BLOCK,), tl.float32)
    weighted = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, before + size, BLOCK):
        x, index = _load(row, before, size, begin, BLOCK)
        where = tl.minimum(where, tl.min(tl.where(x == top, index, size), axis=0))
        keeps = index != where
        if CLAMPED:
            keeps = keeps & _kept(x, index, tl.load(least_ptr + at), tl.load(last_ptr + at))
        e = tl.where(keeps, _exp(x - top), 0.0)
        rest += e
        weighted += e * tl.where(e > 0, top - x, 0.0)
    tl.store(out + at, tl.where(tl.max(broken, axis=0) > 0, float("nan"), top))
    tl.store(out + count + at, tl.sum(rest, axis=0))
    tl.store(out + 2 * count + at, tl.sum(weighted, axis=0))


@triton.jit
def _sums_kernel(
    logits, size, out, count, top_ptr, log_normalizer_ptr, mean_depth_ptr, kept_log_normalizer_ptr,
    kept_mean_depth_ptr, least_ptr, last_ptr, CLAMPED: tl.constexpr, BLOCK: tl.constexpr
):
    at = tl.program_id(0)
    row, before = _row(logits, size)
    top = tl.load(top_ptr + at)
    log_normalizer = tl.load(log_normalizer_ptr + at)
    mean_depth = tl.load(mean_depth_ptr + at)
    normalizer = _exp(-log_normalizer)
    square = tl.zeros((BLOCK,), tl.float32)
    square_log = tl.zeros((BLOCK,), tl.float32)
    square_log_log = tl.zeros((BLOCK,), tl.float32)
    variance = tl.zeros((BLOCK,), tl.float32)
    alignment = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, before + size, BLOCK):
        x, index = _load(row, before, size, begin, BLOCK)
        e = _exp(x - top)
        depth = tl.where(e > 0, top - x, 0.0)
        prob = e * normalizer
        log_prob = -(depth + log_normalizer)
        square += prob * prob
        square_log += prob * prob * log_prob
        square_log_log += prob * prob * log_prob * log_prob
        gap = depth - mean_depth
        variance += prob * gap * gap
        if CLAMPED:
            # log pi + H = mean depth - depth, over all tokens and over those kept.
            kept_prob = e * _exp(-tl.load(kept_log_normalizer_ptr + at))
            kept_gap = depth - tl.load(kept_mean_depth_ptr + at)
            keeps = _kept(x, index, tl.load(least_ptr + at), tl.load(last_ptr + at))
            both = prob * gap * kept_prob * kept_gap
            alignment += tl.where(keeps & (e > 0), both, 0.0)
    tl.store(out + at, tl.sum(square, axis=0))
    tl.store(out + count + at, tl.sum(square_log, axis=0))
    tl.store(out + 2 * count + at, tl.sum(square_log_log, axis=0))
    tl.store(out + 3 * count + at, tl.sum(variance, axis=0))
    tl.store(out + 4 * count + at, tl.sum(alignment, axis=0))


@triton.jit
def _gradient_kernel(
    logits, size, ids, by_log_prob_ptr, by_entropy_ptr, by_clamped_ptr, top_ptr, log_normalizer_ptr,
    entropy_ptr, kept_log_normalizer_ptr, kept_entropy_ptr, least_ptr, last_ptr,
    CLAMPED: tl.constexpr, BLOCK: tl.constexpr
):
    at = tl.program_id(0)
    row, before = _row(logits, size)
    token = tl.load(ids + at)
    by_log_prob = tl.load(by_log_prob_ptr + at)
    by_entropy = tl.load(by_entropy_ptr + at)
    top = tl.load(top_ptr + at)
    log_normalizer = tl.load(log_normalizer_ptr + at)
    normalizer = _exp(-log_normalizer)
    entropy = tl.load(entropy_ptr + at)
    for begin in range(0, before + size, BLOCK):
        x, index = _load(row, before, size, begin, BLOCK)
        e = _exp(x - top)
        depth = tl.where(e > 0, top - x, 0.0)
        prob = e * normalizer
        tilt = entropy - (depth + log_normalizer)
        gradient = -prob * (by_log_prob + by_entropy * tilt)
        if CLAMPED:
            kept_log_normalizer = tl.load(kept_log_normalizer_ptr + at)
            kept_prob = e * _exp(-kept_log_normalizer)
            kept_tilt = tl.load(kept_entropy_ptr + at) - (depth + kept_log_normalizer)
            keeps = _kept(x, index, tl.load(least_ptr + at), tl.load(last_ptr + at))
            by_clamped = tl.load(by_clamped_ptr + at)
            gradient -= tl.where(keeps, by_clamped * kept_prob * kept_tilt, 0.0)
        gradient += tl.where(index == token, by_log_prob, 0.0)
        place = begin + tl.arange(0, BLOCK)
        if (begin >= before) & (begin + BLOCK <= before + size):
            tl.store(row + place, gradient)
        else:
            tl.store(row + place, gradient, mask=(index >= 0) & (index < size))


@triton.jit
def _ordered(x):
    """Map floats to integers in the same order: -0 and 0 become one, and negatives are reversed."""
    bits = tl.where(x == 0, 0.0, x).to(tl.int32, bitcast=True)
    return tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64) + 2147483648


@triton.jit
def _keys(row, before, size, begin, BLOCK: tl.constexpr):
    """Return a block's logits as ordered integers, -1 outside the row; the logits and their indices."""
    x, index = _load(row, before, size, begin, BLOCK)
    return tl.where((index >= 0) & (index < size), _ordered(x), -1), x, index


@triton.jit
def _least_kept_kernel(logits, size, count, least_ptr, last_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0)
    row, before = _row(logits, size)
    steps = tl.arange(0, 16).to(tl.int64)
    # The largest integer that at least `count` logits reach, four bits a pass.
    found = tl.full((), 0, tl.int64)
    for round in range(8):
        width = tl.full((), 1, tl.int64) << (28 - 4 * round)
        reached = tl.zeros((BLOCK // 16, 16), tl.int32)
        for begin in range(0, before + size, BLOCK // 16):
            key, _, _ = _keys(row, before, size, begin, BLOCK // 16)
            above = key[:, None] >= found + steps[None, :] * width
            reached += above.to(tl.int32)
        step = tl.sum((tl.sum(reached, axis=0) >= count).to(tl.int64), axis=0) - 1
        found += step * width
    above = tl.zeros((BLOCK,), tl.int32)
    least = tl.full((BLOCK,), -float("inf"), tl.float32)
    for begin in range(0, before + size, BLOCK):
        key, x, _ = _keys(row, before, size, begin, BLOCK)
        above += (key > found).to(tl.int32)
        least = tl.maximum(least, tl.where(key == found, x, -float("inf")))
    # Of equal logits those with the lowest indices stay, as many as there are places.
    places = count - tl.sum(above, axis=0)
    last = size - 1
    seen = tl.full((), 0, tl.int32)
    for begin in range(0, before + size, BLOCK):
        key, _, index = _keys(row, before, size, begin, BLOCK)
        tie = (key == found).to(tl.int32)
        so_far = seen + tl.cumsum(tie, axis=0)
        full = tl.where((tie == 1) & (so_far == places), index, size - 1)
        last = tl.minimum(last, tl.min(full, axis=0))
        seen += tl.sum(tie, axis=0)
    tl.store(least_ptr + at, tl.max(least, axis=0))
    tl.store(last_ptr + at, last.to(tl.int64))
