"""Sums over the actions of long states, written so that one pass over a state finds all of them.

Numbers of a state are taken out of its sums: a probability is an exponential over a total that is known
only after the pass. The top that a normalizer leaves out is found by its shifted logit, 0, not by its
place, which no vector finds. Values that are read at the few actions drawn are computed there alone.
"""

from __future__ import annotations

from functools import reduce

import numpy as np

from simulations.engine.traced.graph import Graph
from simulations.engine.traced.intervals import Interval
from simulations.engine.traced.views import (
    MANY,
    NUMPY,
    Node,
    View,
    arguments_of,
    broadcast,
    counts,
    is_below_its_maximum,
    same_along,
    scalar,
    whole,
)


def of_sum(graph: Graph, view: View, axes: tuple[int, ...]) -> View | None:
    """Return the sum of a view over axes, which stay with length 1, from smaller sums; None as it is."""
    shape = tuple(1 if axis in axes else n for axis, n in enumerate(view.shape))
    if view.node.operation == "where" and view.is_whole() and axes == (len(view.shape) - 1,):
        found = _without_top(graph, view.node)
        return None if found is None else found.at(found.index.reshape(shape))
    if view.node.operation == "scatter" and view.is_whole() and int(np.prod(shape)) == 1:
        values = view.node.arguments[1]
        total = graph.reduce("sum", values, tuple(range(len(values.shape))))
        return total.at(total.index.reshape(shape))
    return _of_factors(graph, view, axes)


def _of_factors(graph: Graph, view: View, axes: tuple[int, ...]) -> View | None:
    """Take factors out that are the same at all that is summed."""
    inside: list[tuple[View, bool]] = []
    outside: list[tuple[View, bool]] = []
    for factor, divides in _factors(view):
        is_same = all(same_along(factor.index, axis) for axis in axes)
        (outside if is_same else inside).append((factor, divides))
    finite = all(factor.node.interval.is_finite for factor, _ in inside) and all(
        divides or factor.node.interval.is_finite for factor, divides in outside)
    if not (inside and outside and finite) or any(divides for _, divides in inside):
        return None
    product = reduce(lambda x, y: graph.elementwise("multiply", x, y), [x for x, _ in inside])
    total = graph.reduce("sum", broadcast(product, view.shape), axes)
    for factor, divides in outside:
        for axis in axes:
            factor = factor.at(factor.index.take([0], axis=axis))
        total = graph.elementwise("divide" if divides else "multiply", total, factor)
    return total


def _factors(view: View) -> list[tuple[View, bool]]:
    """Return what a product is made of, each with whether it divides."""
    if view.node.operation not in ("multiply", "divide"):
        return [(view, False)]
    first, second = arguments_of(view)
    if view.node.operation == "divide":
        return [*_factors(first), (second, True)]
    return [*_factors(first), *_factors(second)]


def _without_top(graph: Graph, node: Node) -> View | None:
    """Return the sum of exponentials without the first largest one, as `policy.shift_logits` takes it."""
    condition, zero, exponentials = node.arguments
    if scalar(zero) != 0 or exponentials.node.operation != "exp" or condition.node.operation != "equal":
        return None
    tops = [x for x in condition.node.arguments if x.node.operation == "argmax"]
    places = [x for x in condition.node.arguments if counts(x, len(x.shape) - 1)]
    (shifted,) = exponentials.node.arguments
    while shifted.node.operation in ("divide", "multiply") and shifted.is_whole():  # (by a temperature)
        shifted, divisor = shifted.node.arguments
        if not same_along(divisor.index, -1):
            return None
    if not (tops and places and shifted.node.operation == "subtract" and exponentials.is_whole()):
        return None
    logits, top = shifted.node.arguments
    if not is_below_its_maximum(logits, top) or tops[0].node.arguments[0].node is not logits.node:
        return None
    is_top = graph.elementwise("equal", whole(shifted.node), graph.constant(np.array([0.0]), 1))
    axis = (len(node.shape) - 1,)
    others = graph.reduce("sum", graph.elementwise("where", is_top, zero, whole(exponentials.node)), axis)
    number = graph.reduce("sum", graph.elementwise("to_float", is_top), axis)
    rest = graph.elementwise("add", others, graph.elementwise(
        "subtract", number, graph.constant(np.array([1.0]), 1)))
    rest.node.interval = Interval(0, rest.node.interval.high, False)
    return rest


def of_gather(graph: Graph, at: View, node: Node) -> View | None:
    """Compute an element-wise node at the places ``at`` alone; None where it is stored anyway."""
    size = int(np.prod(node.shape))
    if node.operation not in NUMPY or size <= MANY:
        return None
    arguments = []
    for view in node.arguments:
        index = view.index.ravel()
        if (index == index[0]).all():
            arguments.append(broadcast(view.at(index[0].reshape(())), at.shape))
        elif (index == np.arange(size)).all():
            arguments.append(graph.gathered(at, whole(view.node)))
        elif (index == np.arange(size) // node.shape[-1]).all():
            length = graph.constant(np.array([node.shape[-1]]), 1)
            arguments.append(graph.gathered(
                graph.elementwise("floor_divide", at, length), whole(view.node)))
        else:
            return None
    return graph.elementwise(node.operation, *arguments)
