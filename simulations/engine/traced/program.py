"""Translates a graph to LLVM's language: a function that takes many steps of many runs.

LANES runs are advanced side by side, one vector element each. Nodes become loops over their elements.
Nodes with equal shapes whose arguments are ready share a loop and stay in registers. What another loop
reads lies in a work space, element after element. The steps of a group of runs are taken one after
another while all of it is in cache.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir

from simulations.engine.traced.instructions import NAME, NARROW
from simulations.engine.traced.nodes import Nodes
from simulations.engine.traced.plan import Loop, Step, is_result, length, needed
from simulations.engine.traced.vectors import DOUBLE
from simulations.engine.traced.vectors import INTEGER as WORD
from simulations.engine.traced.views import FLOAT, Node, View

__all__ = ["NAME", "Program", "program"]


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
    n_measured: int

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.code.encode()).hexdigest()


def program(step: Step, lanes: int) -> Program:
    """Write the code of a step.

    Raises:
        NotTraceable: an operation that cannot be compiled.
    """
    return _Writer(step, lanes).write()


class _Writer(Nodes):
    """Writes the passes over a step's loops, step after step and group after group."""

    def write(self) -> Program:
        step = self.step
        live = needed([*self.outputs, *(view for view, _ in self.guards)])
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
            by_run=self.by_run_values, work=max(self.n_work, 1), n_measured=len(step.measured))

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
        shape = length(view.shape)
        self._nest(shape, lambda at: self._store(
            self._element(self.group_logits, self._linear(at, shape)),
            self._read(view, at, shape), FLOAT))

    def _put(self, loop: Loop, view: View) -> None:
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
            self._zero_sums(node, index, space)

    def _zero_sums(self, node: Node, index: View, space: tuple[int, ...]) -> None:
        """Write zeros where an index put sums of a node."""
        base = self._offset(self.work, WORD(self.slots[node.number]))
        self._nest(space, lambda at: self._store(
            self._offset(base, self._read(index, at, space)), DOUBLE(0.0), FLOAT))

    def _pass(self, loops: list[Loop]) -> None:
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

    def _load_results(self, loops: Sequence[Loop]) -> None:
        for loop in loops:
            for node in loop.nodes:
                if node.number in loop.totals and is_result(node) and math.prod(node.shape) == 1:
                    found = self.builder.load(self.results[node.number])
                    self.values[node.number] = self.wide.fitted(found) if node.kind == FLOAT else found

    def _one_state(self, loops: list[Loop], state: Any) -> None:
        self.state = state
        for loop in loops:
            self._inner(loop, [state])

    def _prepare(self, loop: Loop) -> None:
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
            elif is_result(node):
                self._reduction(node, loop.space, loop.totals, loop.starts, loop.ends)

    def _inner(self, loop: Loop, outer: list[Any]) -> None:
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
