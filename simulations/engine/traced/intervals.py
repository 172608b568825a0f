"""Intervals that hold the values of a node, and what each operation makes of its arguments' intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval that holds the values of a node, and whether NaN is among them."""

    low: float = -math.inf
    high: float = math.inf
    nan: bool = True

    @property
    def is_finite(self) -> bool:
        """Whether all values are finite numbers."""
        return not self.nan and math.isfinite(self.low) and math.isfinite(self.high)


def of_values(array: np.ndarray) -> Interval:
    """Return the interval of the numbers in an array."""
    if array.dtype == np.bool_:
        array = array.astype(np.int64)
    nan = bool(np.isnan(array).any()) if array.dtype.kind == "f" else False
    if nan and np.isnan(array).all():
        return Interval()
    low, high = np.nanmin(array), np.nanmax(array)
    return Interval(low.item(), high.item(), nan)


def with_zero(x: Interval) -> Interval:
    """Widen an interval until 0 is in it."""
    return Interval(min(x.low, 0), max(x.high, 0), x.nan)


def of_reduction(operation: str, x: Interval, n: int) -> Interval:
    """Return the interval of a reduction of n numbers in x."""
    if operation in ("max", "min"):
        return x
    if operation in ("any", "all"):
        return Interval(0, 1, False)
    if operation in ("argmax", "argmin"):
        return Interval(0, n - 1, False)
    if operation == "sum":
        opposite = math.isinf(x.low) and math.isinf(x.high)
        is_whole = isinstance(x.low, int) and isinstance(x.high, int)
        times = n if is_whole else n * (1 + 1e-9)  # (rounding)
        low, high = (_product(side, times) for side in (x.low, x.high))
        return Interval(low, high, x.nan or opposite)
    return Interval()


def _product(x: float, y: float) -> float:
    return 0 if x == 0 or y == 0 else x * y


def _sum(x: Interval, y: Interval) -> Interval:
    nan = x.nan or y.nan or (x.low == -math.inf and y.high == math.inf) or (
        x.high == math.inf and y.low == -math.inf)
    low = -math.inf if -math.inf in (x.low, y.low) else x.low + y.low
    high = math.inf if math.inf in (x.high, y.high) else x.high + y.high
    return Interval(low, high, nan)


def _negative(x: Interval) -> Interval:
    return Interval(-x.high, -x.low, x.nan)


def _times(x: Interval, y: Interval) -> Interval:
    corners = [_product(a, b) for a in (x.low, x.high) for b in (y.low, y.high)]
    infinite = [math.isinf(v.low) or math.isinf(v.high) for v in (x, y)]
    holds_zero = [v.low <= 0 <= v.high for v in (x, y)]
    nan = x.nan or y.nan or (infinite[0] and holds_zero[1]) or (infinite[1] and holds_zero[0])
    return Interval(min(corners), max(corners), nan)


def _divided(x: Interval, y: Interval) -> Interval:
    if y.low > 0 or y.high < 0:
        if not (math.isinf(y.low) or math.isinf(y.high)):
            return _times(x, Interval(1 / y.high, 1 / y.low, y.nan))
    elif x.low >= 0 and y.low >= 0:  # (x / 0 is infinite, 0 / 0 NaN.)
        return Interval(0, math.inf, True)
    return Interval()


def _safe_exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf


def _monotone(function: Any) -> Any:
    return lambda x: Interval(function(x.low), function(x.high), x.nan)


INTERVALS: dict[str, Any] = {
    "add": _sum,
    "subtract": lambda x, y: _sum(x, _negative(y)),
    "multiply": _times,
    "divide": _divided,
    "negative": _negative,
    "absolute": lambda x: Interval(
        0 if x.low <= 0 <= x.high else min(abs(x.low), abs(x.high)),
        max(abs(x.low), abs(x.high)), x.nan),
    "exp": _monotone(_safe_exp),
    "log1p": lambda x: Interval(
        math.log1p(x.low), math.log1p(x.high) if x.high < math.inf else math.inf, x.nan)
    if x.low > -1 else Interval(),
    "sqrt": lambda x: Interval(
        math.sqrt(x.low), math.sqrt(x.high) if x.high < math.inf else math.inf, x.nan)
    if x.low >= 0 else Interval(0, math.inf, True),
    "sign": lambda x: Interval(
        1 if x.low > 0 else (0 if x.low >= 0 else -1),
        -1 if x.high < 0 else (0 if x.high <= 0 else 1), x.nan),
    "minimum": lambda x, y: Interval(min(x.low, y.low), min(x.high, y.high), x.nan or y.nan),
    "maximum": lambda x, y: Interval(max(x.low, y.low), max(x.high, y.high), x.nan or y.nan),
    "to_float": lambda x: x,
    "to_integer": lambda x: Interval(
        math.floor(x.low), math.ceil(x.high), False) if x.is_finite else Interval(nan=False),
    "where": lambda c, x, y: Interval(min(x.low, y.low), max(x.high, y.high), x.nan or y.nan),
    "single": lambda x: Interval(
        x.low, x.high, x.nan) if max(abs(x.low), abs(x.high)) < 1e38 else Interval(),
}
_TRUE, _FALSE, _EITHER = Interval(1, 1, False), Interval(0, 0, False), Interval(0, 1, False)


def _truth(x: bool | None) -> Interval:
    return _EITHER if x is None else (_TRUE if x else _FALSE)


def _less(x: Interval, y: Interval) -> Interval:
    if x.low >= y.high:
        return _FALSE
    return _truth(True if x.high < y.low and not (x.nan or y.nan) else None)


def _less_equal(x: Interval, y: Interval) -> Interval:
    if x.low > y.high:
        return _FALSE
    return _truth(True if x.high <= y.low and not (x.nan or y.nan) else None)


def _equal(x: Interval, y: Interval) -> Interval:
    if x.low > y.high or x.high < y.low:
        return _FALSE
    same = x.low == x.high == y.low == y.high and not (x.nan or y.nan)
    return _truth(True if same else None)


CONDITIONS: dict[str, Any] = {
    "less": _less,
    "less_equal": _less_equal,
    "equal": _equal,
    "not_equal": lambda x, y: _not(_equal(x, y)),
    "isfinite": lambda x: _truth(True if x.is_finite else None),
    "isnan": lambda x: _truth(None if x.nan else False),
    "isinf": lambda x: _truth(False if math.isfinite(x.low) and math.isfinite(x.high) else None),
    "to_boolean": lambda x: _not(_equal(x, _FALSE)),
    "logical_and": lambda x, y: Interval(min(x.low, y.low), min(x.high, y.high), False),
    "logical_or": lambda x, y: Interval(max(x.low, y.low), max(x.high, y.high), False),
    "logical_xor": lambda x, y: _EITHER,
    "logical_not": lambda x: _not(x),
}


def _not(x: Interval) -> Interval:
    return Interval(1 - x.high, 1 - x.low, False)
