"""Arrays that record what is done with them: a rule's own code runs on them once, and leaves a graph.

A `Traced` stands for a column of every run, with the values of the current batch, so that shapes, types
and Python's conditions are those of NumPy. It supports the array API, as `entropy_theory.policy` uses it,
and NumPy's own functions. A condition that Python evaluates (``if``, ``max``) is decided as in this batch
and becomes a guard of the graph. An operation that cannot be recorded raises `NotTraceable`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import array_api_compat.numpy as compat
import numpy as np

from simulations.engine.traced.graph import Graph
from simulations.engine.traced.intervals import Interval
from simulations.engine.traced.views import (
    BOOLEAN,
    INTEGER,
    NUMPY,
    REDUCTIONS,
    NotTraceable,
    View,
    broadcast,
    kind_of,
)


class Trace:
    """One trace: its graph, and the number of runs on the first axis of its arrays."""

    def __init__(self, n_runs: int) -> None:
        self.graph, self.n_runs = Graph(), n_runs

    def input(
        self, name: str, example: np.ndarray, interval: Interval = Interval()  # noqa: B008 (frozen)
    ) -> Traced:
        """Make a column [runs, ...] that differs from step to step."""
        view = self.graph.input(name, example.shape[1:], kind_of(example.dtype), interval)
        return Traced(self, example, view, fixed=True)

    def constant(self, array: Any) -> Traced:
        """Make a column that stays the same."""
        return Traced(self, np.asarray(array), None, fixed=True)

    def view(self, value: Any, ndim: int) -> View:
        """Return the view [...] of one run, of an operand of arrays [runs, ...] with ``ndim`` axes."""
        if isinstance(value, Traced):
            if value.trace is not self:
                raise NotTraceable("an array that is left from an earlier step")
            if value.is_verdict:
                raise NotTraceable("a condition on all runs within an array")
            if value.recorded is not None:
                if value.example.ndim == 0:
                    return value.recorded
                if value.example.ndim != ndim:
                    raise NotTraceable("an array that is shorter by an axis would mix the runs")
                return value.recorded
            value = value.example
        array = np.asarray(value)
        if array.ndim < max(ndim, 1):
            array = array[None]
        return self.graph.constant(array, self.n_runs)

    def result(self, example: np.ndarray, view: View) -> Traced:
        """Return the array whose values are ``example`` in this batch and ``view`` in the graph."""
        return Traced(self, example, broadcast(view, example.shape[1:]))


class Traced:
    """An array [runs, ...] (or a number that all runs share) within a trace; see the module."""

    __array_priority__ = 1000
    absorbs_numpy = True  # see `entropy_theory.policy.namespace`

    def __init__(
        self, trace: Trace, example: np.ndarray, recorded: View | None, fixed: bool = False
    ) -> None:
        self.trace, self.example, self.recorded, self.fixed = trace, example, recorded, fixed
        self.is_verdict = False
        """Whether it is a condition on all runs together, which Python alone may ask for."""

    # What it looks like.

    @property
    def shape(self) -> tuple[int, ...]:
        return self.example.shape

    @property
    def ndim(self) -> int:
        return self.example.ndim

    @property
    def size(self) -> int:
        return self.example.size

    @property
    def dtype(self) -> np.dtype:
        return self.example.dtype

    @property
    def device(self) -> str:
        return "cpu"

    @property
    def T(self) -> Traced:  # noqa: N802 (the array API's name)
        raise NotTraceable("a transposition")

    def __len__(self) -> int:
        return len(self.example)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return NAMESPACE

    def __repr__(self) -> str:
        return f"Traced({self.example!r})"

    __hash__ = None  # type: ignore[assignment]

    # What asks for its values.

    @property
    def is_constant(self) -> bool:
        """Whether the array stays the same from step to step."""
        return self.recorded is None or self.recorded.node.operation == "constant"

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("the truth value of an array with several elements is ambiguous")
        value = bool(self.example.reshape(()))
        if self.recorded is not None and self.ndim == 0:
            self.trace.graph.guard(self.trace.graph.convert(self.recorded, BOOLEAN), value)
        elif self.recorded is not None and not self.is_constant:
            raise NotTraceable("a condition on the values of a single run")
        return value

    def _plain(self, what: str) -> np.ndarray:
        if self.recorded is not None and not self.is_constant:
            raise NotTraceable(f"{what} of values that change from step to step")
        return self.example

    def __float__(self) -> float:
        return float(self._plain("float()"))

    def __int__(self) -> int:
        return int(self._plain("int()"))

    def __index__(self) -> int:
        return self._plain("an index").__index__()

    def __iter__(self) -> Any:
        raise NotTraceable("a loop over an array")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.array(self._plain("a NumPy array"), dtype=dtype)

    def item(self) -> Any:
        return self._plain("item()").item()

    def tolist(self) -> Any:
        return self._plain("tolist()").tolist()

    # NumPy's protocols.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "reduce" and ufunc.__name__ in _REDUCING:
            return _FUNCTIONS[_REDUCING[ufunc.__name__]](*inputs, **options)
        if method != "__call__" or options:
            raise NotTraceable(f"numpy.{ufunc.__name__}.{method} with {', '.join(options) or 'that'}")
        return elementwise(_UFUNCS.get(ufunc.__name__, ufunc.__name__), *inputs)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        name = _NUMPY_NAMES.get(function.__name__, function.__name__)
        if name not in _FUNCTIONS:
            raise NotTraceable(f"numpy.{function.__name__}")
        if name == "argsort" and not options.keys() & {"kind", "stable"} and inputs[0].shape[-1] > 16:
            raise NotTraceable("numpy.argsort of more than 16 numbers, which is not stable unless asked")
        return _FUNCTIONS[name](*inputs, **options)

    # Methods.

    def astype(self, dtype: Any, copy: bool = True, **_: Any) -> Traced:
        return astype(self, dtype)

    def reshape(self, *shape: Any, **options: Any) -> Traced:
        return reshape(self, shape[0] if len(shape) == 1 else shape, **options)

    def copy(self) -> Traced:
        return Traced(self.trace, self.example, self.recorded)

    def __getitem__(self, key: Any) -> Traced:
        return _cut(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise NotTraceable("an assignment to elements of an array")

    def _in_place(self, result: Any) -> Any:
        """``x += y``: whoever holds the array sees the change, as with NumPy."""
        if self.fixed:
            raise NotTraceable("a change in place of an array that another shares")
        if result.shape != self.shape or result.dtype != self.dtype:
            raise NotTraceable("a change in place of shape or type")
        self.example, self.recorded = result.example, result.recorded
        return self


def _operate(operation: str, *operands: Any) -> Any:
    """Do an elementwise operation, by NumPy on the examples and in the graph."""
    if operation not in NUMPY:
        raise NotTraceable(f"numpy.{operation}")
    if operation == "power":
        return _power(*operands)
    operands = tuple(x.traced() if isinstance(x, TracedInteger) else x for x in operands)
    trace = _trace_of(operands)
    plain = [x.example if isinstance(x, Traced) else x for x in operands]
    with np.errstate(all="ignore"):
        example = np.asarray(NUMPY[operation](*plain))
    if all(x.is_constant for x in operands if isinstance(x, Traced)):
        return Traced(trace, example, None)
    ndim = max(np.ndim(x) for x in plain)
    graph = trace.graph
    views = [trace.view(x, ndim) for x in operands]
    kind = _known_kind(example.dtype)
    common = kind
    if operation in _COMPARISONS:
        common = _known_kind(np.result_type(*plain))
    if operation == "where":
        views = [graph.convert(views[0], BOOLEAN), *(graph.convert(v, kind) for v in views[1:])]
    elif operation in ("isfinite", "isnan", "isinf"):
        common = views[0].node.kind
    elif operation.startswith("logical"):
        common = BOOLEAN
    elif operation.startswith("bitwise") and kind == BOOLEAN:
        operation = operation.replace("bitwise", "logical")
    if operation != "where":
        views = [graph.convert(view, common) for view in views]
    return trace.result(example, graph.elementwise(operation, *views))


def _power(base: Any, exponent: Any) -> Any:
    """Take whole powers by multiplication, whose rounding is close to NumPy's."""
    if isinstance(exponent, (int, float)) and float(exponent).is_integer() and 0 < exponent <= 8:
        result = base
        for _ in range(int(exponent) - 1):
            result = result * base
        return result
    if isinstance(exponent, float) and exponent == 0.5:
        return _operate("sqrt", base)
    raise NotTraceable("a power other than 1 to 8")


