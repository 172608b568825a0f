"""Statements that pass for a reason that has nothing to do with their content.

The margin is the same at every instance, or never comes near zero. By its form it cannot be negative, as
an absolute value or a number clipped at zero. It is one of the hypotheses. No search can falsify such
statements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from entropy_theory.verification.claim import Statement
from entropy_theory.verification.instances import Batch, Cases, Instances, as_floats

SAME = 1e-9
"""Relative difference up to which margins count as one number."""
NEAR = 0.1
"""A margin comes near zero if its smallest value is below this share of its median."""
NO_SIZE = 0
"""The size of instances that have none: numbers alone."""
SMALL = 3
"""A number of actions with which a statement may hold for want of freedom."""


@dataclass(kw_only=True, slots=True)
class Margins:
    """A summary of the margins at instances that meet the hypotheses.

    Attributes:
        count: how many.
        low: the smallest.
        high: the largest.
        stuck: the value that half of the `varied` random instances of a size, or more, had to the last
            bit, by size.
    """

    count: int = 0
    low: float = np.inf
    high: float = -np.inf
    stuck: dict[int, float] = field(default_factory=dict)

    def add(self, margins: np.ndarray, varied: np.ndarray, size: int) -> None:
        """Take in the margins of a batch of a size, and which are of `varied` random instances."""
        usable = np.isfinite(margins)
        if not usable.any():
            return
        finite = margins[usable]
        self.count += finite.size
        self.low = min(self.low, float(finite.min()))
        self.high = max(self.high, float(finite.max()))
        telling = margins[usable & varied]
        if telling.size >= 8:
            values, counts = np.unique(telling, return_counts=True)
            if 2 * counts.max() >= telling.size:
                self.stuck[size] = float(values[np.argmax(counts)])

    def cut_off(self) -> float | None:
        """The value at which the margin is cut off; None if it is not.

        With two or three actions there may be nothing to move, so that an identity holds there alone.
        """
        found = [value for size, value in self.stuck.items() if size > SMALL]
        return found[0] if len(found) > 1 else self.stuck.get(NO_SIZE)


def varied(batch: Batch) -> np.ndarray:
    """Which instances have no constant vector, [B]; rewards that are all 0 make many a margin 0."""
    found = np.ones(len(next(iter(batch.values()))), dtype=bool)
    for name, column in batch.items():
        if name not in ("logits", "weights") and column.ndim > 1 and column.dtype.kind == "f":
            rows = column.reshape(len(column), -1)
            found &= (rows != rows[:, :1]).any(-1)
    return found


def why_vacuous(
    statement: Statement, instances: Instances, seen: Margins, batch: Batch, usual: float | None
) -> str:
    """Why a statement that nothing violates says nothing; empty if it may say something.

    Args:
        statement: the statement that was searched.
        instances: the set that it is about.
        seen: its margins.
        batch: random instances.
        usual: their median margin, of which the smallest seen must be a small part; None where a mutant
            shows that a slightly different statement would be rejected.
    """
    if instances.finite:
        return ""  # Every instance is tried.
    if statement.relation == "==":
        is_zero = seen.low == seen.high == 0 and seen.count > 100
        return "both sides are the same computation: their difference is 0 to the last bit" * is_zero
    if seen.count > 1 and seen.high - seen.low <= SAME * max(abs(seen.low), abs(seen.high)):
        return f"the margin is {seen.low:.6g} at all {seen.count:,} instances: it depends on none"
    floor = _floor(statement, batch)
    if floor is not None and (floor > 0 or (floor == 0 and statement.relation == ">=")):
        return ("by its form the margin is never negative, whatever the instance (an absolute value, an "
                "even power, or clipped from below)")
    implied = _implied_by(statement, batch)
    if implied:
        return f"the conclusion is one of the hypotheses: '{implied}'"
    if usual is None:
        return ""
    if (stuck := seen.cut_off()) is not None:
        return (f"half or more of the random instances of some sizes have a margin of {stuck:.6g} to "
                "the last bit. It is cut off there, or a hypothesis is hidden in it: make that a "
                "Condition, or give a Mutant that the checks must reject")
    if np.isfinite(usual) and seen.low > NEAR * usual > 0:
        return (f"the margin never comes near 0: it is {seen.low:.3g} or more, {usual:.3g} at a usual "
                "instance, so that much more would pass. State the sharper conclusion, or give a Mutant "
                "that the checks must reject")
    return ""


def _implied_by(statement: Statement, batch: Batch) -> str:
    """The hypothesis that says the conclusion, or more, in the same numbers."""
    with np.errstate(all="ignore"):
        values, margins = statement.evaluate(as_floats(batch))
    margins = np.asarray(margins, dtype=float)
    for condition, value in zip(statement.conditions, map(np.asarray, values), strict=True):
        if value.dtype == bool or value.shape != margins.shape:
            continue
        with np.errstate(all="ignore"):
            excess = margins - value
        excess = excess[np.isfinite(excess)]
        if not excess.size or excess.min() < 0:
            continue
        # Another way to the same numbers would differ by rounding, and be a theorem.
        if excess.max() == 0 or excess.max() - excess.min() <= SAME * excess.min():
            return condition.latex
    return ""


# ---------------------------------------------------------------- bounds by form


def _floor(statement: Statement, batch: Batch) -> float | None:
    """A number that the margin cannot be below, by the operations that it ends with; None if unknown."""
    fields: dict[str, Any] = {name: value if value.dtype == bool else value.view(_Bounded)
                              for name, value in vars(as_floats(batch)).items()}
    try:
        with np.errstate(all="ignore"):
            return _of(statement.margin(Cases(**fields)))
    except Exception:  # The search has evaluated it; this is another kind of array.
        return None


class _Bounded(np.ndarray):
    """Floats that remember a lower bound which follows from how they were computed."""

    floor: float | None = None

    def __array_finalize__(self, source: Any) -> None:
        self.floor = getattr(source, "floor", None)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if "out" in options:
            return NotImplemented
        plain = [x.view(np.ndarray) if isinstance(x, _Bounded) else x for x in inputs]
        found = getattr(ufunc, method)(*plain, **options)
        rules = {"__call__": _RULES, "reduce": _REDUCED}.get(method, {})
        rule = rules.get(ufunc.__name__)
        return _bounded(found, rule(inputs) if rule else None)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        found = super().__array_function__(function, types, arguments, options)
        if function is np.where and len(arguments) == 3:
            return _bounded(found, _least([_of(x) for x in arguments[1:]]))
        return _bounded(found, None) if function in _OTHER_VALUES else found

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self.floor = None


def _bounded(found: Any, floor: float | None) -> Any:
    if isinstance(found, tuple) or np.asarray(found).dtype.kind != "f":
        return found
    result = np.asarray(found).view(_Bounded)
    result.floor = floor
    return result


def _of(value: Any) -> float | None:
    """The bound of an operand; a number of Python's is its own, an array without a history has none."""
    if isinstance(value, _Bounded):
        return value.floor
    return float(value) if isinstance(value, (int, float, np.floating)) else None


