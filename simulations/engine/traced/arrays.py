"""Arrays that record what is done with them: a rule's own code runs on them once, and leaves a graph.

A `Traced` stands for a column of every run, with the values of the current batch, so that shapes, types
and Python's conditions are those of NumPy. It supports the array API, as `entropy_theory.policy` uses it,
and NumPy's own functions. A condition that Python evaluates (``if``, ``max``) is decided as in this batch
and becomes a guard of the graph. An operation that cannot be recorded raises `NotTraceable`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from simulations.engine.traced.graph import Graph
from simulations.engine.traced.intervals import Interval
from simulations.engine.traced.views import (
    BOOLEAN,
    NUMPY,
    NotTraceable,
    View,
    broadcast,
    kind_of,
)

FUNCTIONS: dict[str, Any] = {}
"""The functions of the array API and of NumPy by name; `reductions` and `functions` put theirs in."""


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
    namespace: Any
    """The array API on traced arrays, which `functions` sets."""

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
        return self.namespace

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
            return FUNCTIONS[_REDUCING[ufunc.__name__]](*inputs, **options)
        if method != "__call__" or options:
            raise NotTraceable(f"numpy.{ufunc.__name__}.{method} with {', '.join(options) or 'that'}")
        return elementwise(_UFUNCS.get(ufunc.__name__, ufunc.__name__), *inputs)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        name = _NUMPY_NAMES.get(function.__name__, function.__name__)
        if name not in FUNCTIONS:
            raise NotTraceable(f"numpy.{function.__name__}")
        if name == "argsort" and not options.keys() & {"kind", "stable"} and inputs[0].shape[-1] > 16:
            raise NotTraceable("numpy.argsort of more than 16 numbers, which is not stable unless asked")
        return FUNCTIONS[name](*inputs, **options)

    # Methods.

    def astype(self, dtype: Any, copy: bool = True, **_: Any) -> Any:
        return FUNCTIONS["astype"](self, dtype)

    def reshape(self, *shape: Any, **options: Any) -> Any:
        return FUNCTIONS["reshape"](self, shape[0] if len(shape) == 1 else shape, **options)

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


def operate(operation: str, *operands: Any) -> Any:
    """Do an elementwise operation, by NumPy on the examples and in the graph."""
    if operation not in NUMPY:
        raise NotTraceable(f"numpy.{operation}")
    if operation == "power":
        return _power(*operands)
    trace = trace_of(operands)
    plain = [x.example if isinstance(x, Traced) else x for x in operands]
    with np.errstate(all="ignore"):
        example = np.asarray(NUMPY[operation](*plain))
    if all(x.is_constant for x in operands if isinstance(x, Traced)):
        return Traced(trace, example, None)
    ndim = max(np.ndim(x) for x in plain)
    graph = trace.graph
    views = [trace.view(x, ndim) for x in operands]
    kind = known_kind(example.dtype)
    common = kind
    if operation in _COMPARISONS:
        common = known_kind(np.result_type(*plain))
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
        return operate("sqrt", base)
    raise NotTraceable("a power other than 1 to 8")


_COMPARISONS = ("less", "less_equal", "equal", "not_equal")
_UFUNCS = {"true_divide": "divide", "conjugate": "positive", "abs": "absolute"}
_REDUCING = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min",
             "logical_and": "all", "logical_or": "any"}
_NUMPY_NAMES = {"amax": "max", "amin": "min", "concatenate": "concat", "cumsum": "cumulative_sum",
                "absolute": "abs"}


def known_kind(dtype: np.dtype) -> str:
    """Return the kind of numbers of a dtype that the compiled code has."""
    if dtype not in (np.float64, np.int64, np.bool_):
        raise NotTraceable(f"an array of {dtype}: float64, int64 and bool are known")
    return kind_of(dtype)


def trace_of(operands: Any) -> Trace:
    """Return the trace that the traced arrays among operands belong to."""
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
    return operate(operation, *operands)


def on_views(x: Any, example: np.ndarray, move: Callable[[np.ndarray], np.ndarray]) -> Traced:
    """Make a view of x: ``move`` does to indices [...] what gave ``example`` [runs, ...]."""
    if x.recorded is None:
        return Traced(x.trace, example, None, fixed=True)
    x.fixed = True
    index = move(x.recorded.index)
    if example.shape != ((len(x.example), *index.shape) if x.ndim else index.shape):
        raise NotTraceable("a view that mixes the runs")
    return Traced(x.trace, example, x.recorded.at(index), fixed=True)


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
    return on_views(x, np.asarray(example), lambda index: index[key[1:]])


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
