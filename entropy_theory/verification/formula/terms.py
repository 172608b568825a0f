"""Terms: what a margin computes, as a graph of operations instead of numbers.

A margin is a Python function of arrays. Run on `Term` objects instead, it returns the expression that it
computes: Python's operators, numpy's functions and those of `verification.arithmetic` all build terms. A
term stands for an array without the leading axis of instances. Its remaining axes are named
(actions, responses, prompts, or states and tokens of a tree), so it holds for any number of them.

Some code cannot be written as a term, such as a loop that depends on values, or an index that is an
array. It raises `UntraceableError`; then the statement has no formula, and no proof of it can be
accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias
from weakref import WeakValueDictionary

import numpy as np

Kind = Literal["real", "mask"]


class UntraceableError(Exception):
    """Raised where a margin does what no term says; the message names it."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of an array: actions, states, responses, prompts or shared parameters."""

    name: Literal["actions", "states", "responses", "prompts", "parameters", "steps", "time", "horizon"]


ACTIONS, STATES = Axis("actions"), Axis("states")
RESPONSES, PROMPTS = Axis("responses"), Axis("prompts")
PARAMETERS, STEPS, TIME = Axis("parameters"), Axis("steps"), Axis("time")

Axes: TypeAlias = tuple[Axis | None, ...]
"""From the first to the last; None is an axis of length one, which broadcasts."""


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """An operation of a term on its arguments.

    Attributes:
        name: what the renderers look up.
        evaluate: numbers of the arguments -> number.
        detail: what distinguishes two operations of one name (an exponent, an index, a bound variable).
    """

    name: str
    evaluate: Callable[..., Any] | None = None
    detail: Any = None


def _operator(name: str) -> tuple[Callable[[Term, Any], Term], Callable[[Term, Any], Term]]:
    """An operator of Python's, and the one that stands for it with its sides exchanged."""
    return (lambda term, other: elementwise(name, term, other),
            lambda term, other: elementwise(name, other, term))