_COMPARISONS = ("less", "less_equal", "equal", "not_equal")
_UFUNCS = {"true_divide": "divide", "conjugate": "positive", "abs": "absolute"}
_REDUCING = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min",
             "logical_and": "all", "logical_or": "any"}
_NUMPY_NAMES = {"amax": "max", "amin": "min", "concatenate": "concat", "cumsum": "cumulative_sum",
                "absolute": "abs"}


def _known_kind(dtype: np.dtype) -> str:
    if dtype not in (np.float64, np.int64, np.bool_):
        raise NotTraceable(f"an array of {dtype}: float64, int64 and bool are known")
    return kind_of(dtype)


def _trace_of(operands: Any) -> Trace:
    for x in operands:
        if isinstance(x, Traced):
            return x.trace
    raise TypeError("no traced array")


def _operator(operation: str, swapped: bool = False) -> Any:
    def apply(self: Traced, other: Any) -> Any:
        if not isinstance(other, (Traced, np.ndarray, np.generic, int, float, bool, list, tuple)):
            return NotImplemented
        return elementwise(operation, other, self) if swapped else elementwise(operation, self, other)

    return apply


def elementwise(operation: str, *operands: Any) -> Any:
    """Do what the function of NumPy with this name does."""
    if operation in ("greater", "greater_equal"):
        operation = operation.replace("greater", "less")
        operands = operands[::-1]
    if operation == "invert":
        if operands[0].dtype != np.bool_:
            raise NotTraceable("the inverted bits of integers")
        operation = "logical_not"
    if operation == "positive":
        return operands[0].copy()
    if operation == "reciprocal":
        return elementwise("divide", 1.0, *operands)
    return _operate(operation, *operands)


