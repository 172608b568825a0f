"""Python's integers within a trace, which a step computes beside its arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from simulations.engine.traced.arrays import (
    Trace,
    Traced,
)
from simulations.engine.traced.intervals import Interval
from simulations.engine.traced.views import (
    NotTraceable,
    View,
)


class TracedInteger:
    """A Python integer that differs from step to step: exact, by its value modulo 2^64 and its range.

    Python's integers have no bounds, so what is recorded is the value modulo 2^64, which sums, products
    and remainders by powers of two keep. It becomes a number of an array where it is known to fit.
    """

    __array_priority__ = 2000
    __class__ = int  # type: ignore[assignment]  # what isinstance finds: a rule may ask for one

    def __init__(self, trace: Trace, example: int, view: View, low: int, high: int) -> None:
        self.trace, self.example, self.view = trace, example, view
        self.low, self.high = low, high

    def traced(self) -> Any:
        """Return it as a number that all runs share (a `Traced`)."""
        if self.low < -(2**63) or self.high >= 2**63:
            raise NotTraceable("an integer beyond 64 bits")
        self.view.node.interval = Interval(self.low, self.high, False)
        return Traced(self.trace, np.asarray(self.example), self.view)

    def _ring(self, operation: str, other: Any, compute: Any, swapped: bool = False) -> Any:
        if isinstance(other, bool) or not isinstance(other, (int, TracedInteger)):
            return NotImplemented
        low, high, example = other, other, other
        if isinstance(other, TracedInteger):
            low, high, example = other.low, other.high, other.example
            view = other.view
        else:
            view = self.trace.graph.constant(np.array([_wrapped(other)]), 1)
        pair = (view, self.view) if swapped else (self.view, view)
        ends = [compute(y, x) if swapped else compute(x, y)
                for x in (self.low, self.high) for y in (low, high)]
        value = compute(example, self.example) if swapped else compute(self.example, example)
        return TracedInteger(
            self.trace, value, self.trace.graph.elementwise(operation, *pair), min(ends), max(ends))

    def __add__(self, other: Any) -> Any:
        result = self._ring("add", other, lambda x, y: x + y)
        return self.traced() + other if result is NotImplemented else result

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        result = self._ring("subtract", other, lambda x, y: x - y)
        return self.traced() - other if result is NotImplemented else result

    def __rsub__(self, other: Any) -> Any:
        result = self._ring("subtract", other, lambda x, y: x - y, swapped=True)
        return other - self.traced() if result is NotImplemented else result

    def __mul__(self, other: Any) -> Any:
        result = self._ring("multiply", other, lambda x, y: x * y)
        return self.traced() * other if result is NotImplemented else result

    __rmul__ = __mul__

    def __mod__(self, other: Any) -> Any:
        if not (isinstance(other, int) and 0 < other <= 2**64 and other & (other - 1) == 0):
            return self.traced() % other
        mask = self.trace.graph.constant(np.array([_wrapped(other - 1)]), 1)
        view = self.trace.graph.elementwise("bitwise_and", self.view, mask)
        return TracedInteger(self.trace, self.example % other, view, 0, other - 1)

    def __floordiv__(self, other: Any) -> Any:
        if isinstance(other, bool) or not isinstance(other, int) or other < 1:
            return self.traced() // other
        divided = self.traced() // other
        return TracedInteger(
            self.trace, self.example // other, divided.recorded, self.low // other, self.high // other)

    def __neg__(self) -> Any:
        return 0 - self

    def __bool__(self) -> bool:
        return bool(self.traced() != 0)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.traced(), name)

    def _refused(self, *_: Any) -> Any:
        raise NotTraceable("int() of a number that changes from step to step")

    __int__ = __index__ = __float__ = _refused

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [x.traced() if isinstance(x, TracedInteger) else x for x in inputs]
        return plain[0].__array_ufunc__(ufunc, method, *plain, **options) if isinstance(
            plain[0], Traced) else plain[1].__array_ufunc__(ufunc, method, *plain, **options)

    __hash__ = None  # type: ignore[assignment]


def _deferred(name: str) -> Any:
    def apply(self: TracedInteger, other: Any) -> Any:
        other = other.traced() if isinstance(other, TracedInteger) else other
        return getattr(self.traced(), name)(other)

    return apply


for _name in ("lt", "le", "gt", "ge", "eq", "ne", "truediv", "rtruediv", "pow", "rpow",
              "and", "or", "xor", "lshift", "rshift", "rmod", "rfloordiv"):
    setattr(TracedInteger, f"__{_name}__", _deferred(f"__{_name}__"))


def _wrapped(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63
