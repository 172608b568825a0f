"""Elementwise operations in a graph of the columns of one run, simplified as they are added.

A value that is the same at every index along an axis is computed once. Each node has an interval that
holds its values, so that conditions which always hold can be dropped: log-probabilities are finite and at
most 0, ranks count from 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simulations.engine.traced.intervals import CONDITIONS, INTERVALS, Interval, of_values
from simulations.engine.traced.views import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    MANY,
    NUMPY,
    Node,
    NotTraceable,
    View,
    arguments_of,
    broadcast,
    cut,
    is_below_its_maximum,
    is_broadcast_whole,
    kind_of,
    same,
    same_along,
    scalar,
    whole,
)

_LARGEST = float(np.finfo(np.float64).max)


@dataclass(slots=True)
class ElementwiseGraph:
    """Nodes in the order in which they can be computed, and conditions under which the trace holds."""

    nodes: list[Node] = field(default_factory=list)
    guards: list[tuple[View, bool]] = field(default_factory=list)
    """Scalars, each with the value on which the trace relies."""
    rows: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Lengths of axes that run over states and over each state's rows, with these two lengths. Such an
    axis is two in a node, so that numbers of a state are computed once and states share a loop."""
    of_sum: Callable[..., View | None] | None = None
    """The addends of each sum over a long state (`sums.of_sum`)."""
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
            array = cut(array, axis)
        if array.shape[0] not in (1, n_runs):
            raise NotTraceable(f"a constant has {array.shape[0]} rows for {n_runs} runs")
        return broadcast(self._kept_constant(array), shape)

    def _kept_constant(self, array: np.ndarray) -> View:
        """Add a constant [n_runs or 1, ...] with all of its axes."""
        kind = kind_of(array.dtype)
        key = ("constant", array.shape, kind, array.tobytes())
        if key not in self._known:
            self._known[key] = self._append(
                Node("constant", (), array.shape[1:], kind, of_values(array),
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
        while inner.node.operation == "all" and is_broadcast_whole(inner):
            inner = inner.node.arguments[0]
        checked = inner.node.operation == "isfinite" and is_broadcast_whole(inner)
        if expected and checked and is_broadcast_whole(inner.node.arguments[0]):
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

    def convert(self, view: View, kind: str) -> View:
        """Return the view with numbers of another kind."""
        return view if view.node.kind == kind else self.elementwise(f"to_{kind}", view)


def _type_of(operation: str, views: Sequence[View]) -> tuple[str, Interval]:
    intervals = [view.node.interval for view in views]
    if operation in CONDITIONS:
        return BOOLEAN, CONDITIONS[operation](*intervals)
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
    function = INTERVALS.get(operation)
    interval = function(*intervals) if function else Interval()
    if operation == "subtract" and is_below_its_maximum(*views):
        interval = Interval(interval.low, min(interval.high, 0), interval.nan)
    if kind == INTEGER and not (
        interval.low >= -(2**63) and interval.high < 2**63
    ):
        interval = Interval(-math.inf, math.inf, False)  # integers wrap
    return kind, interval


def _simplified(graph: ElementwiseGraph, operation: str, views: list[View]) -> View | None:
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
        return views[0] if same(*views) else None
    if operation == "exp":
        return _exponential(graph, *views)
    if operation in ("logical_not", "negative") and views[0].node.operation == operation:
        return arguments_of(views[0])[0]
    if operation == "where":
        if numbers[0] is not None:
            return views[1] if numbers[0] else views[2]
        return views[1] if same(views[1], views[2]) else None
    if operation in ("equal", "less_equal") and same(*views) and not views[0].node.interval.nan:
        return graph.constant(np.array([True]), 1)
    if operation in ("less", "not_equal") and same(*views) and not views[0].node.interval.nan:
        return graph.constant(np.array([False]), 1)
    if operation in ("minimum", "maximum") and not any(v.node.interval.nan for v in views):
        x, y = (view.node.interval for view in views)
        for first, second, one in ((x, y, 0), (y, x, 1)):
            if first.high <= second.low:
                return views[one if operation == "minimum" else 1 - one]
    return views[0] if operation in ("minimum", "maximum") and same(*views) else None


def _exponential(graph: ElementwiseGraph, view: View) -> View | None:
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
    graph: ElementwiseGraph, operation: str, views: list[View], numbers: list[float | None]
) -> View | None:
    x, y = views
    finite = [view.node.interval.is_finite or view.node.kind == INTEGER for view in views]
    zero = graph.constant(np.array([0.0 if FLOAT in (x.node.kind, y.node.kind) else 0]), 1)
    alike = x.node.kind == y.node.kind
    if operation == "subtract" and same(x, y) and finite[0]:
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
    return scalar(zero) == 0 and same(number, y)


def _folded(graph: ElementwiseGraph, operation: str, views: list[View]) -> View:
    values = []
    for view in views:
        value: Any = view.node.value
        values.append(value.reshape(len(value), -1)[:, view.index.ravel()])
    with np.errstate(all="ignore"):
        result = NUMPY[operation](*values)
    return graph.constant(result.reshape(len(result), *views[0].shape), max(map(len, values)))
