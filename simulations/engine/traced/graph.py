"""The graph that a trace leaves: operations on the columns of one run, in an order to compute them in.

A node computes an array of numbers of one run; all runs do the same. `elementwise` has the operations
element by element; here are those that sum, order and move elements.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from simulations.engine.traced.elementwise import ElementwiseGraph
from simulations.engine.traced.intervals import Interval, of_reduction, with_zero
from simulations.engine.traced.views import (
    FLOAT,
    INTEGER,
    NUMPY,
    PIECE,
    SHORT,
    NotTraceable,
    View,
    arguments_of,
    broadcast,
    counts,
    is_broadcast_whole,
    same_along,
    whole,
)

MOST_SORTED = 1024
"""The largest number of numbers that are sorted by comparing each pair."""


@dataclass(slots=True)
class Graph(ElementwiseGraph):
    """A graph with operations that sum, order and move elements."""

    ranks: dict[int, View] = field(default_factory=dict)
    """The ranks by which an ordering sorts, by the ordering's number."""
    of_gather: Callable[..., View | None] | None = None
    """The function that computes gathered elements (`sums.of_gather`), where states are long."""

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
        interval = of_reduction(operation, view.node.interval, n)
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
                        of_reduction("sum", with_zero(view.node.interval), n))
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
                        of_reduction("sum", with_zero(values.node.interval), n), size)
        return whole(node)


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
            and is_broadcast_whole(top))