class Term:
    """An operation applied to terms; equal terms are one object.

    Attributes:
        operation: what is computed.
        arguments: terms.
        axes: of the result.
        kind: real numbers, or truth values.
        uniform: whether it is the same for all instances: made of constants and sizes.
    """

    __slots__ = ("__weakref__", "arguments", "axes", "kind", "operation", "uniform")

    operation: Operation
    arguments: tuple[Term, ...]
    axes: Axes
    kind: Kind
    uniform: bool

    # ------------------------------------------------------------ numpy's protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Term:
        if method != "__call__" or options or ufunc.__name__ not in ELEMENTWISE:
            raise UntraceableError(f"np.{ufunc.__name__} ({method})")
        return elementwise(ufunc.__name__, *inputs)

    def __array_function__(
        self, function: Callable[..., Any], types: Any, arguments: Any, options: Any
    ) -> Any:
        known = _NUMPY.get(function)
        if known is None:
            raise UntraceableError(f"np.{function.__name__}")
        return known(*arguments, **options)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Sizes as terms, after the batch's, which is unknown."""
        return (None, *(size_of(axis) for axis in self.axes))

    @property
    def ndim(self) -> int:
        """The number of axes, the batch's included."""
        return 1 + len(self.axes)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Booleans for a mask, else float64."""
        return np.dtype(bool if self.kind == "mask" else float)

    def __getitem__(self, index: Any) -> Term:
        return _index(self, index if isinstance(index, tuple) else (index,))

    def __bool__(self) -> bool:
        raise UntraceableError("a decision that depends on a value")

    def __iter__(self) -> Any:
        raise UntraceableError("a loop over the entries of an array")

    def __len__(self) -> int:
        raise UntraceableError("the number of instances")

    def __float__(self) -> float:
        raise UntraceableError("float() of a value")

    def __int__(self) -> int:
        raise UntraceableError("int() of a value")

    __index__ = __int__

    # ------------------------------------------------------------ operators

    __add__, __radd__ = _operator("add")
    __sub__, __rsub__ = _operator("subtract")
    __mul__, __rmul__ = _operator("multiply")
    __truediv__, __rtruediv__ = _operator("divide")
    __pow__, __rpow__ = _operator("power")
    __and__ = __rand__ = _operator("logical_and")[0]
    __or__ = __ror__ = _operator("logical_or")[0]
    __lt__, __gt__ = _operator("less")
    __le__, __ge__ = _operator("less_equal")

    def __neg__(self) -> Term:
        return elementwise("negative", self)

    def __abs__(self) -> Term:
        return elementwise("absolute", self)

    def __invert__(self) -> Term:
        return elementwise("logical_not", self)

    def max(self, axis: int = -1) -> Term:
        """The largest entry along the last axis."""
        return reduction("largest", self, axis)

    def min(self, axis: int = -1) -> Term:
        """The smallest entry along the last axis."""
        return reduction("smallest", self, axis)

    def sum(self, axis: int = -1) -> Term:
        """The sum along the last axis."""
        return reduction("total", self, axis)

    def all(self, axis: int = -1) -> Term:
        """Whether all entries along the last axis are true."""
        return reduction("all", self, axis)

    def any(self, axis: int = -1) -> Term:
        """Whether some entry along the last axis is true."""
        return reduction("any", self, axis)

    def __repr__(self) -> str:
        return _written(self, depth=3)


def _written(term: Term, depth: int) -> str:
    detail = "" if term.operation.detail is None else f"[{term.operation.detail}]"
    if not term.arguments:
        return term.operation.name + detail
    inside = ", ".join(_written(t, depth - 1) for t in term.arguments) if depth else "..."
    return f"{term.operation.name}{detail}({inside})"


_KNOWN: WeakValueDictionary[Any, Term] = WeakValueDictionary()


def make(
    operation: Operation, arguments: tuple[Term, ...], axes: Axes, kind: Kind = "real"
) -> Term:
    """The term of this operation; one that exists already is returned again."""
    key = (operation.name, operation.detail, tuple(map(id, arguments)), axes, kind)
    known = _KNOWN.get(key)
    if known is None:
        known = Term.__new__(Term)
        known.operation, known.arguments, known.axes, known.kind = operation, arguments, axes, kind
        known.uniform = operation.name in ("constant", "size") or (
            bool(arguments) and all(argument.uniform for argument in arguments))
        _KNOWN[key] = known
    return known


def is_term(*values: Any) -> bool:
    """Whether any of the values is a term."""
    return any(isinstance(value, Term) for value in values)


# ---------------------------------------------------------------- leaves


def field(name: str, axes: Axes = (), kind: Kind = "real") -> Term:
    """A parameter of the statement, or a bound variable."""
    return make(Operation("field", detail=name), (), axes, kind)


def constant(value: Any, axes: Axes = ()) -> Term:
    """A rational number; floats are the dyadic numbers that they are.

    Raises:
        UntraceableError: not a finite number.
    """
    if isinstance(value, Term):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)):
        return make(Operation("constant", detail=bool(value)), (), axes, "mask")
    if isinstance(value, (int, np.integer, Fraction)):
        return make(Operation("constant", detail=Fraction(int(value)) if not isinstance(
            value, Fraction) else value), (), axes)
    if isinstance(value, (float, np.floating)) and np.isfinite(value):
        return make(Operation("constant", detail=Fraction(float(value))), (), axes)
    raise UntraceableError(f"a {type(value).__name__} amid the terms, {value!r}")


def size_of(axis: Axis | None) -> Any:
    """The length of an axis, as a term."""
    return 1 if axis is None else make(Operation("size", detail=axis), (), ())


# ---------------------------------------------------------------- operations on single numbers

ELEMENTWISE: Mapping[str, Callable[..., Any]] = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "negative": np.negative, "absolute": np.abs, "exp": np.exp, "log": np.log, "log1p": np.log1p,
    "expm1": np.expm1, "sqrt": np.sqrt, "square": np.square, "power": np.power,
    "maximum": np.maximum, "minimum": np.minimum, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal, "equal": np.equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_not": np.logical_not,
    "invert": np.invert, "bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or,
    "where": np.where,
}
_SAME = {"greater": "less", "greater_equal": "less_equal"}
_LOGICAL = {"invert": "logical_not", "bitwise_and": "logical_and", "bitwise_or": "logical_or"}
_MASKS = ("less", "less_equal", "equal", "logical_and", "logical_or", "logical_not")


def elementwise(name: str, *inputs: Any) -> Term:
    """An operation on each entry, with numpy's rule of broadcasting."""
    if name in _SAME:
        name, inputs = _SAME[name], inputs[::-1]
    name = _LOGICAL.get(name, name)
    if name == "power":
        return _power(*inputs)
    if name == "square":
        return _power(inputs[0], 2)
    terms = tuple(constant(value) for value in inputs)
    kind: Kind = "mask" if name in _MASKS or (name == "where" and terms[1].kind == "mask") else "real"
    return make(Operation(name, _CAREFUL.get(name) or ELEMENTWISE[name]), terms, broadcast(*terms), kind)


