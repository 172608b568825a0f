"""The compiled loops (numba): many steps of rows of logits while they are in cache.

A *row* is the policy of one state of one run. `long_rows` takes one row after another, with vectors
along its actions. Update, exponentials and sums are one pass over the row: the new largest logit is known
before the pass (the largest one hardly ever changes hands; where it does the pass is made again), so that
it is the shift, as in `entropy_theory.policy`, and its own term is left out of the sum that log1p takes.

No update rule is written here: `tables` has asked the rule, and what it said of each
share of right answers (or count, of sampled ones) arrives as tables. Draws follow the formula of
`simulations.engine.sampling`. All is in one file because numba's cache on disk watches one file.

numba has no vector exponential, so there is one here that the compiler can vectorize: range reduction,
a polynomial, and the exponent put together from bits. Sums alone may be reassociated.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, njit, types

from simulations.engine.sampling import GOLDEN, MULTIPLIERS

PIECE = 256
"""The number of actions of a row that are summed in one go: a draw searches one piece, and float32 sums
stay short."""
_LOWEST: Any = -1e30  # of a logit that is to have no weight; finite in float32 too
_FAST_SUM = {"reassoc", "contract", "nsz"}
_FUSED = {"contract"}
_inner: Any = partial(njit, nogil=True, error_model="numpy", _nrt=False)
"""Compiles a function without reference counts, since it takes arrays and makes none."""
intrinsic: Any = extending.intrinsic
overload: Any = extending.overload
_GOLDEN = np.uint64(GOLDEN)
_FIRST, _SECOND = (np.uint64(m) for m in MULTIPLIERS)


def _kernel(function: Any) -> Any:
    """Compile a function when it is first called; keep it on disk where there is a place for it."""
    compile_ = partial(njit, nogil=True, error_model="numpy")
    try:
        return compile_(cache=True)(function)
    except RuntimeError:  # neither the package's directory nor the user's cache can be written
        return compile_()(function)


@intrinsic
def _bits(typing_context: Any, x: Any) -> Any:
    """The bits of a float as an integer."""
    width = x.bitwidth

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(width))

    return (types.int64 if width == 64 else types.int32)(x), codegen


@intrinsic
def _float(typing_context: Any, n: Any) -> Any:
    """The float with these bits."""
    double = n.bitwidth == 64

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType() if double else ir.FloatType())

    return (types.float64 if double else types.float32)(n), codegen


def _comparison(predicate: str) -> Any:
    @intrinsic
    def compare(typing_context: Any, x: Any, y: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = args[0].type
            holds = builder.fcmp_ordered(predicate, *args)
            return builder.select(holds, ir.Constant(kind, 1.0), ir.Constant(kind, 0.0))

        return x(x, x), codegen

    return compare


_is_above, _is_equal = (_comparison(predicate) for predicate in (">", "=="))
"""Comparisons that return 1 where they hold and 0 elsewhere, in the type of the first number."""


def exp(x: Any) -> Any:
    """Return e^x for x up to 600 (float32: 60), within 1.2 ulp, with gradual underflow; NaN for NaN.

    2^n p(r) with n = round(x / log 2), r = x - n log 2 in two parts, and p the polynomial of degree 11
    (float32: 6) that interpolates e^r at Chebyshev nodes: relative error 2e-17 (1e-8). Adding 1.5 2^52
    rounds to an integer and leaves it in the lowest bits. The scale is 2^(n + 64) and then 2^-64, so
    that subnormal results are rounded once.
    """
    raise NotImplementedError


@overload(exp, jit_options={"fastmath": _FUSED})
def _exp(x: Any) -> Any:
    def double(x: Any) -> Any:
        x = -750.0 if x < -750.0 else x
        t = x * 1.4426950408889634 + 6755399441055744.0
        n = t - 6755399441055744.0
        r = x - n * 0.693147180369123816490
        r = r - n * 1.90821492927058770002e-10
        y = r * r
        # Odd and even powers apart: half as long a chain of dependent operations.
        a = 2.510038549551032e-08 * y + 2.7557268459997064e-06
        b = 2.7620088445409746e-07 * y + 2.4801521295954376e-05
        a = a * y + 0.00019841269863053618
        b = b * y + 0.0013888888917213717
        a = a * y + 0.008333333333330062
        b = b * y + 0.04166666666662413
        a = a * y + 0.16666666666666669
        b = b * y + 0.5000000000000001
        p = ((a * r + b) * y + r) + 1.0
        return p * _float((_bits(t) + (1023 + 64)) << 52) * 5.421010862427522e-20

    def single(x: Any) -> Any:
        f = np.float32
        x = f(-110.0) if x < f(-110.0) else x
        t = x * f(1.442695041) + f(12582912.0)
        n = t - f(12582912.0)
        r = x - n * f(0.693145751953125)
        r = r - n * f(1.428606765330187e-06)
        y = r * r
        a = f(0.008363179052722578) * y + f(0.16666576989698775)
        b = (f(0.0013926183587713494) * y + f(0.041666554617204574)) * y + f(0.5)
        p = ((a * r + b) * y + r) + f(1.0)
        scale = _float(np.int32((_bits(t) + (127 + 32)) << 23))
        return p * scale * f(2.3283064365386963e-10)

    return double if x.bitwidth == 64 else single


@_inner(fastmath=_FUSED)
def log1p(u: float) -> float:
    """Return log(1 + u) for u >= 0, float64, within 2 ulp (fdlibm's method, without branches)."""
    w = 1.0 + u
    # 2^k m = w with m in [sqrt(1/2), sqrt 2).
    shifted = _bits(w) + (0x3FF0000000000000 - 0x3FE6A09E00000000)
    k = (shifted >> 52) - 1023
    m = _float((shifted & 0xFFFFFFFFFFFFF) + 0x3FE6A09E00000000)
    near = u < 0.41
    f = u if near else m - 1.0
    # (A reciprocal, which those who need 1 / (1 + u) share.)
    lost = 0.0 if near else (1.0 - (w - u) if w > 2.0 else u - (w - 1.0)) * (1.0 / w)
    n = 0.0 if near else _float(k + 0x4338000000000000) - 6755399441055744.0
    s = f / (2.0 + f)
    z = s * s
    y = z * z
    odd = y * (0.3999999999940941908 + y * (0.2222219843214978396 + y * 0.1531383769920937332))
    even = z * (0.6666666666666735130 + y * (0.2857142874366239149
                + y * (0.1818357216161805012 + y * 0.1479819860511658591)))
    half = 0.5 * f * f
    low = s * (half + (odd + even)) + (n * 1.90821492927058770002e-10 + lost)
    return n * 0.693147180369123816490 - ((half - low) - f)


@_inner(fastmath=_FAST_SUM)
def _add(total: Any, x: Any) -> Any:
    return total + x


@_inner()
def _mix(h: Any) -> Any:
    """The finalizer of splitmix64, on uint64."""
    h ^= h >> np.uint64(30)
    h *= _FIRST
    h ^= h >> np.uint64(27)
    h *= _SECOND
    return h ^ (h >> np.uint64(31))


@_inner()
def _uniform(lane: Any, key: Any) -> float:
    return np.float64(_mix(lane + key) >> np.uint64(11)) * 2.0**-53


@_inner()
def _batch_key(seed_key: Any, batch: int) -> Any:
    return _mix(seed_key + np.uint64(batch + 1) * _GOLDEN)


@_inner(fastmath=_FUSED, forceinline=True)
def _look_up(table: Any, row: int, t: float) -> float:
    """Return the value of a table of `tables` at t in [0, 1/2]."""
    cells = table.shape[1] - 1
    if cells == 0:
        return table[row, 0, 0]
    if t <= 0.0:
        return table[row, cells, 0]
    # Cells count downwards from t = 1, a power of two of them in each octave.
    per_octave = np.int64(table[row, cells, 1])
    drop = np.int64(52) - per_octave
    bits = _bits(t)
    cell = (0x3FF0000000000000 >> drop) - 1 - (bits >> drop)
    v = np.float64(bits & ((np.int64(1) << drop) - 1)) * table[row, cells, 2] - 1.0
    if cell >= cells:
        cell, v = cells - 1, -1.0
    value = 0.0
    for power in range(table.shape[2] - 1, -1, -1):
        value = value * v + table[row, cell, power]
    return value


@_inner(fastmath=_FUSED, forceinline=True)
def _exact(
    eta: float, z: float, right: float, wrong: float, depth: float,
    tempered_total: float, tempered_right: float, tempered_wrong: float,
    ordinary: Any, tempered: Any, bonus: Any, scales: Any, row: int,
) -> tuple[float, float, float, float, float]:
    """Return the step of a row, logits += e (k + b d) + f l, with e = exp(d), d the shifted logits.

    Args:
        eta: learning rate over the number of states.
        z, right, wrong, depth: the sums of e over all, right and wrong answers, and the sum of e d.
        tempered_total, tempered_right, tempered_wrong: the same sums of the tempered exponentials f; a
            total of 0 means that there are none.
        ordinary, tempered, bonus: the tables, which scales [rows, 3] multiply.

    Returns:
        k of right and wrong answers, l of right and wrong answers, b.
    """
    inverse = 1.0 / z
    p, q = right * inverse, wrong * inverse
    side, t = (1, q) if q < p else (0, p)
    step = eta * inverse
    gap = scales[row, 0] * _look_up(ordinary, side, t)
    k_right, k_wrong = step * q * gap, -step * p * gap
    l_right, l_wrong, b = 0.0, 0.0, 0.0
    if tempered_total > 0.0:
        inverse = 1.0 / tempered_total
        tempered_p, tempered_q = tempered_right * inverse, tempered_wrong * inverse
        tempered_side, tempered_t = (1, tempered_q) if tempered_q < tempered_p else (0, tempered_p)
        at_right = scales[row, 1] * _look_up(tempered, tempered_side, tempered_t)
        at_wrong = scales[row, 1] * _look_up(tempered, 2 + tempered_side, tempered_t)
        mean = tempered_p * at_right + tempered_q * at_wrong
        k_right, k_wrong = k_right - step * mean, k_wrong - step * mean
        l_right, l_wrong = eta * at_right * inverse, eta * at_wrong * inverse
    term = scales[row, 2] * _look_up(bonus, side, t)
    if term != 0.0:
        b = -step * term
        k_right -= b * depth / z
        k_wrong -= b * depth / z
    return k_right, k_wrong, l_right, l_wrong, b


# ------------------------------------------------------------------------------------- long rows


# Rows lie in flat arrays; a part of one is an offset and a length, as unsigned integers, which tells
# the compiler that no index is negative.


@_inner(fastmath=_FUSED)
def _sweep(z: Any, at: Any, e: Any, e_at: Any, size: Any, k: Any, shift: Any) -> Any:
    """Add e k to z, with e = exp(z - shift); return the sums of e and e (z - shift).

    Also returns how many z exceed the shift.
    """
    zero = k - k
    total, depth, over = zero, zero, zero
    for a in range(size):
        x = z[at + a] + e[e_at + a] * k
        z[at + a] = x
        d = x - shift
        w = exp(d)
        e[e_at + a] = w
        total = _add(total, w)
        depth = _add(depth, w * d)
        over = _add(over, _is_above(d, zero))
    return total, depth, over


@_inner(fastmath=_FUSED)
def _tempered_sum(z: Any, at: Any, size: Any, shift: Any, inverse: Any) -> Any:
    total = shift - shift
    for a in range(size):
        total = _add(total, exp((z[at + a] - shift) * inverse))
    return total


@_inner(fastmath=_FUSED)
def _temper(z: Any, at: Any, f: Any, f_at: Any, size: Any, shift: Any, inverse: Any) -> Any:
    total = shift - shift
    for a in range(size):
        w = exp((z[at + a] - shift) * inverse)
        f[f_at + a] = w
        total = _add(total, w)
    return total


@_inner(fastmath=_FUSED)
def _drift(z: Any, at: Any, e: Any, e_at: Any, size: Any, b: Any, shift: Any) -> None:
    for a in range(size):
        z[at + a] += e[e_at + a] * (b * (z[at + a] - shift))


@_inner(fastmath=_FUSED)
def _add_multiple(z: Any, at: Any, f: Any, f_at: Any, size: Any, k: Any) -> None:
    for a in range(size):
        z[at + a] += f[f_at + a] * k


@_inner()
def _largest(z: Any, at: Any, size: int) -> int:
    top = 0
    for a in range(1, size):
        if z[at + np.uint64(a)] > z[at + np.uint64(top)]:
            top = a
    return top


@_inner()
def _evaluate(
    z: Any, at: Any, e: Any, e_at: Any, top: int, peak: Any, k_right: Any, k_wrong: Any,
    piece_stops: Any, piece_kinds: Any, begin: int, end: int, sums: Any, s: int,
) -> Any:
    """Update and evaluate a row whose largest logit will be ``peak``, at ``top``, which is left out.

    Returns the sums of e over right and over wrong answers and of e d, all without the top, and how
    many logits exceed the peak. ``sums`` gets the sum of e of each piece.
    """
    z[at + np.uint64(top)], e[e_at + np.uint64(top)] = _LOWEST, 0
    right, wrong, depth, over, start = 0.0, 0.0, 0.0, 0.0, np.uint64(0)
    for piece in range(begin, end):
        stop = np.uint64(piece_stops[piece])
        part, deep, more = _sweep(
            z, at + start, e, e_at + start, stop - start,
            k_right if piece_kinds[piece] else k_wrong, peak)
        sums[s, piece - begin] = part
        if piece_kinds[piece]:
            right += part
        else:
            wrong += part
        depth += deep
        over += more
        start = stop
    z[at + np.uint64(top)], e[e_at + np.uint64(top)] = peak, 1
    return right, wrong, depth, over


@_inner()
def _draw(
    z: Any, at: Any, e: Any, e_at: Any, piece_stops: Any, begin: int, end: int, sums: Any, s: int,
    level: float, shift: Any, inverse: Any, is_tempered: bool,
) -> int:
    """The first action whose running sum of e (or of the tempered exponentials) exceeds the level."""
    running, start, piece = 0.0, 0, begin
    while piece < end - 1 and running + sums[s, piece - begin] <= level:
        running += sums[s, piece - begin]
        start = piece_stops[piece]
        piece += 1
    last = start
    for a in range(start, piece_stops[piece]):
        here = np.uint64(a)
        w = exp((z[at + here] - shift) * inverse) if is_tempered else e[e_at + here]
        last = a if w > 0 else last
        running += w
        if running > level:
            return a
    return last


@_kernel
def long_rows(
    z: Any, n_actions: int, first: int, last: int, states: int, steps: int,
    mask_of: Any, piece_starts: Any, piece_stops: Any, piece_kinds: Any, right_of: Any,
    eta: Any, scales: Any, ordinary: Any, tempered: Any, bonus: Any, keeps_wrong: bool,
    temperature_high: Any, temperature_low: Any, targets: Any, tempers: bool,
    lanes: Any, tempered_lanes: Any, seed_key: Any, batch: int,
    entropy: Any, reward: Any, temperature: Any, diverged: Any,
) -> None:
    """Take ``steps`` steps of the runs first..last, in place.

    Args:
        z: [rows * actions], flat and contiguous; rows run by run, ``states`` of each.
        n_actions: number of actions of a row.
        mask_of: [rows], which of the masks of right answers a row has. The actions of mask m are cut
            into the pieces piece_starts[m] .. piece_starts[m + 1], which end at ``piece_stops``, are
            right or wrong as ``piece_kinds`` says, and at most PIECE long; ``right_of``
            [masks, actions] says it of each action.
        eta: [rows], learning rates over the number of states.
        scales: [rows, 3], the factors of the three tables.
        ordinary, tempered, bonus: the rule's tables (`simulations.engine.compiled.tables.Tables`).
        keeps_wrong: whether tempered wrong answers may have a score other than 0.
        temperature_high, temperature_low: [rows], temperatures below the target and elsewhere.
        targets: [0, 1 or steps, rows], nats; none: always ``temperature_low``.
        tempers: whether there is a second batch.
        lanes, tempered_lanes: [rows, samples] of `sampling.lanes`; no samples: exact expectation, or no
            such rows.
        seed_key, batch: the key of `sampling.seed_key`, and the number of the first batch.
        entropy, reward, temperature: [steps or 0, rows], filled with what was before each step (the
            last one only if there is a second batch).
        diverged: [rows], set to the number of steps after which logits were not finite.
    """
    g, h = lanes.shape[1], tempered_lanes.shape[1]
    sampled = g + h > 0
    most = 0
    for m in range(piece_starts.size - 1):
        most = max(most, int(piece_starts[m + 1] - piece_starts[m]))
    length = np.uint64(n_actions)
    e = np.empty(states * n_actions, z.dtype)
    f = np.empty(states * n_actions if tempers and not sampled else 0, z.dtype)
    sums, tempered_sums = np.empty((states, most)), np.empty((1, most))
    real = np.zeros((states, 8), z.dtype)  # shift, k right, k wrong, l right, l wrong, b, 1 / T, 0
    kept = np.empty((states, 5))  # the sums of e: all, right, wrong; of e d; the entropy
    top = np.empty(states, np.int64)
    place, gain = np.zeros((states, g + h), np.int64), np.zeros((states, g + h), z.dtype)
    measured, controls = entropy.shape[0] > 0, tempers and targets.shape[0] > 0
    for run in range(first, last):
        e[:] = 0
        real[:] = 0
        gain[:] = 0
        for s in range(states):
            top[s] = _largest(z, np.uint64(run * states + s) * length, n_actions)
        for i in range(steps + 1):
            mean_entropy = 0.0
            finite = True
            for s in range(states):
                row = run * states + s
                at, e_at, m = np.uint64(row) * length, np.uint64(s) * length, mask_of[row]
                begin, end = piece_starts[m], piece_starts[m + 1]
                # What is not e times a constant comes first, while e and the shift are the old ones.
                if real[s, 5] != 0:
                    _drift(z, at, e, e_at, length, real[s, 5], real[s, 0])
                if not sampled and tempers:
                    start = np.uint64(0)
                    for piece in range(begin, end):
                        stop = np.uint64(piece_stops[piece])
                        k = real[s, 3] if piece_kinds[piece] else real[s, 4]
                        if k != 0:
                            _add_multiple(z, at + start, f, e_at + start, stop - start, k)
                        start = stop
                for j in range(g + h):
                    z[at + np.uint64(place[s, j])] += gain[s, j]
                t = top[s]
                peak = z[at + np.uint64(t)] + e[e_at + np.uint64(t)] * (
                    real[s, 1] if right_of[m, t] else real[s, 2])
                for j in range(g + h):
                    a = np.uint64(place[s, j])
                    x = z[at + a] + e[e_at + a] * (real[s, 1] if right_of[m, a] else real[s, 2])
                    if x > peak:
                        t, peak = place[s, j], x
                right, wrong, depth, over = _evaluate(
                    z, at, e, e_at, t, peak, real[s, 1], real[s, 2],
                    piece_stops, piece_kinds, begin, end, sums, s)
                if over > 0:
                    t = _largest(z, at, n_actions)
                    peak = z[at + np.uint64(t)]
                    right, wrong, depth, over = _evaluate(
                        z, at, e, e_at, t, peak, real[s, 7], real[s, 7],
                        piece_stops, piece_kinds, begin, end, sums, s)
                top[s] = t
                real[s, 0] = peak
                rest = right + wrong
                if not math.isfinite(peak + rest):
                    finite = False
                total = 1.0 + rest
                if right_of[m, t]:
                    right += 1.0
                else:
                    wrong += 1.0
                kept[s, 0], kept[s, 1], kept[s, 2], kept[s, 3] = total, right, wrong, depth
                if measured or controls:
                    kept[s, 4] = log1p(rest) - depth / total
                    mean_entropy += kept[s, 4] / states
            if not finite:
                for s in range(states):
                    diverged[run * states + s] = i
                break
            if i == steps:
                break
            key = _batch_key(seed_key, batch + i)
            for s in range(states):
                row = run * states + s
                at, e_at, m = np.uint64(row) * length, np.uint64(s) * length, mask_of[row]
                begin, end = piece_starts[m], piece_starts[m + 1]
                degree = temperature_low[row]
                if controls and mean_entropy < targets[i % targets.shape[0], row]:
                    degree = temperature_high[row]
                total, right, wrong, depth = kept[s, 0], kept[s, 1], kept[s, 2], kept[s, 3]
                if measured:
                    entropy[i, row] = kept[s, 4]
                    reward[i, row] = right / total
                if measured and tempers:
                    temperature[i, row] = degree
                tempered_total, tempered_right, tempered_wrong = 0.0, 0.0, 0.0
                if tempers:
                    real[s, 6] = 1.0 / degree
                    start = np.uint64(0)
                    for piece in range(begin, end):
                        stop = np.uint64(piece_stops[piece])
                        if sampled or not (keeps_wrong or piece_kinds[piece]):
                            part = _tempered_sum(
                                z, at + start, stop - start, real[s, 0], real[s, 6])
                        else:
                            part = _temper(z, at + start, f, e_at + start, stop - start,
                                           real[s, 0], real[s, 6])
                        tempered_sums[0, piece - begin] = part
                        if piece_kinds[piece]:
                            tempered_right += part
                        else:
                            tempered_wrong += part
                        start = stop
                    tempered_total = tempered_right + tempered_wrong
                if not sampled:
                    k_right, k_wrong, l_right, l_wrong, b = _exact(
                        eta[row], total, right, wrong, depth, tempered_total, tempered_right,
                        tempered_wrong, ordinary, tempered, bonus, scales, row)
                    real[s, 1], real[s, 2], real[s, 3] = k_right, k_wrong, l_right
                    real[s, 4], real[s, 5] = l_wrong, b
                    continue
                piece = begin
                while piece_stops[piece] <= top[s]:
                    piece += 1
                sums[s, piece - begin] += 1.0
                n_right, n_tempered = 0, 0
                for j in range(g):
                    level = _uniform(lanes[row, j], key) * total
                    a = _draw(z, at, e, e_at, piece_stops, begin, end, sums, s, level,
                              real[s, 0], real[s, 6], False)
                    place[s, j] = a
                    n_right += right_of[m, a]
                for j in range(h):
                    level = _uniform(tempered_lanes[row, j], key) * tempered_total
                    a = _draw(z, at, e, e_at, piece_stops, begin, end, tempered_sums, 0, level,
                              real[s, 0], real[s, 6], True)
                    place[s, g + j] = a
                    n_tempered += right_of[m, a]
                mean, term = 0.0, 0.0
                for j in range(g + h):
                    kind = 1 - right_of[m, place[s, j]]
                    if j < g:
                        score = scales[row, 0] * ordinary[kind, n_right, 0] / g
                    else:
                        score = scales[row, 1] * tempered[kind, n_tempered, 0] / h
                    mean += score
                    gain[s, j] = eta[row] * score
                if g > 0:
                    term = scales[row, 2] * bonus[0, n_right, 0]
                k = eta[row] * (term * depth / total - mean) / total
                real[s, 1], real[s, 2], real[s, 5] = k, k, -eta[row] * term / total


# ------------------------------------------------------------------------------------ descriptions


@_inner(fastmath=_FUSED)
def _sums_of(z: Any, at: Any, size: Any, right: Any, peak: float) -> Any:
    """Sum e = exp(z - peak) over right and over wrong answers without the largest, and e (z - peak).

    Also returns how many actions are largest, and how many of these are right.
    """
    by_right, by_all, depth, tops, tops_right = 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(size):
        d = np.float64(z[at + a]) - peak
        c = np.float64(right[a])
        top = _is_equal(d, 0.0)
        w = exp(d)
        depth = _add(depth, w * d)
        w -= top
        by_all = _add(by_all, (1.0 - c) * w)
        by_right = _add(by_right, c * w)
        tops = _add(tops, top)
        tops_right = _add(tops_right, c * top)
    return by_right, by_all, depth, tops, tops_right


@_inner(fastmath=_FUSED)
def _sums_within(z: Any, at: Any, size: Any, right: Any, peak: float) -> Any:
    """Sum over right answers alone, of which ``peak`` is the largest: rest, depth, largest ones."""
    rest, depth, tops = 0.0, 0.0, 0.0
    for a in range(size):
        d = np.float64(z[at + a]) - peak
        d = d if right[a] else _LOWEST
        top = _is_equal(d, 0.0)
        w = exp(d)
        depth = _add(depth, w * d)
        rest = _add(rest, w - top)
        tops = _add(tops, top)
    return rest, depth, tops


# Put into its caller: else the process that compiles it calls a copy that was compiled by itself, and
# those that read the compiled caller from disk another one, which rounds otherwise.
@_inner(fastmath=_FUSED, forceinline=True)
def _covariances(
    z: Any, at: Any, size: Any, right: Any, peak: float, inverse: float, depth: float,
    p: float, q: float,
) -> Any:
    """Sum pi A (log pi + H) and pi^2 A (log pi + H), with A the rightness minus its mean."""
    natural, plain = 0.0, 0.0
    for a in range(size):
        d = np.float64(z[at + a]) - peak
        pi = exp(d) * inverse
        term = pi * (q if right[a] else -p) * (d - depth)
        natural = _add(natural, term)
        plain = _add(plain, pi * term)
    return natural, plain


@_kernel
def describe_rows(
    z: Any, n_actions: int, mask_of: Any, right_of: Any, distinct_of: int, out: Any
) -> None:
    """Compute what a record holds of each row.

    Args:
        z, n_actions, mask_of, right_of: as in `long_rows`; every mask has a right answer.
        distinct_of: number of samples.
        out: [7, rows], filled with entropy; probability of a right and of a wrong answer; entropy given
            a right answer; Cov_pi(log pi, A) and Cov_pi(log pi, pi A) for A the rightness minus its
            mean; expected number of distinct right answers among the samples. NaN entropy for logits
            that are not finite.
    """
    length = np.uint64(n_actions)
    for row in range(mask_of.size):
        at, mask = np.uint64(row) * length, right_of[mask_of[row]]
        peak: Any = -np.inf
        within: Any = -np.inf
        for a in range(n_actions):
            x = np.float64(z[at + np.uint64(a)])
            if not math.isfinite(x):
                peak = np.nan
                break
            peak = x if x > peak else peak
            if mask[a]:
                within = x if x > within else within
        if math.isnan(peak):
            out[:, row] = np.nan
            continue
        right, wrong, depth, tops, tops_right = _sums_of(z, at, length, mask, peak)
        rest = right + wrong + (tops - 1.0)
        inverse = 1.0 / (1.0 + rest)
        depth *= inverse
        p, q = (right + tops_right) * inverse, (wrong + (tops - tops_right)) * inverse
        out[0, row] = log1p(rest) - depth
        out[1, row], out[2, row] = p, q
        rest, deep, tops = _sums_within(z, at, length, mask, within)
        rest += tops - 1.0
        out[3, row] = log1p(rest) - deep / (1.0 + rest)
        out[4, row], out[5, row] = _covariances(z, at, length, mask, peak, inverse, depth, p, q)
        distinct = 0.0
        for a in range(n_actions):
            if mask[a]:
                miss = 1.0 - exp(np.float64(z[at + np.uint64(a)]) - peak) * inverse
                power, base, left = 1.0, miss, distinct_of
                while left > 0:
                    power = power * base if left & 1 else power
                    base *= base
                    left >>= 1
                distinct += 1.0 - power
        out[6, row] = distinct


@_kernel
def add_deviations(values: Any, origin: Any, total: Any, square: Any) -> None:
    """Add up values [steps, runs] less the origin in total, and their squares in square [runs]."""
    for step in range(values.shape[0]):
        for run in range(values.shape[1]):
            deviation = values[step, run] - origin[run]
            total[run] += deviation
            square[run] += deviation * deviation
