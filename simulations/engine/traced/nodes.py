"""Writes the nodes of a graph: an element at a place of a loop, and sums, orders and draws over it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from simulations.engine.traced.instructions import PIECEWISE, Instructions
from simulations.engine.traced.plan import is_result, length
from simulations.engine.traced.vectors import DOUBLE
from simulations.engine.traced.vectors import INTEGER as WORD
from simulations.engine.traced.views import BOOLEAN, FLOAT, INTEGER, PIECE, Node, NotTraceable

_ANY_ORDER, _ORDERED = ("reassoc", "contract", "nsz"), ("nnan", "nsz")
"""Assumptions on sums and maxima of numbers with which LLVM can take them as vectors."""


class Nodes(Instructions):
    """Writes what each node computes."""

    def _clear_sums(self, node: Node) -> None:
        base = self._offset(self.work, WORD(self.slots[node.number] * self.lanes))
        self._clear(base, node.shape[0], self.vectors.constant(0, node.kind), node.kind)

    def _clear(self, base: Any, n: int, zero: Any, kind: str) -> None:
        self._nest((n,), lambda at: self._store(self._element(base, at[0]), zero, kind))

    def _set(self, variable: Any, value: Any) -> Callable[[list[Any]], None]:
        return lambda at: self.builder.store(value, variable)

    def _rank(self, node: Node) -> None:
        """Each pair is compared once: of two, the later one goes behind unless it is smaller."""
        b, v = self.builder, self.vectors
        (view,) = node.arguments
        n, shape = view.shape[-1], length(view.shape)
        base = self._base(node)
        one, zero = (v.constant(k, INTEGER) for k in (1, 0))
        self._clear(base, math.prod(shape), zero, INTEGER)

        def compare(at: list[Any]) -> None:
            *outer, i = at
            mine = self._read(view, at, shape)
            place = self._element(base, self._linear(at, shape))
            before = self._variable(v.integers)
            b.store(self._load(place, INTEGER), before)

            def with_later(j: Any) -> None:
                other = self._read(view, [*outer, j], shape)
                first = v.apply("less", [other, mine], [view.node.kind])
                if view.node.kind == FLOAT and view.node.interval.nan:  # NaN goes last
                    is_nan = [v.apply("isnan", [x], [FLOAT]) for x in (mine, other)]
                    first = b.or_(first, b.and_(is_nan[0], b.not_(is_nan[1])))
                b.store(b.add(b.load(before), b.select(first, one, zero)), before)
                theirs = self._element(base, self._linear([*outer, j], shape))
                self._store(theirs, b.add(self._load(theirs, INTEGER), b.select(first, zero, one)),
                            INTEGER)

            self._for(b.add(i, WORD(1)), n, with_later)
            self._store(place, b.load(before), INTEGER)

        self._nest(shape, compare)

    def _reduction(
        self, node: Node, space: tuple[int, ...], totals: dict[int, Any], starts: Any, ends: Any
    ) -> None:
        b = self.builder
        kept = len(length(node.shape)) - (node.operation == "pieces")
        kind = node.arguments[0].node.kind
        is_long = self._is_long(space) and self.lanes == 1
        # Each piece is summed in the precision of its numbers, and all pieces in double precision.
        of_loop = self._vectors_of(space)
        by_piece = is_long and kind == FLOAT and node.operation in ("sum", "pieces")
        totals[node.number] = total = self._variable(
            (self.wide if by_piece or kind != FLOAT else of_loop).of(kind))
        low, high = (-math.inf, math.inf) if kind == FLOAT else (-(2**63), 2**63 - 1)
        begin = {"sum": 0, "pieces": 0, "prod": 1, "max": low, "min": high, "argmax": low,
                 "argmin": high, "any": 0, "all": 1}[node.operation]
        best = None
        if node.operation in ("argmax", "argmin"):
            best, totals[node.number] = total, self._variable(self._type(INTEGER))
            totals[-node.number - 1] = best
        if is_long and node.operation in ("any", "all"):
            # As a number of exceptions: LLVM keeps bits of vectors in registers that are few.
            totals[node.number] = number = self._variable(of_loop.floats)
            none = of_loop.constant(0, FLOAT)
            starts.setdefault(kept, []).append(self._set(number, none))

            def as_bit(at: list[Any]) -> None:
                compare = b.fcmp_ordered("==" if node.operation == "all" else ">", b.load(number), none)
                b.store(compare, total)

            ends.setdefault(kept, []).append(as_bit)
        if by_piece:
            totals[node.number] = part = self._variable(of_loop.floats)
            starts.setdefault(PIECEWISE, []).append(self._set(part, of_loop.constant(0, FLOAT)))

            def add_piece(at: list[Any]) -> None:
                found = self.wide.fitted(b.load(part))
                if node.operation == "pieces":
                    place = self._linear(at, (*space[:-1], node.shape[-1]))
                    self._store(self._slot(node, place), found, FLOAT)
                else:
                    b.store(b.fadd(b.load(total), found), total)

            ends.setdefault(PIECEWISE, []).append(add_piece)
        self.results[node.number] = total if best is None else totals[node.number]

        def start(at: list[Any]) -> None:
            b.store((of_loop if total.type.pointee == of_loop.floats else self.wide).constant(
                begin, kind), total)
            if best is not None:
                b.store(self.vectors.constant(0, INTEGER), totals[node.number])

        def end(at: list[Any]) -> None:
            if math.prod(node.shape) > 1 and node.operation != "pieces":
                self._store(self._slot(node, self._linear(at[:kept], space[:kept])),
                            b.load(self.results[node.number]), node.kind)

        starts.setdefault(kept, []).append(start)
        ends.setdefault(kept, []).append(end)

    def _body(
        self, node: Node, at: list[Any], space: tuple[int, ...], here: dict[int, Any],
        totals: dict[int, Any],
    ) -> None:
        """Compute one element of one node."""
        b, v = self.builder, self.vectors
        self._here = here
        if not is_result(node):
            if node.operation == "cumulative_sum":
                x = self._read(node.arguments[0], at, space)
                value = v.apply("add", [b.load(totals[node.number]), x], [node.kind])
                b.store(value, totals[node.number])
            else:
                value = self._compute(node, at, space)
            here[node.number] = value
            if node.number in self.slots:
                self._store(self._slot(node, self._linear(at, space)), value, node.kind)
            return
        if node.operation == "scatter":
            self._scatter(node, at, space)
            return
        x = self._read(node.arguments[0], at, space)
        kind = node.arguments[0].node.kind
        total = totals[node.number]
        if node.operation in ("argmax", "argmin"):
            best = totals[-node.number - 1]
            pair = (b.load(best), x) if node.operation == "argmax" else (x, b.load(best))
            wins = v.apply("less", list(pair), [kind])
            if kind == FLOAT and node.arguments[0].node.interval.nan:
                first_nan = b.and_(v.apply("isnan", [x], [kind]),
                                   b.not_(v.apply("isnan", [b.load(best)], [kind])))
                wins = b.or_(wins, first_nan)
            b.store(b.select(wins, x, b.load(best)), best)
            b.store(b.select(wins, v.splat(at[-1]), b.load(total)), total)
            return
        operation = {
            "sum": "add", "pieces": "add", "prod": "multiply", "max": "maximum", "min": "minimum",
            "any": "logical_or", "all": "logical_and"}[node.operation]
        if total.type.pointee == v.floats and kind == BOOLEAN:
            one, none = v.constant(1, FLOAT), v.constant(0, FLOAT)
            ends = (none, one) if node.operation == "all" else (one, none)
            b.store(b.fadd(b.load(total), b.select(x, *ends), flags=_ANY_ORDER), total)
            return
        if operation in ("maximum", "minimum") and not node.interval.nan:
            pair = (b.load(total), x) if operation == "maximum" else (x, b.load(total))
            flags = _ORDERED if self.lanes == 1 and kind == FLOAT else ()
            if flags:
                wins = b.fcmp_ordered("<", *pair, flags=flags)
            else:
                wins = v.apply("less", list(pair), [kind])
            b.store(b.select(wins, x, b.load(total), flags=flags), total)
            return
        if self.lanes == 1 and operation == "add" and kind == FLOAT:
            b.store(b.fadd(b.load(total), x, flags=_ANY_ORDER), total)
            return
        b.store(v.apply(operation, [b.load(total), x], [kind]), total)

    def _compute(self, node: Node, at: list[Any], space: tuple[int, ...]) -> Any:
        if node.operation == "gather":
            return self._gather(node, at, space)
        if node.operation == "search":
            return self._search(node, at, space)
        views = node.arguments
        if node.operation == "multiply" and self.lanes == 1:
            for this, other in views, views[::-1]:
                if other.node.operation == "constant" and this.node.interval.is_finite and at:
                    bit = self._is_first(other, at, space, (1.0, 0.0))
                    if bit is not None:
                        return self.builder.select(
                            bit, self._read(this, at, space), self.vectors.constant(0, node.kind))
        values = [self._read(view, at, space) for view in views]
        kinds = [view.node.kind for view in views]
        if len(set(kinds[1:] if node.operation == "where" else kinds)) > 1:
            raise NotTraceable(f"{node.operation} of different types")
        if node.operation == "exp" and views[0].node.interval.high <= 600:
            return self.vectors.exp_below_600(*values)
        return self.vectors.apply(node.operation, values, kinds)

    def _gather(self, node: Node, at: list[Any], space: tuple[int, ...]) -> Any:
        """Read each run's own element."""
        index, source = node.arguments
        value = source.node.value
        b, places = self.builder, self._read(index, at, space)
        is_shared = source.node.operation == "constant" and value is not None and len(value) == 1
        base = self._offset(self.shared, WORD(self._table(source.node))) if is_shared else (
            self._base(source.node))
        if self.lanes == 1:
            return self._load(self._offset(base, places), node.kind)
        result: Any = ir.Constant(self._type(FLOAT), ir.Undefined)
        apart = 1 if is_shared else self.lanes
        for lane in range(self.lanes):
            place = b.extract_element(places, ir.IntType(32)(lane))
            if apart > 1:
                place = b.add(b.mul(place, WORD(apart)), WORD(lane))
            number = b.load(b.gep(base, [place]))
            result = b.insert_element(result, number, ir.IntType(32)(lane))
        return self._decoded(result, node.kind)

    def _search(self, node: Node, at: list[Any], space: tuple[int, ...]) -> Any:
        """Find where running sums exceed a level: the piece first, then the place in it."""
        b = self.builder
        level, weights, *pieces = node.arguments
        most, n = self._read(level, at, space), weights.shape[-1]
        of_state: Any = at[0] if len(weights.shape) > 1 else WORD(0)
        running, place = self._variable(DOUBLE), self._variable(WORD)
        b.store(DOUBLE(0.0), running)
        b.store(WORD(0), place)

        def walk(base: Any, begin: Any, end: Any) -> None:
            head, go, after = (self.function.append_basic_block(x) for x in ("s", "sb", "sa"))
            b.branch(head)
            b.position_at_end(head)
            here = b.load(place)
            total = b.fadd(b.load(running), self.wide.fitted(self._load(
                self._offset(base, b.add(begin, here)), FLOAT)))
            is_below = b.fcmp_ordered("<=", total, most)
            b.cbranch(b.and_(is_below, b.icmp_signed("<", here, end)), go, after)
            b.position_at_end(go)
            b.store(total, running)
            b.store(b.add(here, WORD(1)), place)
            b.branch(head)
            b.position_at_end(after)

        last: Any = WORD(n - 1)
        for sums in pieces:
            n_pieces = sums.shape[-1]
            walk(self._base(sums.node), b.mul(of_state, WORD(n_pieces)), WORD(n_pieces - 1))
            b.store(b.mul(b.load(place), WORD(PIECE)), place)
            end = b.add(b.load(place), WORD(PIECE - 1))
            last = b.select(b.icmp_signed("<", end, last), end, last)
        walk(self._base(weights.node), b.mul(of_state, WORD(n)), last)
        return b.load(place)

    def _scatter(self, node: Node, at: list[Any], space: tuple[int, ...]) -> None:
        """Add each run's element to its slot."""
        index, values = node.arguments
        b = self.builder
        places, x = self._read(index, at, space), self._read(values, at, space)
        base = self._offset(self.work, WORD(self.slots[node.number] * self.lanes))
        if node.kind != FLOAT:
            raise NotTraceable("sums of integers by index")
        if self.lanes == 1:
            pointer = b.gep(base, [places])
            b.store(b.fadd(b.load(pointer), self.wide.fitted(x)), pointer)
            return
        for lane in range(self.lanes):
            number = ir.IntType(32)(lane)
            place = b.add(b.mul(b.extract_element(places, number), WORD(self.lanes)), WORD(lane))
            pointer = b.gep(base, [place])
            b.store(b.fadd(b.load(pointer), b.extract_element(x, number)), pointer)
