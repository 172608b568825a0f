"""The graph that a trace leaves: operations on the columns of one run, simplified as they are added.

A node computes an array of numbers of one run; all runs do the same. It is reached through a `View`, an
array of indices into its elements, so that reshaping, broadcasting and slicing cost nothing: they act on
the indices. What is the same at every index along an axis is computed once.

A node knows an interval that holds its values, so that conditions which always hold can be dropped:
log-probabilities are finite and at most 0, ranks count from 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

LARGEST_LOGIT = 1e300
"""Compiled steps stop before a logit beyond this, so that differences of logits are finite."""
MOST_SORTED = 1024
"""The largest number of numbers that are sorted by comparing each pair."""
PIECE = 256
"""The number of actions that are summed in one go: a draw searches one, and float32 sums are short."""
MANY = 64
"""The number of elements above which an axis is over actions, of vectors along them."""
SHORT = 2 * PIECE
"""The largest number of actions that are summed at once."""
_LARGEST = float(np.finfo(np.float64).max)
FLOAT, INTEGER, BOOLEAN = "float", "integer", "boolean"
REDUCTIONS = ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all")


class NotTraceable(Exception):  # noqa: N818 (a reason, not an error of the rule's)
    """Raised where a rule does something that cannot be compiled; the message says what."""


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


@dataclass(eq=False, slots=True)
class Node:
    """One operation; nodes are compared by identity, as equal operations are one node (`Graph.add`)."""

    operation: str
    arguments: tuple[View, ...]
    shape: tuple[int, ...]
    kind: str
    """The kind of its numbers: FLOAT, INTEGER or BOOLEAN."""
    interval: Interval
    parameter: Any = None
    """The name of an input, the axes of a reduction, the number of slots of a sum by index."""
    value: np.ndarray | None = None
    """The value of a constant, [runs or 1, *shape]; None for any other node."""
    number: int = 0
    """The place in the graph; arguments come before."""


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """An array whose elements are those of a node at ``index``."""

    node: Node
    index: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.index.shape

    @property
    def key(self) -> tuple[int, tuple[int, ...], bytes]:
        return self.node.number, self.index.shape, self.index.tobytes()

    def at(self, index: np.ndarray) -> View:
        return View(self.node, index)

    def is_whole(self) -> bool:
        """Whether it is all elements of its node, each once, in order (axes of length 1 aside)."""
        size = math.prod(self.node.shape)
        return self.index.size == size and bool((self.index.ravel() == np.arange(size)).all())


def whole(node: Node) -> View:
    """Return the view of all elements of a node."""
    return View(node, np.arange(math.prod(node.shape), dtype=np.int64).reshape(node.shape))


@dataclass(slots=True)
class Graph:
    """Nodes in the order in which they can be computed, and conditions under which the trace holds."""

    nodes: list[Node] = field(default_factory=list)
    guards: list[tuple[View, bool]] = field(default_factory=list)
    """Scalars, each with the value on which the trace relies."""
    rows: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Lengths of axes that run over states and over each state's rows, with these two lengths. Such an
    axis is two in a node, so that numbers of a state are computed once and states share a loop."""
    ranks: dict[int, View] = field(default_factory=dict)
    """The ranks by which an ordering sorts, by the ordering's number."""
    of_sum: Callable[..., View | None] | None = None
    """What a sum is made of (`sums.of_sum`), where states are long."""
    of_gather: Callable[..., View | None] | None = None
    """What elements are computed from (`sums.of_gather`), where states are long."""
    _known: dict[Any, Node] = field(default_factory=dict)

    def add(
        self, operation: str, arguments: Sequence[View], shape: tuple[int, ...], kind: str,
        interval: Interval, parameter: Any = None,
    ) -> Node:
        """Return the node of this operation, which is a new one unless the graph has it already."""
        key = (operation, tuple(view.key for view in arguments), shape, kind, parameter)
        if key not in self._known:
            self._known[key] = self._append(
                Node(operation, tuple(arguments), shape, kind, interval, parameter))
        return self._known[key]

    def constant(self, array: np.ndarray, n_runs: int) -> View:
        """Add a constant [n_runs or 1, ...], held without the axes along which it is the same."""
        kind = kind_of(array.dtype)
        array = array.astype({FLOAT: np.float64, INTEGER: np.int64, BOOLEAN: np.bool_}[kind], copy=False)
        shape = array.shape[1:]
        apart = self._apart(shape)
        if apart != shape:
            found = self.constant(array.reshape(len(array), *apart), n_runs)
            return found.at(found.index.reshape(shape))
        for axis in range(array.ndim):
            array = _cut(array, axis)
        if array.shape[0] not in (1, n_runs):
            raise NotTraceable(f"a constant has {array.shape[0]} rows for {n_runs} runs")
        return broadcast(self._kept_constant(array), shape)

    def _kept_constant(self, array: np.ndarray) -> View:
        """Add a constant [n_runs or 1, ...] with all of its axes."""
        kind = kind_of(array.dtype)
        key = ("constant", array.shape, kind, array.tobytes())
        if key not in self._known:
            self._known[key] = self._append(
                Node("constant", (), array.shape[1:], kind, _of_values(array),
                     value=np.ascontiguousarray(array)))
        return whole(self._known[key])

    def input(self, name: str, shape: tuple[int, ...], kind: str, interval: Interval) -> View:
        return whole(self.add("input", (), shape, kind, interval, name))

    def guard(self, view: View, expected: bool) -> None:
        """Record that the trace holds only where the scalar has this value."""
        if view.node.operation == "constant":
            return
        self.guards.append((view, expected))
        inner = view
        while inner.node.operation == "all" and _is_broadcast_whole(inner):
            inner = inner.node.arguments[0]
        checked = inner.node.operation == "isfinite" and _is_broadcast_whole(inner)
        if expected and checked and _is_broadcast_whole(inner.node.arguments[0]):
            # What follows is used only where the guard holds.
            node = inner.node.arguments[0].node
            low, high = max(node.interval.low, -_LARGEST), min(node.interval.high, _LARGEST)
            node.interval = Interval(low, high, False)

    def _apart(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Split each axis of a shape that runs over the rows of all states."""
        return tuple(n for length in shape for n in self.rows.get(length, (length,)))

    def _places(self, shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[int, ...]:
        """Return the places of axes once all are split."""
        parts = [self.rows.get(length, (length,)) for length in shape]
        ends = np.cumsum([0, *map(len, parts)])
        return tuple(place for axis in axes for place in range(ends[axis], ends[axis + 1]))

    def _append(self, node: Node) -> Node:
        node.number = len(self.nodes)
        self.nodes.append(node)
        return node

    # ------------------------------------------------------------------- elementwise operations

    def elementwise(self, operation: str, *arguments: View) -> View:
        """Add an operation on views that broadcast against each other, simplified."""
        shape = np.broadcast_shapes(*(view.shape for view in arguments))
        views = [broadcast(view, shape) for view in arguments]
        apart = self._apart(shape)
        if apart != shape:
            found = self.elementwise(operation, *(v.at(v.index.reshape(apart)) for v in views))
            return found.at(found.index.reshape(shape))
        simple = _simplified(self, operation, views)
        if simple is not None:
            return broadcast(simple, shape)
        cut = views
        for axis in range(len(shape)):
            if shape[axis] > 1 and all(same_along(view.index, axis) for view in cut):
                cut = [view.at(view.index.take([0], axis=axis)) for view in cut]
        kind, interval = _type_of(operation, cut)
        if interval.low == interval.high and not interval.nan and kind == BOOLEAN:
            return broadcast(self.constant(np.array([bool(interval.low)]), 1), shape)
        # (Axes of length 1 are no part of a node: a column and a row of the same numbers are one node.)
        length = tuple(n for n in cut[0].shape if n > 1)
        node = self.add(
            operation, [view.at(view.index.reshape(length)) for view in cut], length, kind, interval)
        return broadcast(View(node, whole(node).index.reshape(cut[0].shape)), shape)

    # ------------------------------------------------------------------------------- reductions

    def reduce(self, operation: str, view: View, axes: tuple[int, ...]) -> View:
        """Reduce over some axes, which stay with length 1."""
        apart = self._apart(view.shape)
        if apart != view.shape and operation not in ("argmax", "argmin"):
            shape = tuple(1 if axis in axes else length for axis, length in enumerate(view.shape))
            found = self.reduce(
                operation, view.at(view.index.reshape(apart)), self._places(view.shape, axes))
            return found.at(found.index.reshape(shape))
        repeats = 1
        for axis in axes:
            if view.shape[axis] > 1 and same_along(view.index, axis):
                repeats *= view.shape[axis]
                if operation in ("argmax", "argmin"):
                    continue
                view = view.at(view.index.take([0], axis=axis))
        axes = tuple(axis for axis in axes if view.shape[axis] > 1)
        if operation == "sum" and axes and self.of_sum is not None:
            total = self.of_sum(self, view, axes)
            if total is not None:
                return self._times(total, repeats)
        if operation == "prod" and repeats > 1:
            raise NotTraceable("a product over a broadcast axis")
        shape = tuple(1 if axis in axes else length for axis, length in enumerate(view.shape))
        if not axes and operation in ("argmax", "argmin"):
            return broadcast(self.constant(np.zeros((1,), dtype=np.int64), 1), shape)
        if axes:
            n = math.prod(view.shape[axis] for axis in axes)
            kind = INTEGER if operation in ("argmax", "argmin") else view.node.kind
            view = self._reduced(operation, view, axes, shape, kind, n)
        return self._times(view, repeats) if operation == "sum" else view

    def _times(self, view: View, repeats: int) -> View:
        if repeats == 1:
            return view
        number = float(repeats) if view.node.kind == FLOAT else repeats
        return self.elementwise("multiply", view, self.constant(np.array([number]), 1))

    def _reduced(
        self, operation: str, view: View, axes: tuple[int, ...], shape: tuple[int, ...], kind: str,
        n: int,
    ) -> View:
        interval = _of_reduction(operation, view.node.interval, n)
        # What is the same along an axis that stays is reduced once.
        for axis in range(len(shape)):
            if axis not in axes and view.shape[axis] > 1 and same_along(view.index, axis):
                view = view.at(view.index.take([0], axis=axis))
        # The axes that go come last: loops over them are the inner ones.
        kept = tuple(axis for axis in range(len(shape)) if axis not in axes)
        last = self.transposed(view, (*kept, *axes))
        staying = tuple(n for n in last.shape[: len(kept)] if n > 1)
        going = tuple(n for n in last.shape[len(kept):] if n > 1)
        last = last.at(last.index.reshape((*staying, *going)))
        node = self.add(operation, (last,), staying, kind, interval, len(staying))
        place = [1 if axis in axes else view.shape[axis] for axis in range(len(shape))]
        return broadcast(View(node, whole(node).index.reshape(place)), shape)

    def transposed(self, view: View, order: tuple[int, ...]) -> View:
        """Put axes into another order; a node that has no other use is computed in that order."""
        if order == tuple(range(len(order))):
            return view
        node = view.node
        if node.operation in NUMPY and view.is_whole():
            return self.elementwise(node.operation, *(
                self.transposed(argument, order) for argument in arguments_of(view)))
        return view.at(view.index.transpose(order))

    def cumulative_sum(self, view: View) -> View:
        """Add running sums along the last axis."""
        n = view.shape[-1]
        if n == 1:
            return view
        node = self.add("cumulative_sum", (view,), view.shape, view.node.kind,
                        _of_reduction("sum", _with_zero(view.node.interval), n))
        return whole(node)

    def search(self, uniform: View, weights: View) -> View:
        """Draw by uniforms [states, samples] from weights [states, n]: the places, as running sums tell.

        Of many weights those of a PIECE are summed first, so that a draw looks into one piece.
        """
        n = weights.shape[-1]
        weights = weights.at(weights.index.reshape([n for n in weights.shape if n > 1]))
        last = (len(weights.shape) - 1,)
        total, looked_up = self.reduce("sum", weights, last), [whole(weights.node)]
        if n > SHORT:
            pieces = whole(self.add(
                "pieces", (weights,), (*weights.shape[:-1], -(-n // PIECE)), FLOAT,
                Interval(0, math.inf, False)))
            total = self.reduce("sum", pieces, last)
            looked_up.append(pieces)
        level = self.elementwise("multiply", uniform, total.at(total.index.reshape(-1, 1)))
        shape = tuple(n for n in level.shape if n > 1)
        node = self.add("search", (level.at(level.index.reshape(shape)), *looked_up), shape, INTEGER,
                        Interval(0, n - 1, False))
        return broadcast(View(node, whole(node).index.reshape(level.shape)), level.shape)

    def rank(self, view: View) -> View:
        """Add the place of each element in the stable order along the last axis."""
        n = view.shape[-1]
        if n == 1:
            return broadcast(self.constant(np.zeros(1, dtype=np.int64), 1), view.shape)
        if n > MOST_SORTED:
            raise NotTraceable(f"an order of {n} numbers, which NumPy finds faster above {MOST_SORTED}")
        node = self.add("rank", (view,), view.shape, INTEGER, Interval(0, n - 1, False))
        return whole(node)

    def order(self, ranks: View) -> View:
        """Turn ranks along the last axis into the stable order: which element stands at each place."""
        n = ranks.shape[-1]
        places = self.constant(np.arange(n)[None, :, None], 1)
        numbers = self.constant(np.arange(n)[None, None, :], 1)
        stands = self.elementwise("equal", ranks.at(ranks.index[..., None, :]), places)
        found = self.reduce(
            "sum", self.elementwise("where", stands, numbers, self.constant(np.array([0]), 1)),
            (len(ranks.shape),))
        found = found.at(found.index[..., 0])
        found.node.interval = Interval(0, n - 1, False)
        self.ranks[found.node.number] = ranks
        return found

    def take(self, source: View, index: View, axis: int) -> View:
        """Take elements of ``source`` along an axis, as numpy's take_along_axis; other axes are equal."""
        n = source.shape[axis]
        if index.node.operation == "argmax" and _is_maximum_of(index, source, axis):
            return self.reduce("max", source, (axis,))
        if n == 1:
            return broadcast(source, index.shape)
        low, high = index.node.interval.low, index.node.interval.high
        if not (low >= 0 and high <= n - 1):
            raise NotTraceable("indices that are not known to lie within the array")
        if same_along(source.index, axis):
            return broadcast(source.at(source.index.take([0], axis=axis)), index.shape)
        if counts(source, axis):
            return index
        # Where each row of the source begins, and how far its elements lie apart.
        apart = np.diff(source.index, axis=axis)
        is_even = (apart == apart.flat[0]).all()
        places = source.index if is_even else np.arange(source.index.size).reshape(source.shape)
        first = np.broadcast_to(places.take([0], axis=axis), index.shape)
        step = int(np.diff(places, axis=axis).flat[0])
        begin = self.constant(first[None].astype(np.int64), 1)
        at = self.elementwise("add", begin, self.elementwise(
            "multiply", index, self.constant(np.array([step]), 1)))
        if not is_even:
            at = self.gathered(at, self._kept_constant(source.index.reshape(1, -1)))
        return self.gathered(at, source)

    def gathered(self, at: View, source: View) -> View:
        """Gather each run's elements of the node of ``source``, by their numbers."""
        node = source.node
        if node.operation == "constant" and math.prod(node.shape) == 1:
            return broadcast(whole(node), at.shape)
        apart = self._apart(at.shape)
        known = self.of_gather(self, at, node) if self.of_gather is not None else None
        if known is not None:
            return known
        found = whole(self.add(
            "gather", (at.at(at.index.reshape(apart)), whole(node)), apart, node.kind, node.interval))
        return found.at(found.index.reshape(at.shape))

    def sum_by_index(self, values: View, index: View, size: int) -> View:
        """Add the sums of values [n] over equal indices [n]: [size]."""
        if index.node.operation == "constant" and index.node.value is not None:
            if len(index.node.value) > 1:
                raise NotTraceable("runs whose rows belong to different states")
            slots = index.node.value[0].ravel()[index.index].ravel()
            counts = np.bincount(slots, minlength=size)
            if (counts == counts[0]).all() and counts[0] > 0 and len(counts) == size:
                # As many rows for each: no sum, or one along an axis.
                rows = np.argsort(slots, kind="stable").reshape(size, -1)
                total = self.reduce("sum", values.at(values.index.ravel()[rows]), (1,))
                return total.at(total.index[..., 0])
        low, high = index.node.interval.low, index.node.interval.high
        if not (low >= 0 and high <= size - 1):
            raise NotTraceable("indices that are not known to lie within the array")
        n = max(values.index.size, 1)
        apart = self._apart(values.shape)
        index, values = (view.at(view.index.reshape(apart)) for view in (index, values))
        node = self.add("scatter", (index, values), (size,), values.node.kind,
                        _of_reduction("sum", _with_zero(values.node.interval), n), size)
        return whole(node)

    def convert(self, view: View, kind: str) -> View:
        """Return the view with numbers of another kind."""
        return view if view.node.kind == kind else self.elementwise(f"to_{kind}", view)


def broadcast(view: View, shape: tuple[int, ...]) -> View:
    """Broadcast a view to a shape."""
    return view if view.shape == shape else view.at(np.broadcast_to(view.index, shape))


def kind_of(dtype: np.dtype) -> str:
    """Return the kind of numbers of a NumPy dtype."""
    if dtype == np.bool_:
        return BOOLEAN
    if np.issubdtype(dtype, np.integer):
        return INTEGER
    if np.issubdtype(dtype, np.floating):
        return FLOAT
    raise NotTraceable(f"an array of {dtype}")


def scalar(view: View) -> float | None:
    """Return the value of a constant that is one number; None for anything else."""
    value = view.node.value
    if view.node.operation != "constant" or value is None or value.size != 1:
        return None
    number: float = value.ravel()[0].item()
    return number


def same_along(index: np.ndarray, axis: int) -> bool:
    """Whether an array of indices is the same at every place of an axis."""
    if index.shape[axis] == 1 or index.strides[axis] == 0:
        return True
    return bool((index == index.take([0], axis=axis)).all())


def _cut(array: np.ndarray, axis: int) -> np.ndarray:
    """Cut to length 1 an axis along which an array is the same."""
    if array.shape[axis] <= 1:
        return array
    first = array.take([0], axis=axis)
    if array.strides[axis] == 0:
        return first
    same = array == first
    if array.dtype.kind == "f":
        same |= np.isnan(array) & np.isnan(first)
    return first if same.all() else array


def counts(view: View, axis: int) -> bool:
    """Whether its elements along an axis are 0, 1, 2 and so on."""
    value = view.node.value
    if value is None or len(value) > 1 or view.node.kind != INTEGER:
        return False
    places = np.arange(view.shape[axis]).reshape(
        [-1 if a == axis else 1 for a in range(len(view.shape))])
    return bool((value[0].ravel()[view.index] == places).all())


def _is_maximum_of(top: View, source: View, axis: int) -> bool:
    """Whether ``top`` is the place of the largest element of ``source`` along the axis."""
    (argument,) = top.node.arguments
    last = np.moveaxis(source.index, axis, -1)
    for other in range(last.ndim - 1):  # (what is the same along an axis was reduced once)
        if same_along(last, other):
            last = last.take([0], axis=other)
    mine = [n for n in argument.shape if n > 1]
    return (argument.node is source.node and mine == [n for n in last.shape if n > 1]
            and bool((argument.index.ravel() == last.ravel()).all())
            and top.node.parameter == len(argument.shape) - 1
            and _is_broadcast_whole(top))


def _is_broadcast_whole(view: View) -> bool:
    """Whether it is all of its node, in order, repeated along some axes or not."""
    index = view.index
    for axis in range(index.ndim):
        if same_along(index, axis):
            index = index.take([0], axis=axis)
    return index.size == math.prod(view.node.shape) and bool(
        (index.ravel() == np.arange(index.size)).all())


# ------------------------------------------------------------------------------------- intervals


def _of_values(array: np.ndarray) -> Interval:
    if array.dtype == np.bool_:
        array = array.astype(np.int64)
    nan = bool(np.isnan(array).any()) if array.dtype.kind == "f" else False
    if nan and np.isnan(array).all():
        return Interval()
    low, high = np.nanmin(array), np.nanmax(array)
    return Interval(low.item(), high.item(), nan)


def _with_zero(x: Interval) -> Interval:
    return Interval(min(x.low, 0), max(x.high, 0), x.nan)


def _of_reduction(operation: str, x: Interval, n: int) -> Interval:
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


_INTERVALS: dict[str, Any] = {
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


_CONDITIONS: dict[str, Any] = {
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


def _type_of(operation: str, views: Sequence[View]) -> tuple[str, Interval]:
    intervals = [view.node.interval for view in views]
    if operation in _CONDITIONS:
        return BOOLEAN, _CONDITIONS[operation](*intervals)
    kinds = [view.node.kind for view in views]
    kind = kinds[-1]
    if operation.startswith("to_"):
        kind = operation.removeprefix("to_")
    elif FLOAT in (kinds[1:] if operation == "where" else kinds):
        kind = FLOAT
    elif operation not in ("where",) and BOOLEAN in kinds:
        raise NotTraceable(f"{operation} of booleans")
    if operation in ("floor_divide", "remainder") and not (
            kind == INTEGER and intervals[1].low > 0):
        raise NotTraceable(f"{operation} of floating-point numbers, or by what may be 0 or less")
    if operation.endswith("_shift") and not 0 <= intervals[1].low <= intervals[1].high < 64:
        raise NotTraceable("a shift by a number of bits that is not known")
    function = _INTERVALS.get(operation)
    interval = function(*intervals) if function else Interval()
    if operation == "subtract" and is_below_its_maximum(*views):
        interval = Interval(interval.low, min(interval.high, 0), interval.nan)
    if kind == INTEGER and not (
        interval.low >= -(2**63) and interval.high < 2**63
    ):
        interval = Interval(-math.inf, math.inf, False)  # integers wrap
    return kind, interval


def is_below_its_maximum(x: View, y: View) -> bool:
    """Whether y is the maximum of x over some axes."""
    return (y.node.operation == "max" and y.node.arguments[0].node is x.node
            and y.node.arguments[0].is_whole() and x.is_whole()
            and y.shape == x.shape
            and _is_reduced_place(x, y))


def _is_reduced_place(x: View, y: View) -> bool:
    argument = y.node.arguments[0]
    place = np.arange(math.prod(y.node.shape)).reshape(
        [*y.node.shape, *(1,) * (len(argument.shape) - len(y.node.shape))])
    expected = np.broadcast_to(place, argument.shape).ravel()
    return bool((expected[x.index.ravel()] == y.index.ravel()).all())


# --------------------------------------------------------------------------------- simplification


def _simplified(graph: Graph, operation: str, views: list[View]) -> View | None:
    """Return a view that is the result already, or None."""
    if all(view.node.operation == "constant" for view in views):
        return _folded(graph, operation, views)
    numbers = [scalar(view) for view in views]
    if operation in ("add", "subtract", "multiply", "divide", "floor_divide"):
        return _arithmetic(graph, operation, views, numbers)
    if operation in ("logical_and", "logical_or"):
        for this, other in ((0, 1), (1, 0)):
            if numbers[this] is not None:
                absorbs = bool(numbers[this]) == (operation == "logical_or")
                return views[this] if absorbs else views[other]
        return views[0] if _same(*views) else None
    if operation == "exp":
        return _exponential(graph, *views)
    if operation in ("logical_not", "negative") and views[0].node.operation == operation:
        return arguments_of(views[0])[0]
    if operation == "where":
        if numbers[0] is not None:
            return views[1] if numbers[0] else views[2]
        return views[1] if _same(views[1], views[2]) else None
    if operation in ("equal", "less_equal") and _same(*views) and not views[0].node.interval.nan:
        return graph.constant(np.array([True]), 1)
    if operation in ("less", "not_equal") and _same(*views) and not views[0].node.interval.nan:
        return graph.constant(np.array([False]), 1)
    if operation in ("minimum", "maximum") and not any(v.node.interval.nan for v in views):
        x, y = (view.node.interval for view in views)
        for first, second, one in ((x, y, 0), (y, x, 1)):
            if first.high <= second.low:
                return views[one if operation == "minimum" else 1 - one]
    return views[0] if operation in ("minimum", "maximum") and _same(*views) else None


def arguments_of(view: View) -> list[View]:
    """Return the arguments of an elementwise operation, indexed as its result is."""
    return [x.at(x.index.ravel()[view.index]) for x in view.node.arguments]


def _exponential(graph: Graph, view: View) -> View | None:
    """Return exp of log-probabilities from exponentials and normalizer, if the graph has these."""
    operation = view.node.operation
    if operation == "log1p":
        (x,) = arguments_of(view)
        return graph.elementwise("add", x, graph.constant(np.array([1.0]), 1))
    if operation == "subtract":
        x, log_normalizer = arguments_of(view)
        if x.node.interval.high <= 0 and log_normalizer.node.operation == "log1p" and (
                log_normalizer.node.interval.low >= 0 and same_along(log_normalizer.index, -1)):
            total = graph.elementwise("exp", log_normalizer)
            one = graph.constant(np.array([1.0]), 1)
            return graph.elementwise(
                "multiply", graph.elementwise("exp", x), graph.elementwise("divide", one, total))
    return None


def _arithmetic(
    graph: Graph, operation: str, views: list[View], numbers: list[float | None]
) -> View | None:
    x, y = views
    finite = [view.node.interval.is_finite or view.node.kind == INTEGER for view in views]
    zero = graph.constant(np.array([0.0 if FLOAT in (x.node.kind, y.node.kind) else 0]), 1)
    alike = x.node.kind == y.node.kind
    if operation == "subtract" and _same(x, y) and finite[0]:
        return zero
    if operation in ("add", "subtract") and numbers[1] == 0 and alike:
        return x
    if operation == "add" and numbers[0] == 0 and alike:
        return y
    if operation == "subtract" and numbers[0] == 0 and alike:
        return graph.elementwise("negative", y)
    if operation == "floor_divide" and numbers[1] == 1 and x.node.kind == INTEGER:
        return x
    if operation in ("multiply", "divide") and numbers[1] == 1 and alike and x.node.kind == FLOAT:
        return x
    if operation == "multiply":
        for this, other in ((0, 1), (1, 0)):
            if _is_part_above_zero(views[this], views[other]):  # (0 times what is finite)
                return graph.elementwise("multiply", arguments_of(views[this])[1], views[other])
            if numbers[this] == 1 and alike:
                return views[other]
            if numbers[this] == -1 and alike:
                return graph.elementwise("negative", views[other])
            if numbers[this] == 0 and finite[other]:
                return zero
    if operation == "divide" and graph.of_sum is not None and x.node.kind == FLOAT and (
            numbers[0] is None and x.shape and x.shape[-1] > MANY and same_along(y.index, -1)):
        return graph.elementwise("multiply", x, graph.elementwise(
            "divide", graph.constant(np.array([1.0]), 1), y))
    if operation == "divide" and numbers[0] == 0 and finite[1] and (
            y.node.interval.low > 0 or y.node.interval.high < 0):
        return zero
    return None


def _is_part_above_zero(x: View, y: View) -> bool:
    """Whether x is what is finite where y is above 0, and 0 elsewhere, for y of at least 0."""
    if x.node.operation != "where" or y.node.interval.low < 0 or y.node.interval.nan:
        return False
    condition, chosen, other = arguments_of(x)
    if condition.node.operation != "less" or scalar(other) != 0 or not chosen.node.interval.is_finite:
        return False
    zero, number = arguments_of(condition)
    return scalar(zero) == 0 and _same(number, y)


def _same(x: View, y: View) -> bool:
    return x.node is y.node and x.shape == y.shape and bool((x.index == y.index).all())


def _folded(graph: Graph, operation: str, views: list[View]) -> View:
    values = []
    for view in views:
        value: Any = view.node.value
        values.append(value.reshape(len(value), -1)[:, view.index.ravel()])
    with np.errstate(all="ignore"):
        result = NUMPY[operation](*values)
    return graph.constant(result.reshape(len(result), *views[0].shape), max(map(len, values)))


NUMPY: dict[str, Any] = {
    name: getattr(np, name) for name in (
        "add", "subtract", "multiply", "divide", "negative", "absolute", "exp", "log", "log1p", "expm1",
        "log2", "log10", "exp2", "sqrt", "square", "sign", "minimum", "maximum", "where", "less",
        "less_equal", "equal", "not_equal", "isfinite", "isnan", "isinf", "floor", "ceil", "trunc",
        "rint", "power", "logical_and", "logical_or", "logical_xor", "logical_not", "bitwise_and",
        "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "tanh", "sin", "cos",
        "floor_divide", "remainder",
    )
} | {
    "to_float": lambda x: x.astype(np.float64),
    "to_integer": lambda x: x.astype(np.int64),
    "to_boolean": lambda x: x.astype(np.bool_),
    "single": lambda x: x.astype(np.float32).astype(np.float64),
}