for _name, _operation in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide",
    "floordiv": "floor_divide", "mod": "remainder", "pow": "power", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift", "rshift": "right_shift",
}.items():
    setattr(Traced, f"__{_name}__", _operator(_operation))
    setattr(Traced, f"__r{_name}__", _operator(_operation, swapped=True))
    setattr(Traced, f"__i{_name}__",
            lambda self, other, _o=_operation: self._in_place(elementwise(_o, self, other)))
for _name, _operation in {
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal",
    "ne": "not_equal",
}.items():
    setattr(Traced, f"__{_name}__", _operator(_operation))
for _name, _operation in {
    "neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert",
}.items():
    setattr(Traced, f"__{_name}__", lambda self, _o=_operation: elementwise(_o, self))


# --------------------------------------------------------------------------------------- functions


def _on_views(x: Any, example: np.ndarray, move: Callable[[np.ndarray], np.ndarray]) -> Traced:
    """Make a view of x: ``move`` does to indices [...] what gave ``example`` [runs, ...]."""
    if x.recorded is None:
        return Traced(x.trace, example, None, fixed=True)
    x.fixed = True
    index = move(x.recorded.index)
    if example.shape != ((len(x.example), *index.shape) if x.ndim else index.shape):
        raise NotTraceable("a view that mixes the runs")
    return Traced(x.trace, example, x.recorded.at(index), fixed=True)


def reshape(x: Any, shape: Any, copy: Any = None, **_: Any) -> Traced:
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    example = x.example.reshape(shape)
    if x.recorded is not None and (example.ndim < 1 or example.shape[0] != x.shape[0]):
        raise NotTraceable("a reshaping that mixes the runs")
    return _on_views(x, example, lambda index: index.reshape(example.shape[1:]))


def broadcast_to(x: Any, shape: Any) -> Traced:
    example = np.broadcast_to(x.example, tuple(shape))
    if x.recorded is not None and x.ndim == 0:
        return Traced(x.trace, example, broadcast(x.recorded, example.shape[1:]), fixed=True)
    if x.recorded is not None and example.ndim != x.ndim:
        raise NotTraceable("a broadcast that adds axes before the runs")
    return _on_views(x, example, lambda index: np.broadcast_to(index, example.shape[1:]))


def _cut(x: Traced, key: Any) -> Traced:
    if any(isinstance(k, Traced) and not k.is_constant
           for k in (key if isinstance(key, tuple) else (key,))):
        raise NotTraceable("indices that change from step to step (take_along_axis can be traced)")
    key = tuple(k.example if isinstance(k, Traced) else k
                for k in (key if isinstance(key, tuple) else (key,)))
    example = x.example[key]
    if x.recorded is None or x.ndim == 0:
        if x.recorded is not None:
            raise NotTraceable("axes of a number that all runs share")
        return Traced(x.trace, np.asarray(example), None, fixed=True)
    used = sum(k is not None and k is not Ellipsis for k in key)
    if any(k is Ellipsis for k in key):
        at = next(i for i, k in enumerate(key) if k is Ellipsis)
        key = (*key[:at], *(slice(None),) * (x.ndim - used), *key[at + 1:])
    if not (isinstance(key[0], slice) and key[0] == slice(None)):
        raise NotTraceable("a cut along the runs")
    return _on_views(x, np.asarray(example), lambda index: index[key[1:]])


