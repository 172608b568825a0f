"""Reductions of traced arrays: over axes within each run, or a condition on all runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from simulations.engine.traced.arrays import (
    FUNCTIONS,
    Traced,
    operate,
)
from simulations.engine.traced.views import (
    BOOLEAN,
    INTEGER,
    REDUCTIONS,
    NotTraceable,
)


def _axes(x: Traced, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted({a % x.ndim for a in axes}))


def _reduction(operation: str, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    with np.errstate(all="ignore"):
        example = np.asarray(getattr(np, operation)(x.example, axis=axis, keepdims=keepdims))
    if x.is_constant:
        return Traced(x.trace, example, None)
    axes = _axes(x, axis)
    graph = x.trace.graph
    if 0 in axes:
        return _over_runs(operation, x, axes, example)
    kind = BOOLEAN if operation in ("any", "all") else x.recorded.node.kind
    if operation in ("sum", "prod") and kind == BOOLEAN:
        kind = INTEGER
    if operation in ("max", "min") and kind == BOOLEAN:
        raise NotTraceable("the largest of booleans")
    view = graph.convert(x.recorded, kind)
    view = graph.reduce(operation, view, tuple(a - 1 for a in axes))
    return Traced(x.trace, example, view.at(view.index.reshape(example.shape[1:])))


def _over_runs(operation: str, x: Traced, axes: tuple[int, ...], example: np.ndarray) -> Any:
    """Record a condition on all runs, which is one on each of them where they agree."""
    if operation not in ("any", "all") or len(axes) != x.ndim:
        raise NotTraceable(f"the {operation} over runs, which are independent of each other")
    each: Any = _reduction(operation, x, tuple(range(1, x.ndim))) if x.ndim > 1 else x
    if not (each.example == example).all():
        raise NotTraceable(
            "a condition that holds for some of the runs only, so each run would depend on the others: "
            "choose for each run with xp.where instead of if")
    verdict = Traced(x.trace, example, x.trace.graph.convert(each.recorded, BOOLEAN))
    verdict.is_verdict = not verdict.is_constant
    return verdict


def _sum(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, **rest: Any) -> Any:
    refuse("sum", rest, dtype)
    return _reduction("sum", x, axis, keepdims)


def _mean(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, **rest: Any) -> Any:
    refuse("mean", rest, dtype)
    count = math.prod(x.shape[a] for a in _axes(x, axis))
    return _reduction("sum", x, axis, keepdims) / count


def _variance(x: Any, axis: Any = None, *, keepdims: bool = False, correction: float = 0,
              ddof: float | None = None, **rest: Any) -> Any:
    refuse("var", rest)
    count = math.prod(x.shape[a] for a in _axes(x, axis))
    centered = x - _mean(x, axis, keepdims=True)
    return _sum(centered * centered, axis, keepdims=keepdims) / (count - (ddof or correction))


def _simple(operation: str) -> Any:
    def reduce(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, **rest: Any) -> Any:
        refuse(operation, rest, out)
        return _reduction(operation, x, axis, keepdims)

    return reduce


def refuse(name: str, options: Any, *values: Any) -> None:
    """Raise NotTraceable for options of a function that are given and cannot be recorded."""
    named = [k for k, v in options.items() if v is not None and v is not np._NoValue]
    if named or any(v is not None for v in values):
        raise NotTraceable(f"{name} with {', '.join(named) or 'a type or place of its own'}")


def _argument(operation: str) -> Any:
    def reduce(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        if axis is None:
            raise NotTraceable(f"{operation} over all axes")
        refuse(operation, {}, out)
        return _reduction(operation, x, axis, keepdims is True)

    return reduce


FUNCTIONS.update({name: _simple(name) for name in REDUCTIONS} | {
    "sum": _sum, "mean": _mean, "var": _variance,
    "std": lambda *a, **k: operate("sqrt", _variance(*a, **k)),
    "argmax": _argument("argmax"), "argmin": _argument("argmin"),
})
