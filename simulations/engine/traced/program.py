"""Translates a graph to LLVM's language: a function that takes many steps of many runs.

LANES runs are advanced side by side, one vector element each. Nodes become loops over their elements:
those with equal shapes whose arguments are ready share a loop and stay in registers; what another loop
reads lies in a work space, element after element. The steps of a group of runs are taken one after
another while all of it is in cache.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llvmlite import ir

from simulations.engine.traced.graph import (
    BOOLEAN,
    FLOAT,
    INTEGER,
    NUMPY,
    Node,
    NotTraceable,
    View,
)
from simulations.engine.traced.step import Step
from simulations.engine.traced.vectors import DOUBLE, OPERATIONS, Vectors
from simulations.engine.traced.vectors import INTEGER as WORD

NAME = "advance"
_SIMPLE = (0.0, 1.0, -1.0, 2.0, 0.5)


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """The code of a step, and the constants that it reads."""

    code: str
    lanes: int
    shared: np.ndarray
    """The constants that all runs share, flat."""
    by_run: list[np.ndarray]
    """The constants of each run, [runs, elements]."""
    work: int
    """The size of the work space in numbers, which is to be multiplied by lanes."""
    n_memory: int
    n_measured: int

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.code.encode()).hexdigest()


@dataclass(slots=True)
class _Loop:
    """The nodes that are computed together, element by element of one shape."""

    space: tuple[int, ...]
    nodes: list[Node] = field(default_factory=list)
    totals: dict[int, Any] = field(default_factory=dict)
    """The variables of its sums and maxima, by node."""
    starts: dict[int, list[Callable[[list[Any]], None]]] = field(default_factory=dict)
    """Before which inner loop, by its depth, they are set."""
    ends: dict[int, list[Callable[[list[Any]], None]]] = field(default_factory=dict)


_Place = tuple[int, int, int, tuple[int, ...]]
"""The place of a loop: the pass over states, and the loop of a state within it (0: over no states); then
its size and shape."""


def program(step: Step, lanes: int) -> Program:
    """Write the code of a step.

    Raises:
        NotTraceable: an operation that cannot be compiled.
    """
    return _Writer(step, lanes).write()


def _is_elementwise(node: Node) -> bool:
    return node.operation in NUMPY


def _length(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(n for n in shape if n > 1)


def _space(node: Node) -> tuple[int, ...]:
    """The shape that the loop of a node runs over."""
    if node.operation == "scatter":
        return _length(node.arguments[1].shape)
    if node.operation == "gather" or _is_elementwise(node):
        return _length(node.shape)
    return _length(node.arguments[0].shape)


def _is_result(node: Node) -> bool:
    """Whether a node is ready only when its loop is over."""
    return not (_is_elementwise(node) or node.operation in ("gather", "cumulative_sum"))


def _reads_others(node: Node, place: int) -> bool:
    """Whether an element of a node reads other elements of an argument than its own."""
    return node.operation == "rank" or (node.operation == "gather" and place == 1)


def _identity(view: View) -> bool:
    return view.is_whole()


class _Writer:
    def __init__(self, step: Step, lanes: int) -> None:
        self.step, self.lanes, self.n_states = step, lanes, step.n_states
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
        self.vectors = Vectors(self.builder, self.module, lanes)
        self.shared_values: list[np.ndarray] = []
        self.n_shared = 0
        self.by_run_values: list[np.ndarray] = []
        self.n_by_run = 0
        self.tables: dict[Any, int] = {}
        self.values: dict[int, Any] = {}
        self.slots: dict[int, int] = {}
        self.of_state: dict[int, int] = {}
        """How many numbers are kept of one state, of nodes that are kept for one state at a time."""
        self.state: Any = None
        self._here: dict[int, Any] | None = None
        """Elements of the nodes of the loop that is being written."""
        self.n_work = 0

    # What is computed where.

    def write(self) -> Program:
        step = self.step
        self.outputs = [step.logits, *step.memory, *step.measured]
        self.guards = step.graph.guards
        live = self._live([*self.outputs, *(view for view, _ in self.guards)])
        self._check(live)
        self.passes, self.loop_of = self._loops(live)
        self._place(live)
        self._emit()
        self.entry.branch(self.function.basic_blocks[1])
        words = self.shared_values or [np.zeros(1)]
        return Program(
            code=str(self.module), lanes=self.lanes, shared=np.concatenate(words),
            by_run=self.by_run_values, work=max(self.n_work, 1), n_memory=len(step.memory),
            n_measured=len(step.measured))

    def _live(self, views: Sequence[View]) -> list[Node]:
        found: dict[int, Node] = {}
        waiting = [view.node for view in views]
        while waiting:
            node = waiting.pop()
            if node.number not in found:
                found[node.number] = node
                waiting += [view.node for view in node.arguments]
        return [found[number] for number in sorted(found)]

    def _check(self, live: Sequence[Node]) -> None:
        for node in live:
            if _is_elementwise(node) and node.operation not in OPERATIONS:
                raise NotTraceable(f"the operation {node.operation}")

    def _loops(self, live: Sequence[Node]) -> tuple[list[list[_Loop]], dict[int, int]]:
        """Return the passes, the loops that share one over states, and the place of each node's loop.

        Nodes that read numbers of their own state alone follow each other within a pass, so that what
        they share is in the nearest cache.
        """
        level: dict[int, tuple[int, int]] = {}
        loops: dict[_Place, _Loop] = {}
        keys: dict[int, _Place] = {}
        for node in live:
            if node.operation in ("constant", "input"):
                continue
            space, at, by_state = _space(node), (0, 0), self._is_by_state(node)
            for place, view in enumerate(node.arguments):
                other = view.node
                if other.operation in ("constant", "input"):
                    continue
                one, two = level[other.number]
                is_here = (
                    not _is_result(other) and _space(other) == space and _identity(view)
                    and self._is_by_state(other) == by_state and not _reads_others(node, place))
                is_number = not _is_result(other) and not _space(other)
                if is_here or is_number:
                    ready = (one, two)
                else:
                    ready = (one, two + 1) if self._is_local(node, view, place) else (one + 1, 0)
                at = max(at, ready)
            level[node.number] = at
            key = (at[0], at[1] + 1 if by_state else 0, math.prod(space), space)
            keys[node.number] = key
            loops.setdefault(key, _Loop(space)).nodes.append(node)
        ordered = sorted(loops)
        place_of = {key: place for place, key in enumerate(ordered)}
        passes: list[list[_Loop]] = []
        for before, key in zip([None, *ordered], ordered, strict=False):
            joins = before is not None and before[0] == key[0] and before[1] > 0 and key[1] > 0
            if joins:
                passes[-1].append(loops[key])
            else:
                passes.append([loops[key]])
        return passes, {n: place_of[key] for n, key in keys.items()}

    def _is_by_state(self, node: Node) -> bool:
        """Whether the loop of a node may be one of those within a loop over states."""
        space = _space(node)
        return (self.n_states > 1 and len(space) > 0 and space[0] == self.n_states
                and node.operation not in ("scatter", "rank"))

    def _is_local(self, node: Node, view: View, place: int) -> bool:
        """Whether a node reads in each state's pass what the same pass has computed."""
        other = view.node
        if _reads_others(node, place) or not (self._is_by_state(node) and self._is_by_state(other)):
            return False
        if not other.shape or other.shape[0] != self.n_states:
            return False
        state = view.index.reshape(self.n_states, -1) // (math.prod(other.shape) // self.n_states)
        return bool((state == np.arange(self.n_states)[:, None]).all())

    def _place(self, live: Sequence[Node]) -> None:
        """Assign work space to nodes that more than one loop reads."""
        kept: set[int] = set()
        passes = {node.number: place for place, loops in enumerate(self.passes)
                  for loop in loops for node in loop.nodes}
        read_later: set[int] = set()

        def read(view: View, reader: Node | None, is_source: bool = False) -> None:
            node = view.node
            if node.operation in ("constant", "input") or math.prod(node.shape) == 1:
                return
            if reader is None or passes[reader.number] != passes[node.number]:
                read_later.add(node.number)
            if (reader is not None and not is_source and not _is_result(node)
                    and self.loop_of[node.number] == self.loop_of[reader.number] and _identity(view)):
                return
            kept.add(node.number)

        for node in live:
            for place, view in enumerate(node.arguments):
                read(view, node, _reads_others(node, place))
        for view in self.outputs:
            read(view, None)
        for node in live:
            if node.number in kept or (_is_result(node) and math.prod(node.shape) > 1
                                       and node.operation not in ("constant", "input")):
                size = math.prod(node.shape)
                if node.number not in read_later and len(self.passes[passes[node.number]]) > 1:
                    # One state after another uses the same space.
                    size //= self.n_states
                    self.of_state[node.number] = size
                self.slots[node.number] = self.n_work
                self.n_work += size

    # Instructions.

    def _emit(self) -> None:
        b = self.builder
        done = self.function.append_basic_block("done")
        group = self._variable(WORD)
        b.store(self.first_group, group)
        head, body = (self.function.append_basic_block(name) for name in ("group", "group.body"))
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(b.icmp_signed("<", b.load(group), self.last_group), body, done)
        b.position_at_end(body)
        self.group = b.load(group)
        self.group_logits = self._offset(self.logits, b.mul(
            self.group, WORD(self.step.n_logits * self.lanes)))
        self.group_memory = self._offset(self.memory, b.mul(
            self.group, WORD(max(len(self.step.memory), 1) * self.lanes)))
        # (How many constants there are is known at the end.)
        self.by_run_size = b.load(self.entry.alloca(WORD, name="by_run_size"))
        size_pointer = self.by_run_size.operands[0]
        self.group_by_run = self._offset(self.by_run, b.mul(
            self.group, b.mul(self.by_run_size, WORD(self.lanes))))
        step = self._variable(WORD)
        b.store(WORD(0), step)
        next_step, take, next_group = (
            self.function.append_basic_block(name) for name in ("step", "take", "next.group"))
        b.branch(next_step)
        b.position_at_end(next_step)
        b.cbranch(b.icmp_signed("<", b.load(step), self.steps), take, next_group)
        b.position_at_end(take)
        self.now = b.load(step)
        for loops in self.passes:
            self._pass(loops)
        self._check_guards(next_group)
        self._finish()
        b.store(b.add(self.now, WORD(1)), step)
        b.branch(next_step)
        b.position_at_end(next_group)
        b.store(b.add(self.group, WORD(1)), group)
        b.branch(head)
        b.position_at_end(done)
        b.ret_void()
        self.entry.store(WORD(self.n_by_run), size_pointer)

    def _check_guards(self, stop: Any) -> None:
        """Stop before a step for which the trace does not hold."""
        b = self.builder
        holds: Any = None
        for view, expected in self.guards:
            bits = self._read(view, None)
            bits = bits if expected else b.not_(bits)
            holds = bits if holds is None else b.and_(holds, bits)
        if holds is None:
            return
        every = b.icmp_unsigned(
            "==", b.bitcast(holds, ir.IntType(self.lanes)), ir.IntType(self.lanes)(-1))
        go, halt = (self.function.append_basic_block(name) for name in ("go", "halt"))
        b.cbranch(every, go, halt)
        b.position_at_end(halt)
        b.store(self.now, b.gep(self.stops, [self.group]))
        b.branch(stop)
        b.position_at_end(go)

    def _finish(self) -> None:
        """Record the measures, and put the new logits and memory in place."""
        b = self.builder
        record, move = (self.function.append_basic_block(name) for name in ("record", "move"))
        b.cbranch(b.icmp_signed("!=", self.is_measured, WORD(0)), record, move)
        b.position_at_end(record)
        for k, view in enumerate(self.step.measured):
            row = b.add(b.mul(WORD(k), self.steps), self.now)
            at = b.mul(b.add(b.mul(row, self.n_groups), self.group), WORD(self.lanes))
            self._store(self._offset(self.measured, at), self._read(view, None), FLOAT)
        b.branch(move)
        b.position_at_end(move)
        found = [self._read(view, None) for view in self.step.memory]
        for k, (view, value) in enumerate(zip(self.step.memory, found, strict=True)):
            self._store(self._offset(self.group_memory, WORD(k * self.lanes)), value, view.node.kind)
        view = self.step.logits
        shape = _length(view.shape)
        self._nest(shape, lambda at: self._store(
            self._element(self.group_logits, self._linear(at, shape)),
            self._read(view, at, shape), FLOAT))

    def _pass(self, loops: list[_Loop]) -> None:
        """Write loops, those of one state after another where there are several."""
        if not loops[0].space:
            for node in loops[0].nodes:
                self.values[node.number] = self._compute(node, [], ())
            return
        for loop in loops:
            self._prepare(loop)
        if len(loops) == 1:
            self._inner(loops[0], [])
        else:
            for loop in loops:
                for begin in loop.starts.pop(0, []):
                    begin([])
            last = [end for loop in loops for end in loop.ends.pop(0, [])]
            self._for(WORD(0), self.n_states, lambda state: self._one_state(loops, state))
            for end in last:
                end([])
        for loop in loops:
            for node in loop.nodes:
                if node.number in loop.totals and _is_result(node) and math.prod(node.shape) == 1:
                    self.values[node.number] = self.builder.load(loop.totals[node.number])

    def _one_state(self, loops: list[_Loop], state: Any) -> None:
        self.state = state
        for loop in loops:
            self._inner(loop, [state])

    def _prepare(self, loop: _Loop) -> None:
        """Write what comes before a loop, and note what is done around its inner ones."""
        for node in loop.nodes:
            if node.operation == "scatter":
                base = self._offset(self.work, WORD(self.slots[node.number] * self.lanes))
                zero = self.vectors.constant(0, node.kind)
                self._clear(base, node.shape[0], zero, node.kind)
            elif node.operation == "rank":
                self._rank(node)
            elif node.operation == "cumulative_sum":
                loop.totals[node.number] = total = self._variable(self._type(node.kind))
                loop.starts.setdefault(len(loop.space) - 1, []).append(self._zeroed(total, node.kind))
            elif _is_result(node):
                self._reduction(node, loop.space, loop.totals, loop.starts, loop.ends)

    def _inner(self, loop: _Loop, outer: list[Any]) -> None:
        """Write a loop within ``outer`` ones."""
        here: dict[int, Any] = {}
        nodes = [node for node in loop.nodes if node.operation != "rank"]

        def body(at: list[Any]) -> None:
            here.clear()
            for node in nodes:
                self._body(node, at, loop.space, here, loop.totals)

        if nodes:
            self._nest(loop.space, body, loop.starts, loop.ends, outer)
        self._here = None

    def _clear(self, base: Any, n: int, zero: Any, kind: str) -> None:
        self._nest((n,), lambda at: self._store(self._element(base, at[0]), zero, kind))

    def _zeroed(self, total: Any, kind: str) -> Callable[[list[Any]], None]:
        def begin(at: list[Any]) -> None:
            self.builder.store(self.vectors.constant(0, kind), total)

        return begin

    def _rank(self, node: Node) -> None:
        """Each pair is compared once: of two, the later one goes behind unless it is smaller."""
        b, v = self.builder, self.vectors
        (view,) = node.arguments
        n, shape = view.shape[-1], _length(view.shape)
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
        kept = len(_length(node.shape))
        kind = node.arguments[0].node.kind
        totals[node.number] = total = self._variable(self._type(kind))
        low, high = (-math.inf, math.inf) if kind == FLOAT else (-(2**63), 2**63 - 1)
        begin = {"sum": 0, "prod": 1, "max": low, "min": high, "argmax": low, "argmin": high,
                 "any": 0, "all": 1}[node.operation]
        best = None
        if node.operation in ("argmax", "argmin"):
            best, totals[node.number] = total, self._variable(self._type(INTEGER))
            totals[-node.number - 1] = best

        def start(at: list[Any]) -> None:
            b.store(self.vectors.constant(begin, kind), total)
            if best is not None:
                b.store(self.vectors.constant(0, INTEGER), totals[node.number])

        def end(at: list[Any]) -> None:
            if math.prod(node.shape) > 1:
                self._store(self._slot(node, self._linear(at[:kept], space[:kept])),
                            b.load(totals[node.number]), node.kind)

        starts.setdefault(kept, []).append(start)
        ends.setdefault(kept, []).append(end)

    def _body(
        self, node: Node, at: list[Any], space: tuple[int, ...], here: dict[int, Any],
        totals: dict[int, Any],
    ) -> None:
        """Compute one element of one node."""
        b, v = self.builder, self.vectors
        self._here = here
        if not _is_result(node):
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
        operation = {"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum",
                     "any": "logical_or", "all": "logical_and"}[node.operation]
        if operation in ("maximum", "minimum") and not node.interval.nan:
            pair = (b.load(total), x) if operation == "maximum" else (x, b.load(total))
            wins = v.apply("less", list(pair), [kind])
            b.store(b.select(wins, x, b.load(total)), total)
            return
        b.store(v.apply(operation, [b.load(total), x], [kind]), total)

    def _compute(self, node: Node, at: list[Any], space: tuple[int, ...]) -> Any:
        if node.operation == "gather":
            return self._gather(node, at, space)
        views = node.arguments
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
        places = self._read(index, at, space)
        b, kind = self.builder, self._type(node.kind)
        result: Any = ir.Constant(self._type(FLOAT), ir.Undefined)
        if source.node.operation == "constant" and value is not None and len(value) == 1:
            base, apart = self._offset(self.shared, WORD(self._table(source.node))), 1
        else:
            base, apart = self._base(source.node), self.lanes
        for lane in range(self.lanes):
            place = b.extract_element(places, ir.IntType(32)(lane))
            if apart > 1:
                place = b.add(b.mul(place, WORD(apart)), WORD(lane))
            number = b.load(b.gep(base, [place]))
            result = b.insert_element(result, number, ir.IntType(32)(lane))
        assert kind is not None
        return self._decoded(result, node.kind)

    def _scatter(self, node: Node, at: list[Any], space: tuple[int, ...]) -> None:
        """Add each run's element to its slot."""
        index, values = node.arguments
        b, v = self.builder, self.vectors
        places, x = self._read(index, at, space), self._read(values, at, space)
        base = self._offset(self.work, WORD(self.slots[node.number] * self.lanes))
        if node.kind != FLOAT:
            raise NotTraceable("sums of integers by index")
        for lane in range(self.lanes):
            number = ir.IntType(32)(lane)
            place = b.add(b.mul(b.extract_element(places, number), WORD(self.lanes)), WORD(lane))
            pointer = b.gep(base, [place])
            b.store(b.fadd(b.load(pointer), b.extract_element(x, number)), pointer)
        assert v is not None

    # Reading and writing.

    def _read(self, view: View, at: list[Any] | None, space: tuple[int, ...] = ()) -> Any:
        """Read the element of a view at a place of a loop."""
        node = view.node
        if node.number in self.values:
            return self.values[node.number]
        here = self._here
        if at is not None and here and node.number in here and _identity(view):
            return here[node.number]
        if node.operation == "input" and node.parameter in ("step", "first", "target"):
            return self._own_input(node)
        if node.operation == "constant" and node.value is not None:
            simple = self._simple(node)
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
                return self.group_logits
            number = int(node.parameter.split(".")[1])
            return self._offset(self.group_memory, WORD(number * self.lanes))
        if node.operation == "constant":
            return self._offset(self.group_by_run, WORD(self._table(node) * self.lanes))
        place: Any = WORD(self.slots[node.number])
        if node.number in self.of_state:
            earlier = self.builder.mul(self.state, WORD(self.of_state[node.number]))
            place = self.builder.sub(place, earlier)
        return self._offset(self.work, self.builder.mul(place, WORD(self.lanes)))

    def _table(self, node: Node) -> int:
        """Return the place of a constant among those that are passed."""
        key = ("constant", node.number)
        if key not in self.tables:
            value: Any = node.value
            flat = _encoded(value).reshape(len(value), -1)
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
        key = ("index", index.tobytes())
        if key not in self.tables:
            self.tables[key] = self.n_shared
            self.shared_values.append(_encoded(index.ravel()))
            self.n_shared += index.size
        number = b.load(b.gep(self.shared, [
            b.add(WORD(self.tables[key]), self._linear(at, space))]))
        return b.bitcast(number, WORD)

    def _linear(self, at: Sequence[Any], space: Sequence[int]) -> Any:
        total: Any = WORD(0)
        for place, n in zip(at, space, strict=True):
            total = self.builder.add(self.builder.mul(total, WORD(n)), place)
        return total

    def _slot(self, node: Node, place: Any) -> Any:
        return self._element(self._base(node), place)

    def _element(self, base: Any, place: Any) -> Any:
        return self._offset(base, self.builder.mul(place, WORD(self.lanes)))

    def _offset(self, base: Any, number: Any) -> Any:
        return self.builder.gep(base, [number], inbounds=True)

    def _load(self, pointer: Any, kind: str) -> Any:
        b = self.builder
        loaded = b.load(b.bitcast(pointer, self._type(FLOAT).as_pointer()))
        loaded.align = 8
        return self._decoded(loaded, kind)

    def _decoded(self, value: Any, kind: str) -> Any:
        if kind == FLOAT:
            return value
        words = self.builder.bitcast(value, self._type(INTEGER))
        if kind == INTEGER:
            return words
        return self.builder.icmp_signed("!=", words, self.vectors.constant(0, INTEGER))

    def _store(self, pointer: Any, value: Any, kind: str) -> None:
        b = self.builder
        if kind == BOOLEAN:
            value = b.sext(value, self._type(INTEGER))
        if kind != FLOAT:
            value = b.bitcast(value, self._type(FLOAT))
        stored = b.store(value, b.bitcast(pointer, self._type(FLOAT).as_pointer()))
        stored.align = 8

    def _type(self, kind: str) -> Any:
        return {FLOAT: self.vectors.floats, INTEGER: self.vectors.integers,
                BOOLEAN: self.vectors.bits}[kind]

    def _variable(self, kind: Any) -> Any:
        return self.entry.alloca(kind)

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
            else:
                self._for(WORD(0), space[depth], lambda place: inner(depth + 1, [*at, place]))
            for end in (ends or {}).get(depth, []):
                end(at)

        inner(len(outer), list(outer))

    def _for(self, begin: Any, end: int, body: Callable[[Any], None]) -> None:
        b = self.builder
        place = self._variable(WORD)
        b.store(begin, place)
        head, todo, after = (self.function.append_basic_block(n) for n in ("l", "b", "a"))
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(b.icmp_signed("<", b.load(place), WORD(end)), todo, after)
        b.position_at_end(todo)
        here = b.load(place)
        body(here)
        b.store(b.add(here, WORD(1)), place)
        b.branch(head)
        b.position_at_end(after)


def _encoded(value: np.ndarray) -> np.ndarray:
    """Encode numbers of any kind in the bits of floats; true is -1."""
    if value.dtype == np.float64:
        return value
    if value.dtype == np.bool_:
        value = -value.astype(np.int64)
    return np.ascontiguousarray(value).astype(np.int64).view(np.float64)