def astype(x: Any, dtype: Any, *, copy: bool = True, device: Any = None) -> Traced:
    example = x.example.astype(dtype)
    if x.is_constant:
        return Traced(x.trace, example, None)
    view: Any = x.recorded
    if x.dtype == np.float64 and example.dtype == np.int64:
        view = x.trace.graph.elementwise("to_integer", view)
    else:
        view = x.trace.graph.convert(view, _known_kind(example.dtype))
    return Traced(x.trace, example, view)


def _axes(x: Traced, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted({a % x.ndim for a in axes}))


def _reduction(operation: str, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    numpy = getattr(np, operation)
    with np.errstate(all="ignore"):
        if operation in ("argmax", "argmin"):
            example = np.asarray(numpy(x.example, axis=axis, keepdims=keepdims))
        else:
            example = np.asarray(numpy(x.example, axis=axis, keepdims=keepdims))
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
    return _on_reduced(x, view, example)


def _on_reduced(x: Traced, view: View, example: np.ndarray) -> Traced:
    return Traced(x.trace, example, view.at(view.index.reshape(example.shape[1:])))


def _over_runs(operation: str, x: Traced, axes: tuple[int, ...], example: np.ndarray) -> Any:
    """Record a condition on all runs, which is one on each of them where they agree."""
    if operation not in ("any", "all") or len(axes) != x.ndim:
        raise NotTraceable(f"the {operation} over runs, which are independent of each other")
    each: Any = _reduction(operation, x, tuple(range(1, x.ndim))) if x.ndim > 1 else x
    if not (each.example == example).all():
        raise NotTraceable(
            "a condition that holds for some of the runs only, so that what a run does depends on those "
            "beside it: choose for each run with xp.where instead of if")
    verdict = Traced(x.trace, example, x.trace.graph.convert(each.recorded, BOOLEAN))
    verdict.is_verdict = not verdict.is_constant
    return verdict


def _sum(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, **rest: Any) -> Any:
    _refuse("sum", rest, dtype)
    return _reduction("sum", x, axis, keepdims)


def _mean(x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, **rest: Any) -> Any:
    _refuse("mean", rest, dtype)
    count = math.prod(x.shape[a] for a in _axes(x, axis))
    return _reduction("sum", x, axis, keepdims) / count


def _variance(x: Any, axis: Any = None, *, keepdims: bool = False, correction: float = 0,
              ddof: float | None = None, **rest: Any) -> Any:
    _refuse("var", rest)
    count = math.prod(x.shape[a] for a in _axes(x, axis))
    centered = x - _mean(x, axis, keepdims=True)
    return _sum(centered * centered, axis, keepdims=keepdims) / (count - (ddof or correction))


def _simple(operation: str) -> Any:
    def reduce(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False, **rest: Any) -> Any:
        _refuse(operation, rest, out)
        return _reduction(operation, x, axis, keepdims)

    return reduce


def _refuse(name: str, options: Any, *values: Any) -> None:
    named = [k for k, v in options.items() if v is not None and v is not np._NoValue]
    if named or any(v is not None for v in values):
        raise NotTraceable(f"{name} with {', '.join(named) or 'a type or place of its own'}")


def _argument(operation: str) -> Any:
    def reduce(x: Any, axis: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        if axis is None:
            raise NotTraceable(f"{operation} over all axes")
        _refuse(operation, {}, out)
        return _reduction(operation, x, axis, keepdims is True)

    return reduce


def _asarray(x: Any, dtype: Any = None, device: Any = None, copy: Any = None) -> Any:
    if not isinstance(x, Traced):
        return np.asarray(x, dtype=dtype)
    return x if dtype is None or x.dtype == dtype else astype(x, dtype)


def _like(fill: Any) -> Any:
    def make(x: Any, dtype: Any = None, **_: Any) -> Any:
        return x.trace.constant(np.full(x.shape, fill, dtype=dtype or x.dtype)).copy()

    return make


def _full_like(x: Any, fill: Any, dtype: Any = None, **_: Any) -> Any:
    if not isinstance(x, Traced):
        return np.full_like(x, fill, dtype=dtype)
    if isinstance(fill, Traced):
        return broadcast_to(astype(fill, dtype or x.dtype), x.shape)
    return x.trace.constant(np.full(x.shape, fill, dtype=dtype or x.dtype)).copy()


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None or y is None:
        raise NotTraceable("where with a condition alone")
    return _operate("where", condition, x, y)


def _clip(x: Any, low: Any = None, high: Any = None, *, min: Any = None, max: Any = None,
          a_min: Any = None, a_max: Any = None, **rest: Any) -> Any:
    _refuse("clip", rest)
    low = next((v for v in (low, min, a_min) if v is not None), None)
    high = next((v for v in (high, max, a_max) if v is not None), None)
    result = x
    if low is not None:
        result = _operate("maximum", result, low)
    if high is not None:
        result = _operate("minimum", result, high)
    return result.copy() if isinstance(result, Traced) else result


def _concat(arrays: Any, axis: int = 0, **rest: Any) -> Any:
    _refuse("concat", rest)
    trace = _trace_of(arrays)
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
    kind = _known_kind(example.dtype)
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
    _refuse("stack", rest)
    ndim = arrays[0].ndim + 1
    return _concat([_expand_dims(x, axis % ndim) for x in arrays], axis % ndim)


def _einsum(subscripts: str, *operands: Any, **rest: Any) -> Any:
    """Multiply and sum, where axes are in one order in all operands and in the result."""
    _refuse("einsum", rest)
    inputs, _, kept = subscripts.partition("->")
    parts = inputs.split(",")
    letters = max(parts, key=len)
    if any([c for c in letters if c in part] != list(part) for part in (*parts, kept)):
        raise NotTraceable(f"einsum of {subscripts}")
    product: Any = 1.0
    for part, x in zip(parts, operands, strict=True):
        lengths = iter(x.shape)
        product = product * x.reshape([next(lengths) if c in part else 1 for c in letters])
    return _sum(product, tuple(i for i, c in enumerate(letters) if c not in kept))


def _take_along_axis(x: Any, index: Any, axis: int = -1) -> Any:
    trace = _trace_of((x, index))
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
    _refuse("cumulative_sum", rest, dtype)
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
    return reshape(x, example.shape)


def _squeeze(x: Any, axis: Any = None) -> Any:
    return reshape(x, np.squeeze(x.example, axis).shape)


def _count_nonzero(x: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _sum(x != 0, axis, keepdims=keepdims)


def sum_by_index(values: Any, index: Any, size: int) -> Any:
    """Sum over equal indices, [runs, size], as `entropy_theory.tabular.sum_by_index`."""
    trace = _trace_of((values, index))
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


_FUNCTIONS: dict[str, Any] = {name: _simple(name) for name in REDUCTIONS} | {
    "sum": _sum, "mean": _mean, "var": _variance,
    "std": lambda *a, **k: _operate("sqrt", _variance(*a, **k)),
    "argmax": _argument("argmax"), "argmin": _argument("argmin"),
    "asarray": _asarray, "zeros_like": _like(0), "ones_like": _like(1), "full_like": _full_like,
    "where": _where, "clip": _clip, "concat": _concat, "take_along_axis": _take_along_axis,
    "argsort": _argsort, "sort": _sort, "cumulative_sum": _cumulative_sum,
    "unique_values": _unique_values, "unique": _unique_values, "expand_dims": _expand_dims,
    "squeeze": _squeeze, "reshape": reshape, "broadcast_to": broadcast_to, "astype": astype,
    "count_nonzero": _count_nonzero, "stack": _stack, "einsum": _einsum, "copy": lambda x, **_: x.copy(),
    "shape": lambda x: x.shape, "ndim": lambda x: x.ndim, "size": lambda x: x.size,
}


def _method(name: str) -> Any:
    return lambda self, *inputs, **options: _FUNCTIONS[name](self, *inputs, **options)


for _name in ("sum", "mean", "max", "min", "any", "all", "prod", "std", "var", "argmax", "argmin",
              "argsort", "clip", "squeeze"):
    setattr(Traced, _name, _method(_name))
Traced.cumsum = _method("cumulative_sum")  # type: ignore[attr-defined]


def _function(name: str) -> Any:
    traced, plain = _FUNCTIONS[name], getattr(compat, name, None)

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
    **{name: _function(name) for name in _FUNCTIONS},
    **{name: _elementwise_function(name, operation) for name, operation in (
        {n: n for n in NUMPY if hasattr(compat, n)} | {
            "abs": "absolute", "pow": "power", "round": "rint", "greater": "greater",
            "greater_equal": "greater_equal", "bitwise_invert": "invert", "positive": "positive",
            "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift"}
    ).items() if name not in _FUNCTIONS},
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
