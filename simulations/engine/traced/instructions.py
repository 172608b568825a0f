"""Reads, writes and loops of a step's program, as LLVM instructions."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir

from simulations.engine.traced.plan import Plan, Step, is_result, space_of
from simulations.engine.traced.vectors import DOUBLE, Vectors
from simulations.engine.traced.vectors import INTEGER as WORD
from simulations.engine.traced.views import BOOLEAN, FLOAT, INTEGER, PIECE, Node, View

NAME = "advance"
NARROW = ir.FloatType()
PIECEWISE = -1
"""The depth at which a loop over the pieces of the last axis is noted."""
_SIMPLE = (0.0, 1.0, -1.0, 2.0, 0.5)


class Instructions(Plan):
    """Writes the contents of a step's loops.

    ``now`` and ``group`` are the numbers of the step and of the group of runs that is being written. The
    group's logits, memory and constants begin at the other three.
    """

    now: Any
    group: Any
    group_logits: Any
    group_memory: Any
    group_by_run: Any

    def __init__(self, step: Step, lanes: int) -> None:
        super().__init__(step, lanes)
        self.module = ir.Module(name="step")
        pointer, word = DOUBLE.as_pointer(), WORD
        # logits, memory, shared, by_run, targets, measured, stops, work;
        # first group, last group, steps, first step, n_targets, n_groups, is measured, is observed
        kinds = [pointer] * 6 + [word.as_pointer(), pointer] + [word] * 8
        self.function = ir.Function(self.module, ir.FunctionType(ir.VoidType(), kinds), NAME)
        for argument in self.function.args[:8]:
            argument.add_attribute("noalias")
        (self.logits, self.memory, self.shared, self.by_run, self.targets, self.measured, self.stops,
         self.work, self.first_group, self.last_group, self.steps, self.step_0, self.n_targets,
         self.n_groups, self.is_measured, self.is_observed) = self.function.args
        self.entry = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.builder = ir.IRBuilder(self.function.append_basic_block("start"))
        self.wide = self.vectors = Vectors(self.builder, self.module, lanes)
        self.narrow = Vectors(self.builder, self.module, 1, narrow=True) if (
            step.narrow and lanes == 1) else None
        self.shared_values: list[np.ndarray] = []
        self.n_shared = 0
        self.by_run_values: list[np.ndarray] = []
        self.n_by_run = 0
        self.tables: dict[Any, int] = {}
        self.values: dict[int, Any] = {}
        self.new_logits: Any = None
        """The new logit at a place of the last loop, which is what the first one reads there."""
        self.cleared: list[tuple[Node, View, tuple[int, ...]]] = []
        """Sums by index that are 0 but at these places, which are cleared after each step."""
        self.results: dict[int, Any] = {}
        """The variables that hold reductions once their loop is over."""
        self.state: Any = None
        self._here: dict[int, Any] | None = None
        """Elements of the nodes of the loop that is being written."""

    @abstractmethod
    def _compute(self, node: Node, at: list[Any], space: tuple[int, ...]) -> Any:
        """Write one element of a node."""

    def _read(self, view: View, at: list[Any] | None, space: tuple[int, ...] = ()) -> Any:
        """Read the element of a view at a place of a loop."""
        node = view.node
        if node.number in self.values:
            value = self.values[node.number]
            return self.vectors.fitted(value) if node.kind == FLOAT else value
        if node.operation == "input" and node.parameter.startswith("logits") and (
                self.new_logits is not None):
            return self.new_logits
        here = self._here
        if at is not None and here and node.number in here and view.is_whole():
            return here[node.number]
        if node.number in self.inlined and at is not None and here is not None:
            here[node.number] = value = self._compute(node, at, space)
            return value
        if node.operation == "input" and node.parameter in ("step", "first", "target"):
            return self._own_input(node)
        if node.operation == "constant" and node.value is not None:
            simple = self._simple(node)
            if simple is None and self.lanes == 1 and at:
                simple = self._one_of_two(view, at, space)
            if simple is not None:
                return simple
        place = self._index(view, at or [], space)
        if node.operation == "constant" and node.value is not None and len(node.value) == 1:
            number = self.builder.load(
                self.builder.gep(self.shared, [self.builder.add(WORD(self._table(node)), place)]))
            return self._decoded(self.vectors.splat(number), node.kind)
        return self._load(self._element(self._base(node), place), node.kind)

    def _simple(self, node: Node) -> Any:
        """Return a constant that belongs to the code; others may change without compiling again."""
        value: Any = node.value
        if value.size != 1:
            return None
        number = value.ravel()[0].item()
        if node.kind == BOOLEAN or number in _SIMPLE or (
                node.kind == FLOAT and not math.isfinite(number)):
            return self.vectors.constant(number, node.kind)
        return None

    def _one_of_two(self, view: View, at: list[Any], space: tuple[int, ...]) -> Any:
        """Write a constant that is one number up to some action and another one after it."""
        ends = _two_numbers(view, space)
        if ends is None:
            return None
        bit, written = self._is_first(view, at, space, ends), []
        if view.node.kind == BOOLEAN:
            return bit if ends[0] else self.builder.not_(bit)
        for number in ends:
            if number in _SIMPLE:
                written.append(self.vectors.constant(number, view.node.kind))
            else:
                place = self._kept(("number", view.node.kind, number), np.array([number]))
                loaded = self.builder.load(self.builder.gep(self.shared, [WORD(place)]))
                written.append(self._decoded(loaded, view.node.kind))
        return self.builder.select(bit, *written)

    def _is_first(self, view: View, at: list[Any], space: tuple[int, ...], ends: Any) -> Any:
        """Write whether an action has the first of these two numbers; None if the constant has others."""
        found = _two_numbers(view, space)
        if found is None or set(found) != set(ends):
            return None
        value: Any = view.node.value
        row = value[0].ravel()[view.index.reshape(-1, space[-1])[0]]
        stop = self._kept(("stop", int((row == row[0]).sum())), np.array([(row == row[0]).sum()]))
        b = self.builder
        last = b.bitcast(b.load(b.gep(self.shared, [WORD(stop)])), WORD)
        place = at[-1]
        if self.vectors is self.narrow:  # (Integers as wide as these floats: as many to a vector.)
            place, last = (b.trunc(x, ir.IntType(32)) for x in (place, last))
        return b.icmp_signed("<" if found == tuple(ends) else ">=", place, last)

    def _kept(self, key: Any, values: np.ndarray) -> int:
        """Return the place of values among the constants that all runs share."""
        if key not in self.tables:
            self.tables[key] = self.n_shared
            self.shared_values.append(encoded(values))
            self.n_shared += values.size
        return self.tables[key]

    def _own_input(self, node: Node) -> Any:
        b, name = self.builder, node.parameter
        if name == "step":
            return self.vectors.splat(b.add(self.step_0, self.now))
        if name == "first":
            return self.vectors.splat(b.and_(
                b.icmp_signed("==", self.now, WORD(0)),
                b.icmp_signed("!=", self.is_observed, WORD(0))))
        row = b.srem(self.now, self.n_targets)
        at = b.mul(b.add(b.mul(row, self.n_groups), self.group), WORD(self.lanes))
        return self._load(self._offset(self.targets, at), FLOAT)

    def _base(self, node: Node) -> Any:
        """Return the address at which the elements of a node begin."""
        if node.operation == "input":
            if node.parameter.startswith("logits"):
                return self.group_logits  # (of single precision where the step is)
            number = int(node.parameter.split(".")[1])
            return self._offset(self.group_memory, WORD(number * self.lanes))
        if node.operation == "constant":
            return self._offset(self.group_by_run, WORD(self._table(node) * self.lanes))
        place: Any = WORD(self.slots[node.number])
        if node.number in self.of_state:
            earlier = self.builder.mul(self.state, WORD(self.of_state[node.number]))
            place = self.builder.sub(place, earlier)
        base = self._offset(self.work, self.builder.mul(place, WORD(self.lanes)))
        return self.builder.bitcast(base, NARROW.as_pointer()) if self._is_narrow(node) else base

    def _is_narrow(self, node: Node) -> bool:
        """Whether the elements of a node are kept in single precision."""
        return (self.narrow is not None and node.kind == FLOAT and not is_result(node)
                and node.operation not in ("constant", "input") and self._is_long(space_of(node)))

    def _table(self, node: Node) -> int:
        """Return the place of a constant among those that are passed."""
        key = ("constant", node.number)
        if key not in self.tables:
            value: Any = node.value
            flat = encoded(value).reshape(len(value), -1)
            self.tables[key] = self.n_shared if len(value) == 1 else self.n_by_run
            if len(value) == 1:
                self.shared_values.append(flat[0])
                self.n_shared += flat.shape[1]
            else:
                self.by_run_values.append(flat)
                self.n_by_run += flat.shape[1]
        return self.tables[key]

    def _index(self, view: View, at: list[Any], space: tuple[int, ...]) -> Any:
        """Return the number of the node's element that a view has at a place of a loop."""
        index = view.index.reshape(space)
        b, start = self.builder, int(index.flat[0])
        if index.size == 1:
            return WORD(start)
        steps = [int(index.take(1, axis=axis).flat[0]) - start for axis in range(index.ndim)]
        affine = start + sum(
            (step * np.arange(n).reshape([-1 if a == axis else 1 for a in range(index.ndim)])
             for axis, (step, n) in enumerate(zip(steps, space, strict=True))), np.array(0))
        if (affine == index).all():
            total: Any = WORD(start)
            for step, place in zip(steps, at, strict=True):
                if step:
                    total = b.add(total, b.mul(place, WORD(step)))
            return total
        table = self._kept(("index", index.tobytes()), index.ravel())
        number = b.load(b.gep(self.shared, [b.add(WORD(table), self._linear(at, space))]))
        return b.bitcast(number, WORD)

    def _linear(self, at: Sequence[Any], space: Sequence[int]) -> Any:
        total: Any = WORD(0)
        for place, n in zip(at, space, strict=True):
            total = self.builder.add(self.builder.mul(total, WORD(n)), place)
        return total

    def _slot(self, node: Node, place: Any) -> Any:
        return self._element(self._base(node), place)

    def _element(self, base: Any, place: Any) -> Any:
        """Return the address of an element; those of single precision lie side by side too."""
        return self._offset(base, place if self.lanes == 1 else self.builder.mul(place, WORD(self.lanes)))

    def _offset(self, base: Any, number: Any) -> Any:
        return self.builder.gep(base, [number], inbounds=True)

    def _load(self, pointer: Any, kind: str) -> Any:
        b = self.builder
        if pointer.type.pointee == NARROW:
            return self.vectors.fitted(b.load(pointer))
        loaded = b.load(b.bitcast(pointer, self.wide.floats.as_pointer()))
        loaded.align = 8
        return self._decoded(loaded, kind)

    def _decoded(self, value: Any, kind: str) -> Any:
        if kind == FLOAT:
            return self.vectors.fitted(value)
        words = self.builder.bitcast(value, self._type(INTEGER))
        if kind == INTEGER:
            return words
        return self.builder.icmp_signed("!=", words, self.vectors.constant(0, INTEGER))

    def _store(self, pointer: Any, value: Any, kind: str) -> None:
        b = self.builder
        if pointer.type.pointee == NARROW:
            assert self.narrow is not None
            b.store(self.narrow.fitted(value), pointer)
            return
        if kind == BOOLEAN:
            value = b.sext(value, self._type(INTEGER))
        value = self.wide.fitted(value) if kind == FLOAT else b.bitcast(value, self.wide.floats)
        stored = b.store(value, b.bitcast(pointer, self.wide.floats.as_pointer()))
        stored.align = 8

    def _type(self, kind: str) -> Any:
        return self.vectors.of(kind)

    def _variable(self, kind: Any) -> Any:
        return self.entry.alloca(kind)

    def _vectors_of(self, space: Sequence[int]) -> Vectors:
        """Return what writes the numbers of a loop: of single precision if it is over many of them."""
        return self.wide if self.narrow is None or not self._is_long(space) else self.narrow

    def _nest(
        self, space: Sequence[int], body: Callable[[list[Any]], Any],
        starts: dict[int, list[Any]] | None = None, ends: dict[int, list[Any]] | None = None,
        outer: Sequence[Any] = (),
    ) -> None:
        """Write loops over all places of a shape, with what is done before and after inner ones.

        ``outer``: the places in loops that are written already.
        """
        def inner(depth: int, at: list[Any]) -> None:
            for begin in (starts or {}).get(depth, []):
                begin(at)
            if depth == len(space):
                body(at)
            elif depth == len(space) - 1 and PIECEWISE in (starts or {}):
                self._by_pieces(space[depth], at, body, starts or {}, ends or {})
            else:
                self._for(WORD(0), space[depth], lambda place: inner(depth + 1, [*at, place]))
            for end in (ends or {}).get(depth, []):
                end(at)

        inner(len(outer), list(outer))

    def _by_pieces(
        self, n: int, at: list[Any], body: Callable[[list[Any]], Any], starts: Any, ends: Any
    ) -> None:
        b = self.builder

        def one(piece: Any) -> None:
            begin = b.mul(piece, WORD(PIECE))
            end = b.add(begin, WORD(PIECE))
            end = b.select(b.icmp_signed("<", end, WORD(n)), end, WORD(n))
            for start in starts[PIECEWISE]:
                start([*at, piece])
            self._for(begin, end, lambda place: body([*at, place]))
            for done in ends[PIECEWISE]:
                done([*at, piece])

        self._for(WORD(0), -(-n // PIECE), one)

    def _for(self, begin: Any, end: Any, body: Callable[[Any], None]) -> None:
        b = self.builder
        place, stop = self._variable(WORD), WORD(end) if isinstance(end, int) else end
        b.store(begin, place)
        head, todo, after = (self.function.append_basic_block(n) for n in ("l", "b", "a"))
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(b.icmp_signed("<", b.load(place), stop), todo, after)
        b.position_at_end(todo)
        here = b.load(place)
        body(here)
        b.store(b.add(here, WORD(1)), place)
        b.branch(head)
        b.position_at_end(after)


def encoded(value: np.ndarray) -> np.ndarray:
    """Encode numbers of any kind in the bits of floats; true is -1."""
    if value.dtype == np.float64:
        return value
    if value.dtype == np.bool_:
        value = -value.astype(np.int64)
    return np.ascontiguousarray(value).astype(np.int64).view(np.float64)


def _two_numbers(view: View, space: tuple[int, ...]) -> tuple[Any, Any] | None:
    """Return the numbers of a constant that is one up to some action and another after it, or None."""
    value: Any = view.node.value
    if len(value) > 1 or not space or space[-1] <= 1:
        return None
    rows = value[0].ravel()[view.index.reshape(-1, space[-1])]
    if (rows[0, 1:] != rows[0, :-1]).sum() != 1 or not (rows == rows[0]).all():
        return None
    return rows[0, 0].item(), rows[0, -1].item()