def _least(floors: Sequence[float | None]) -> float | None:
    return None if None in floors else min(f for f in floors if f is not None)


def _most(floors: Sequence[float | None]) -> float | None:
    return max((f for f in floors if f is not None), default=None)


def _both(combine: Callable[[float, float], float], least: float) -> Callable[[Any], float | None]:
    def rule(inputs: Any) -> float | None:
        x, y = map(_of, inputs)
        return combine(x, y) if x is not None and y is not None and min(x, y) >= least else None

    return rule


_OTHER_VALUES = (np.full_like, np.zeros_like, np.ones_like, np.empty_like, np.dot, np.inner)
"""Functions whose results take an array's class, and not its values."""
_RULES: dict[str, Callable[[Any], float | None]] = {
    "absolute": lambda inputs: 0.0, "fabs": lambda inputs: 0.0, "square": lambda inputs: 0.0,
    "exp": lambda inputs: 0.0, "sqrt": lambda inputs: 0.0,
    "power": lambda inputs: 0.0 if np.ndim(inputs[1]) == 0 and inputs[1] % 2 == 0 else None,
    "maximum": lambda inputs: _most([_of(x) for x in inputs]),
    "fmax": lambda inputs: _most([_of(x) for x in inputs]),
    "minimum": lambda inputs: _least([_of(x) for x in inputs]),
    "clip": lambda inputs: _of(inputs[1]),
    "add": _both(lambda x, y: x + y, -np.inf), "multiply": _both(lambda x, y: x * y, 0.0),
    "divide": lambda inputs: 0.0 if _of(inputs[0]) == 0 and np.ndim(inputs[1]) == 0 and (
        inputs[1] > 0) else None,
}
_REDUCED: dict[str, Callable[[Any], float | None]] = {
    "add": lambda inputs: 0.0 if (_of(inputs[0]) or 0.0) >= 0 and _of(inputs[0]) is not None else None,
    "maximum": lambda inputs: _of(inputs[0]), "minimum": lambda inputs: _of(inputs[0]),
}
