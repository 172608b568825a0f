"""Nodes, which compute the numbers of one run, and views of their elements.

A node is reached through a `View`, an array of indices into its elements, so that reshaping, broadcasting
and slicing cost nothing: they act on the indices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from simulations.engine.traced.intervals import Interval

PIECE = 256
"""The number of actions that are summed in one go: a draw searches one, and float32 sums are short."""
MANY = 64
"""The number of elements above which an axis is over actions, of vectors along them."""
SHORT = 2 * PIECE
"""The largest number of actions that are summed at once."""
FLOAT, INTEGER, BOOLEAN = "float", "integer", "boolean"
REDUCTIONS = ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all")


class NotTraceable(Exception):  # noqa: N818 (a reason, not an error of the rule's)
    """Raised, with the reason, where a rule does something that cannot be compiled."""


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
    """The value of a constant, ``[runs or 1, *shape]``; None for any other node."""
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


def cut(array: np.ndarray, axis: int) -> np.ndarray:
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


def is_broadcast_whole(view: View) -> bool:
    """Whether it is all of its node, in order, repeated along some axes or not."""
    index = view.index
    for axis in range(index.ndim):
        if same_along(index, axis):
            index = index.take([0], axis=axis)
    return index.size == math.prod(view.node.shape) and bool(
        (index.ravel() == np.arange(index.size)).all())


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


def arguments_of(view: View) -> list[View]:
    """Return the arguments of an elementwise operation, indexed as its result is."""
    return [x.at(x.index.ravel()[view.index]) for x in view.node.arguments]


def same(x: View, y: View) -> bool:
    """Whether two views are of the same elements."""
    return x.node is y.node and x.shape == y.shape and bool((x.index == y.index).all())


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