def broadcast(*terms: Term) -> Axes:
    """The axes of an operation on each entry of these terms.

    Raises:
        UntraceableError: two different axes meet.
    """
    rank = max((len(term.axes) for term in terms), default=0)
    for term in terms:
        if len(term.axes) < rank and not term.uniform:
            raise UntraceableError(
                f"a number of each instance meets a vector without `per_action`: {term}")
    found: list[Axis | None] = [None] * rank
    for term in terms:
        for place, axis in zip(range(rank - len(term.axes), rank), term.axes, strict=True):
            if axis is not None:
                if found[place] not in (None, axis):
                    raise UntraceableError(f"{axis.name} meet {found[place]} in one operation")
                found[place] = axis
    return tuple(found)


def _power(base: Any, exponent: Any) -> Term:
    if isinstance(exponent, Term):
        raise UntraceableError("a power whose exponent is not a constant")
    if exponent == 0.5:
        return elementwise("sqrt", base)
    if exponent != int(exponent):
        raise UntraceableError(f"a power with the exponent {exponent}")
    term, whole = constant(base), int(exponent)
    return make(Operation("power", lambda x: x**whole, whole), (term,), term.axes)


def careful(**functions: Callable[..., Any]) -> None:
    """Compute these operations so: `arithmetic` says how, where floats and balls differ."""
    _CAREFUL.update(functions)


_CAREFUL: dict[str, Callable[..., Any]] = {}


# ---------------------------------------------------------------- operations along axes


def reduction(name: str, term: Term, axis: Any) -> Term:
    """A reduction of numpy's along the last axis."""
    if axis not in (-1, len(term.axes)):
        raise UntraceableError(f"a reduction along axis {axis} of {len(term.axes) + 1}")
    if name in ("all", "any"):
        evaluate = np.all if name == "all" else np.any
        return make(Operation(name, lambda x: evaluate(x, axis=-1)), (term,), term.axes[:-1], "mask")
    found: Term = _CAREFUL[name](term)
    return found


def _index(term: Term, index: tuple[Any, ...]) -> Term:
    """Only new axes of length one, whole axes, and single entries of axes."""
    if Ellipsis in index:
        place = index.index(Ellipsis)
        named = sum(entry is not None for entry in index) - 1
        # The batch's axis, and all axes that the index leaves out.
        whole = (slice(None),) * (len(term.axes) + 1 - named)
        index = (*index[:place], *whole, *index[place + 1:])
    if not index or not _is_whole(index[0]):
        raise UntraceableError(f"an index of instances, {index!r}")
    left = list(term.axes)
    axes: list[Axis | None] = []
    for entry in index[1:]:
        if entry is None:
            axes.append(None)
        elif _is_whole(entry) and left:
            axes.append(left.pop(0))
        elif isinstance(entry, (int, np.integer)) and left:
            left.pop(0)
        else:
            raise UntraceableError(f"the index {entry!r}")
    entries = tuple(None if e is None else ":" if _is_whole(e) else int(e) for e in index[1:])
    return make(Operation("index", lambda x: x[index], entries), (term,), (*axes, *left), term.kind)


def _is_whole(entry: Any) -> bool:
    return isinstance(entry, slice) and entry == slice(None)


# ---------------------------------------------------------------- numpy's functions


def _where(condition: Any, x: Any, y: Any) -> Term:
    return elementwise("where", condition, x, y)


def _along_last(name: str) -> Callable[..., Term]:
    def traced(x: Any, axis: Any = None, **options: Any) -> Term:
        if options:
            raise UntraceableError(f"np.{name} with {sorted(options)}")
        return reduction(name, x, axis)

    return traced


def _stack(parts: Any, axis: int = 0) -> Any:
    if axis != -1:
        raise UntraceableError(f"np.stack along axis {axis}")
    return _several(parts)


def _concatenate(parts: Any, axis: int = 0) -> Any:
    if axis != -1:
        raise UntraceableError(f"np.concatenate along axis {axis}")
    return _several(parts)


def _several(parts: Any) -> Term:
    """Several conclusions at once, each of any shape: only a margin as a whole may be this."""
    terms = tuple(constant(part) for part in parts)
    return make(Operation("several"), terms, (None,))


_NUMPY: dict[Any, Callable[..., Any]] = {
    np.where: _where, np.sum: _along_last("total"), np.max: _along_last("largest"),
    np.min: _along_last("smallest"), np.all: _along_last("all"), np.any: _along_last("any"),
    np.stack: _stack, np.concatenate: _concatenate, np.shape: lambda x: x.shape,
    np.ndim: lambda x: x.ndim,
    np.zeros_like: lambda x: 0 * x, np.ones_like: lambda x: 0 * x + 1,
}
