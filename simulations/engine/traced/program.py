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
    MANY,
    NUMPY,
    PIECE,
    SHORT,
    Node,
    NotTraceable,
    View,
)
from simulations.engine.traced.step import Step
from simulations.engine.traced.vectors import DOUBLE, OPERATIONS, Vectors
from simulations.engine.traced.vectors import INTEGER as WORD

NARROW = ir.FloatType()

NAME = "advance"
_OF_ALL = ("sum", "prod", "max", "min", "any", "all")
_ANY_ORDER, _ORDERED = ("reassoc", "contract", "nsz"), ("nnan", "nsz")
"""What LLVM may assume of sums and of maxima of numbers, to take them as vectors."""
PIECEWISE = -1
"""The depth at which a loop over the pieces of the last axis is noted."""
_CHEAP = frozenset({
    "add", "subtract", "multiply", "negative", "absolute", "minimum", "maximum", "where", "less",
    "less_equal", "equal", "not_equal", "isfinite", "isnan", "logical_and", "logical_or", "logical_not",
    "to_float", "square", "single"})
"""What costs less to compute again than to store and to read."""
_SIMPLE = (0.0, 1.0, -1.0, 2.0, 0.5)


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """The code of a step, and the constants that it reads."""

    code: str
    lanes: int
    dtype: Any
    """The type of the logits, float32 where vectors lie along actions of that precision."""
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
    return not (_is_elementwise(node) or node.operation in ("gather", "cumulative_sum", "search"))


