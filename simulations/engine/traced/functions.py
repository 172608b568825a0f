"""Functions on traced arrays that shape, choose, join, order and count, and the namespace of all."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import array_api_compat.numpy as compat
import numpy as np

from simulations.engine.traced.arrays import (
    FUNCTIONS,
    Traced,
    elementwise,
    known_kind,
    on_views,
    operate,
    trace_of,
)
from simulations.engine.traced.reductions import refuse
from simulations.engine.traced.views import (
    BOOLEAN,
    INTEGER,
    NUMPY,
    NotTraceable,
    broadcast,
)


def _reshape(x: Any, shape: Any, copy: Any = None, **_: Any) -> Traced:
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    example = x.example.reshape(shape)
    if x.recorded is not None and (example.ndim < 1 or example.shape[0] != x.shape[0]):
        raise NotTraceable("a reshaping that mixes the runs")
    return on_views(x, example, lambda index: index.reshape(example.shape[1:]))


def _broadcast_to(x: Any, shape: Any) -> Traced:
    example = np.broadcast_to(x.example, tuple(shape))
    if x.recorded is not None and x.ndim == 0:
        return Traced(x.trace, example, broadcast(x.recorded, example.shape[1:]), fixed=True)
    if x.recorded is not None and example.ndim != x.ndim:
        raise NotTraceable("a broadcast that adds axes before the runs")
    return on_views(x, example, lambda index: np.broadcast_to(index, example.shape[1:]))


def _astype(x: Any, dtype: Any, *, copy: bool = True, device: Any = None) -> Traced:
    example = x.example.astype(dtype)
    if x.is_constant:
        return Traced(x.trace, example, None)
    view: Any = x.recorded
    if x.dtype == np.float64 and example.dtype == np.int64:
        view = x.trace.graph.elementwise("to_integer", view)
    else:
        view = x.trace.graph.convert(view, known_kind(example.dtype))
    return Traced(x.trace, example, view)


def _asarray(x: Any, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
    if not isinstance(x, Traced):
        return np.asarray(x, dtype=dtype)
    return x if dtype is None or x.dtype == dtype else _astype(x, dtype)


def _like(fill: Any) -> Any:
    def make(x: Any, dtype: Any = None, **_: Any) -> Any:
        return x.trace.constant(np.full(x.shape, fill, dtype=dtype or x.dtype)).copy()

    return make


def _full_like(x: Any, fill: Any, dtype: Any = None, **_: Any) -> Any:
    if not isinstance(x, Traced):
        return np.full_like(x, fill, dtype=dtype)
    if isinstance(fill, Traced):
        return _broadcast_to(_astype(fill, dtype or x.dtype), x.shape)
    return x.trace.constant(np.full(x.shape, fill, dtype=dtype or x.dtype)).copy()


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        raise NotTraceable("where with a condition alone")
    return operate("where", condition, x, y)


def _clip(x: Any, low: Any = None, high: Any = None, *, min: Any = None, max: Any = None,
          a_min: Any = None, a_max: Any = None, **rest: Any) -> Any:
    refuse("clip", rest)
    low = next((v for v in (low, min, a_min) if v is not None), None)
    high = next((v for v in (high, max, a_max) if v is not None), None)
    result = x
    if low is not None:
        result = operate("maximum", result, low)
    if high is not None:
        result = operate("minimum", result, high)
    return result.copy() if isinstance(result, Traced) else result


def _concat(arrays: Any, axis: int = 0, **rest: Any) -> Any:
    refuse("concat", rest)
    trace = trace_of(arrays)
    plain = [a.example if isinstance(a, Traced) else a for a in arrays]
    example = np.concatenate(plain, axis=axis)
    if all(not isinstance(a, Traced) or a.is_constant for a in arrays):
        return Traced(trace, example, None)
    axis %= example.ndim
    if axis == 0:
        raise NotTraceable("arrays joined along the runs")
    # Side by side: each part is chosen by its place, which costs less than moving it.
    graph, begin, joined = trace.graph, 0, None
    place = np.arange(example.shape[axis]).reshape(
        [-1 if a == axis else 1 for a in range(1, example.ndim)])
    kind = known_kind(example.dtype)
    views = [graph.convert(trace.view(a, example.ndim), kind) for a in arrays]
    for part, view in zip(plain, views, strict=True):
        size = part.shape[axis]
        index = view.index.take(np.clip(place.ravel() - begin, 0, size - 1), axis=axis - 1)
        mine = graph.constant((place >= begin)[None], 1)
        moved = view.at(index)
        joined = moved if joined is None else graph.elementwise("where", mine, moved, joined)
        begin += size
    assert joined is not None
    return Traced(trace, example, joined)


def _stack(arrays: Any, axis: int = 0, **rest: Any) -> Any:
    refuse("stack", rest)
    ndim = arrays[0].ndim + 1
    return _concat([_expand_dims(x, axis % ndim) for x in arrays], axis % ndim)


def _einsum(subscripts: str, *operands: Any, **rest: Any) -> Any:
    """Multiply and sum, where axes are in one order in all operands and in the result."""
    refuse("einsum", rest)
    inputs, _, kept = subscripts.partition("->")
    parts = inputs.split(",")
    letters = max(parts, key=len)
    if any([c for c in letters if c in part] != list(part) for part in (*parts, kept)):
        raise NotTraceable(f"einsum of {subscripts}")
    product: Any = 1.0
    for part, x in zip(parts, operands, strict=True):
        lengths = iter(x.shape)
        product = product * x.reshape([next(lengths) if c in part else 1 for c in letters])
    return FUNCTIONS["sum"](product, tuple(i for i, c in enumerate(letters) if c not in kept))


def _take_along_axis(x: Any, index: Any, axis: int = -1) -> Any:
    trace = trace_of((x, index))
    plain, at = (a.example if isinstance(a, Traced) else np.asarray(a) for a in (x, index))
    example = np.take_along_axis(plain, at, axis=axis)
    traced = [a for a in (x, index) if isinstance(a, Traced) and not a.is_constant]
    if not traced:
        return Traced(trace, example, None)
    axis %= example.ndim
    if axis == 0:
        raise NotTraceable("elements taken along the runs")
    source, where = trace.view(x, example.ndim), trace.view(index, example.ndim)
    value = where.node.value
    if value is not None and len(value) == 1:
        fixed = value[0].ravel()[where.index]
        shape = [s if a == axis - 1 else max(s, f) for a, (s, f) in enumerate(
            zip(source.shape, fixed.shape, strict=True))]
        full = np.broadcast_to(source.index, shape)
        fixed = np.broadcast_to(fixed, [f if a == axis - 1 else n for a, (f, n) in enumerate(
            zip(fixed.shape, shape, strict=True))])
        return Traced(trace, example, source.at(np.take_along_axis(full, fixed, axis=axis - 1)))
    shape = [1 if a == axis - 1 else n for a, n in enumerate(example.shape[1:])]
    source = broadcast(source, tuple(
        n if a == axis - 1 else shape[a] for a, n in enumerate(source.shape)))
    return Traced(trace, example, trace.graph.take(
        source, broadcast(where, example.shape[1:]), axis - 1))


def _argsort(x: Any, axis: int = -1, *, descending: bool = False, stable: bool = True,
             kind: Any = None, order: Any = None) -> Any:
    with np.errstate(all="ignore"):
        example = np.argsort(x.example, axis=axis, kind="stable")
    if descending:
        raise NotTraceable("a descending order")
    if x.is_constant:
        return Traced(x.trace, example, None)
    if not stable or kind not in (None, "stable", "mergesort"):
        raise NotTraceable("an order that is not stable")
    if axis % x.ndim != x.ndim - 1 or x.ndim == 1:
        raise NotTraceable("an order along another axis than the last")
    graph = x.trace.graph
    known = graph.ranks.get(x.recorded.node.number)
    if known is not None and x.recorded.is_whole():
        return Traced(x.trace, example, known.at(known.index.reshape(x.shape[1:])))
    ranks = graph.rank(x.recorded)
    return Traced(x.trace, example, graph.order(ranks))


def _sort(x: Any, axis: int = -1, **options: Any) -> Any:
    return _take_along_axis(x, _argsort(x, axis, **options), axis)


def _cumulative_sum(x: Any, axis: Any = None, dtype: Any = None, **rest: Any) -> Any:
    refuse("cumulative_sum", rest, dtype)
    axis = x.ndim - 1 if axis is None and x.ndim == 1 else axis
    example = np.cumsum(x.example, axis=axis)
    if x.is_constant:
        return Traced(x.trace, example, None)
    if axis is None or axis % x.ndim != x.ndim - 1 or x.ndim == 1:
        raise NotTraceable("a running sum along another axis than the last")
    view = x.recorded
    if view.node.kind == BOOLEAN:
        view = x.trace.graph.convert(view, INTEGER)
    return Traced(x.trace, example, x.trace.graph.cumulative_sum(view))


def _unique_values(x: Any) -> Any:
    if not x.is_constant:
        raise NotTraceable("unique_values: how many there are changes from step to step")
    return Traced(x.trace, np.unique(x.example), None)


def _expand_dims(x: Any, axis: Any = 0) -> Any:
    example = np.expand_dims(x.example, axis)
    return _reshape(x, example.shape)


def _squeeze(x: Any, axis: Any = None) -> Any:
    return _reshape(x, np.squeeze(x.example, axis).shape)


def _count_nonzero(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return FUNCTIONS["sum"](x != 0, axis, keepdims=keepdims)


def sum_by_index(values: Any, index: Any, size: int) -> Any:
    """Sum over equal indices, [runs, size], as `entropy_theory.tabular.sum_by_index`."""
    trace = trace_of((values, index))
    plain = values.example.reshape(len(values.example), -1)
    slots = np.asarray(index.example if isinstance(index, Traced) else index).reshape(plain.shape)
    n_runs = len(plain)
    example = np.bincount((slots + size * np.arange(n_runs)[:, None]).ravel(), plain.ravel(),
                          n_runs * size).reshape(n_runs, size)
    if values.is_constant and (not isinstance(index, Traced) or index.is_constant):
        return Traced(trace, example, None)
    views = [trace.view(a, values.ndim) for a in (values, index)]
    numbers, slots_of = (view.at(view.index.reshape(-1)) for view in views)
    return Traced(trace, example, trace.graph.sum_by_index(numbers, slots_of, size))


FUNCTIONS.update({
    "asarray": _asarray, "zeros_like": _like(0), "ones_like": _like(1), "full_like": _full_like,
    "where": _where, "clip": _clip, "concat": _concat, "take_along_axis": _take_along_axis,
    "argsort": _argsort, "sort": _sort, "cumulative_sum": _cumulative_sum,
    "unique_values": _unique_values, "unique": _unique_values, "expand_dims": _expand_dims,
    "squeeze": _squeeze, "reshape": _reshape, "broadcast_to": _broadcast_to, "astype": _astype,
    "count_nonzero": _count_nonzero, "stack": _stack, "einsum": _einsum, "copy": lambda x, **_: x.copy(),
    "shape": lambda x: x.shape, "ndim": lambda x: x.ndim, "size": lambda x: x.size,
})


def _method(name: str) -> Any:
    return lambda self, *inputs, **options: FUNCTIONS[name](self, *inputs, **options)


for _name in ("sum", "mean", "max", "min", "any", "all", "prod", "std", "var", "argmax", "argmin",
              "argsort", "clip", "squeeze"):
    setattr(Traced, _name, _method(_name))
Traced.cumsum = _method("cumulative_sum")  # type: ignore[attr-defined]


def _function(name: str) -> Any:
    traced, plain = FUNCTIONS[name], getattr(compat, name, None)

    def call(*inputs: Any, **options: Any) -> Any:
        flat = [y for x in inputs for y in (x if isinstance(x, (list, tuple)) else (x,))]
        if plain is not None and not any(isinstance(x, Traced) for x in flat):
            return plain(*inputs, **options)
        return traced(*inputs, **options)

    return call


def _elementwise_function(name: str, operation: str) -> Any:
    plain = getattr(compat, name)

    def call(*inputs: Any) -> Any:
        if not any(isinstance(x, Traced) for x in inputs):
            return plain(*inputs)
        return elementwise(operation, *inputs)

    return call


class _Namespace(SimpleNamespace):
    """The array API on traced arrays, and NumPy's on arrays that are not."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotTraceable(f"the function '{name}' of the array API")


NAMESPACE: Any = _Namespace(
    __name__="traced",
    sum_by_index=sum_by_index,
    **{name: getattr(compat, name) for name in (
        "float64", "float32", "int64", "int32", "bool", "finfo", "iinfo", "pi", "e", "inf", "nan",
        "newaxis", "arange", "zeros", "ones", "full", "isdtype", "result_type")},
    **{name: _function(name) for name in FUNCTIONS},
    **{name: _elementwise_function(name, operation) for name, operation in (
        {n: n for n in NUMPY if hasattr(compat, n)} | {
            "abs": "absolute", "pow": "power", "round": "rint", "greater": "greater",
            "greater_equal": "greater_equal", "bitwise_invert": "invert", "positive": "positive",
            "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift"}
    ).items() if name not in FUNCTIONS},
)
Traced.namespace = NAMESPACE