def _reads_others(node: Node, place: int) -> bool:
    """Whether an element of a node reads other elements of an argument than its own."""
    return node.operation == "rank" or (node.operation in ("gather", "search") and place > 0)


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
        self.inlined = self._found_cheap(live) if self.lanes == 1 else set()
        live = [node for node in live if node.number not in self.inlined]
        self.passes, self.loop_of = self._loops(live)
        self.last, self.first = self._ends()
        self._place(live)
        self._emit(live)
        self.entry.branch(self.function.basic_blocks[1])
        words = self.shared_values or [np.zeros(1)]
        return Program(
            code=str(self.module), lanes=self.lanes,
            dtype=np.float64 if self.narrow is None else np.float32, shared=np.concatenate(words),
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

    def _found_cheap(self, live: Sequence[Node]) -> set[int]:
        """Return the nodes over actions that are computed wherever they are read, rather than stored."""
        found = {node.number for node in live if node.operation in _CHEAP and node.shape
                 and node.shape[-1] > MANY}
        ends = [*self.outputs, *(view for view, _ in self.guards)]
        found -= {view.node.number for view in ends}
        for node in live:
            for place, view in enumerate(node.arguments):
                if not (view.is_whole() and _space(node) == _length(view.node.shape)
                        and not _reads_others(node, place)):
                    found.discard(view.node.number)
        return found

    def _inputs(self, node: Node) -> list[tuple[View, int]]:
        """Return what a node reads and as which argument, through nodes that are computed in place."""
        found = []
        for place, view in enumerate(node.arguments):
            is_inlined = view.node.number in self.inlined
            found += self._inputs(view.node) if is_inlined else [(view, place)]
        return found

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
            for view, place in self._inputs(node):
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

    def _ends(self) -> tuple[_Loop | None, _Loop | None]:
        """Return the loop that makes the new logits, and that of what is known of the logits alone.

        The last loop puts new logits in place, once the guards hold, and goes through the first one for
        the next step on its way.
        """
        node = self.step.logits.node
        last = next((loop for (loop, *_) in self.passes if node in loop.nodes), None)
        if (self.lanes > 1 or self.n_states > 1 or last is None or not self.step.logits.is_whole()
                or not all(_is_elementwise(each) for each in last.nodes)):
            return None, None
        mine = {each.number for each in last.nodes}
        others = [each for loops in self.passes for loop in loops for each in loop.nodes
                  if each.number not in mine]
        ends = [view.node for view in self.outputs if view is not self.step.logits]
        ends += [view.node for view, _ in self.guards]
        reads = {view.node.number for each in others for view, _ in self._inputs(each)} | {
            each.number for each in ends}
        if mine & reads or not all(
                view.is_whole() for each in last.nodes for view, _ in self._inputs(each)
                if view.node.operation == "input" and view.node.parameter.startswith("logits")):
            return None, None
        for (loop, *_) in self.passes:
            known = {each.number for each in loop.nodes}
            if loop is not last and loop.space == last.space and all(
                    _is_elementwise(each) or (each.operation in _OF_ALL and math.prod(each.shape) == 1)
                    for each in loop.nodes) and all(
                    view.node.number in known or view.node.operation == "constant"
                    or (view.is_whole() and view.node.operation == "input"
                        and view.node.parameter.startswith("logits"))
                    for each in loop.nodes for view, _ in self._inputs(each)) and not any(
                    view.node.number in known and not _is_result(view.node)
                    for each in others if each.number not in known
                    for view, _ in self._inputs(each)):
                return last, loop
        return last, None

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
            for view, place in self._inputs(node):
                read(view, node, _reads_others(node, place))
        for view in self.outputs:
            if self.last is None or view is not self.step.logits:
                read(view, None)
        for node in live:
            if node.operation == "scatter" and self._is_cleared_after(node):
                read(node.arguments[0], None)
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

    def _emit(self, live: Sequence[Node]) -> None:
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
        logits = self.logits if self.narrow is None else b.bitcast(self.logits, NARROW.as_pointer())
        self.group_logits = self._offset(logits, b.mul(
            self.group, WORD(self.step.n_logits * self.lanes)))
        self.group_memory = self._offset(self.memory, b.mul(
            self.group, WORD(max(len(self.step.memory), 1) * self.lanes)))
        # (How many constants there are is known at the end.)
        self.by_run_size = b.load(self.entry.alloca(WORD, name="by_run_size"))
        size_pointer = self.by_run_size.operands[0]
        self.group_by_run = self._offset(self.by_run, b.mul(
            self.group, b.mul(self.by_run_size, WORD(self.lanes))))
        if self.first is not None:
            self._pass([self.first])
        for node in live:
            if node.operation == "scatter" and self._is_cleared_after(node):
                self._clear_sums(node)
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
            if loops[0] is self.first:
                self._load_results(loops)
            elif loops[0] is not self.last:
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
            "==", b.bitcast(holds, ir.IntType(self.lanes)), ir.IntType(self.lanes)(-1)
        ) if self.lanes > 1 else holds
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
        if self.last is not None:
            self._put(self.last, view)
            return
        shape = _length(view.shape)
        self._nest(shape, lambda at: self._store(
            self._element(self.group_logits, self._linear(at, shape)),
            self._read(view, at, shape), FLOAT))

    def _put(self, loop: _Loop, view: View) -> None:
        """Write the loop that puts new logits in place."""
        here: dict[int, Any] = {}
        self.vectors, first = self._vectors_of(loop.space), self.first

        def body(at: list[Any]) -> None:
            here.clear()
            for node in loop.nodes:
                self._body(node, at, loop.space, here, {})
            new = here[view.node.number]
            self._store(self._element(self.group_logits, self._linear(at, loop.space)), new, FLOAT)
            if first is not None:
                self.new_logits = self.vectors.fitted(new)
                here.clear()
                for node in first.nodes:
                    self._body(node, at, first.space, here, first.totals)
                self.new_logits = None

        starts, ends = ({}, {}) if first is None else (first.starts, first.ends)
        self._nest(loop.space, body, starts, ends)
        self._here, self.vectors = None, self.wide
        for node, index, space in self.cleared:
            base = self._offset(self.work, WORD(self.slots[node.number]))
            self._nest(space, lambda at: self._store(
                self._offset(base, self._read(index, at, space)), DOUBLE(0.0), FLOAT))  # noqa: B023

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
        self._load_results(loops)

    def _load_results(self, loops: Sequence[_Loop]) -> None:
        for loop in loops:
            for node in loop.nodes:
                if node.number in loop.totals and _is_result(node) and math.prod(node.shape) == 1:
                    found = self.builder.load(self.results[node.number])
                    self.values[node.number] = self.wide.fitted(found) if node.kind == FLOAT else found

    def _one_state(self, loops: list[_Loop], state: Any) -> None:
        self.state = state
        for loop in loops:
            self._inner(loop, [state])

    def _prepare(self, loop: _Loop) -> None:
        """Write what comes before a loop, and note what is done around its inner ones."""
        for node in loop.nodes:
            if node.operation == "scatter":
                if self._is_cleared_after(node):
                    self.cleared.append((node, node.arguments[0], loop.space))
                else:
                    self._clear_sums(node)
            elif node.operation == "rank":
                self._rank(node)
            elif node.operation == "cumulative_sum":
                of_loop = self._vectors_of(loop.space)
                loop.totals[node.number] = total = self._variable(of_loop.of(node.kind))
                zero = of_loop.constant(0, node.kind)
                loop.starts.setdefault(len(loop.space) - 1, []).append(self._set(total, zero))
            elif _is_result(node):
                self._reduction(node, loop.space, loop.totals, loop.starts, loop.ends)

    def _is_cleared_after(self, node: Node) -> bool:
        """Whether few of the sums of a node are not 0, so that these alone are cleared, after a step."""
        few = 4 * math.prod(node.arguments[0].shape) < node.shape[0]
        return self.lanes == 1 and self.last is not None and few

    def _clear_sums(self, node: Node) -> None:
        base = self._offset(self.work, WORD(self.slots[node.number] * self.lanes))
        self._clear(base, node.shape[0], self.vectors.constant(0, node.kind), node.kind)

    def _inner(self, loop: _Loop, outer: list[Any]) -> None:
        """Write a loop within ``outer`` ones."""
        here: dict[int, Any] = {}
        nodes = [node for node in loop.nodes if node.operation != "rank"]
        self.vectors = self._vectors_of(loop.space)

        def body(at: list[Any]) -> None:
            here.clear()
            for node in nodes:
                self._body(node, at, loop.space, here, loop.totals)

        if nodes:
            self._nest(loop.space, body, loop.starts, loop.ends, outer)
        self._here, self.vectors = None, self.wide

    def _clear(self, base: Any, n: int, zero: Any, kind: str) -> None:
        self._nest((n,), lambda at: self._store(self._element(base, at[0]), zero, kind))

    def _set(self, variable: Any, value: Any) -> Callable[[list[Any]], None]:
        return lambda at: self.builder.store(value, variable)

    def _vectors_of(self, space: Sequence[int]) -> Vectors:
        """Return what writes the numbers of a loop: of single precision if it is over many of them."""
        return self.wide if self.narrow is None or not self._is_long(space) else self.narrow

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
        kept = len(_length(node.shape)) - (node.operation == "pieces")
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
        places = self._read(index, at, space)
        b, kind = self.builder, self._type(node.kind)
        if self.lanes == 1:
            if source.node.operation == "constant" and value is not None and len(value) == 1:
                base = self._offset(self.shared, WORD(self._table(source.node)))
            else:
                base = self._base(source.node)
            return self._load(self._offset(base, places), node.kind)
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
        b, v = self.builder, self.vectors
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
        assert v is not None

    # Reading and writing.

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
        if at is not None and here and node.number in here and _identity(view):
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
            self.shared_values.append(_encoded(values))
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
        return (self.narrow is not None and node.kind == FLOAT and not _is_result(node)
                and node.operation not in ("constant", "input") and self._is_long(_space(node)))

    def _is_long(self, space: Sequence[int]) -> bool:
        return bool(space) and space[-1] > SHORT

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


def _encoded(value: np.ndarray) -> np.ndarray:
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
