"""Plans a step: which nodes share a loop, which are computed where they are read, and what is kept.

Nodes become loops over their elements: those with equal shapes whose arguments are ready share a loop and
stay in registers. What another loop reads lies in a work space, element after element.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simulations.engine.traced.elementwise import ElementwiseGraph
from simulations.engine.traced.intervals import Interval
from simulations.engine.traced.views import MANY, NUMPY, SHORT, Node, NotTraceable, View

_OF_ALL = ("sum", "prod", "max", "min", "any", "all")
_CHEAP = frozenset({
    "add", "subtract", "multiply", "negative", "absolute", "minimum", "maximum", "where", "less",
    "less_equal", "equal", "not_equal", "isfinite", "isnan", "logical_and", "logical_or", "logical_not",
    "to_float", "square", "single"})
"""Operations that cost less to compute again than to store and to read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """A step of one run as a graph, and its results.

    Inputs are "logits", "memory.0" and so on, "step" (how many were taken before), "first" (whether the
    controllers have chosen for it already) and "target".
    """

    graph: ElementwiseGraph
    n_logits: int
    n_states: int
    along_actions: bool
    """Whether vectors lie along the actions of a run, not along runs."""
    narrow: bool
    """Whether logits are of single precision."""
    logits: View
    """The logits after the step, [states, actions]."""
    memory: tuple[View, ...]
    """The scalars that the step leaves for the next one: what controllers chose and hold."""
    choices: tuple[Interval, ...]
    """An interval that holds each controller's choice, that before the first step included."""
    measured: tuple[View, ...]
    """Scalars before the step: entropy, reward and, of a second batch, temperature."""


@dataclass(slots=True)
class Loop:
    """The nodes that are computed together, element by element of one shape."""

    space: tuple[int, ...]
    nodes: list[Node] = field(default_factory=list)
    totals: dict[int, Any] = field(default_factory=dict)
    """The variables of its sums and maxima, by node."""
    starts: dict[int, list[Callable[[list[Any]], None]]] = field(default_factory=dict)
    """Before which inner loop, by its depth, they are set."""
    ends: dict[int, list[Callable[[list[Any]], None]]] = field(default_factory=dict)


_Place = tuple[int, int, int, tuple[int, ...]]
"""The place of a loop. First the pass over states, and the loop of a state within it (0 for a loop over
no states). Then its size and shape."""


def is_elementwise(node: Node) -> bool:
    """Whether each element of a node is computed from one of each argument."""
    return node.operation in NUMPY


def length(shape: Sequence[int]) -> tuple[int, ...]:
    """Return a shape without axes of length 1."""
    return tuple(n for n in shape if n > 1)


def space_of(node: Node) -> tuple[int, ...]:
    """Return the shape that the loop of a node runs over."""
    if node.operation == "scatter":
        return length(node.arguments[1].shape)
    if node.operation == "gather" or is_elementwise(node):
        return length(node.shape)
    return length(node.arguments[0].shape)


def is_result(node: Node) -> bool:
    """Whether a node is ready only when its loop is over."""
    return not (is_elementwise(node) or node.operation in ("gather", "cumulative_sum", "search"))


def reads_others(node: Node, place: int) -> bool:
    """Whether an element of a node reads other elements of an argument than its own."""
    return node.operation == "rank" or (node.operation in ("gather", "search") and place > 0)


def needed(ends: Sequence[View]) -> list[Node]:
    """Return the nodes that results need, in the order in which they were made."""
    found: dict[int, Node] = {}
    waiting = [view.node for view in ends]
    while waiting:
        node = waiting.pop()
        if node.number not in found:
            found[node.number] = node
            waiting += [view.node for view in node.arguments]
    return [found[number] for number in sorted(found)]


class Plan:
    """The places at which the parts of a step are computed.

    Nodes over actions that cost little are `inlined` where vectors lie along actions. `passes` holds
    the loops that share one over states, `slots` the places in the work space of what is kept. `of_state`
    says how many numbers are kept of one state, of nodes that are kept for one state at a time.
    """

    passes: list[list[Loop]]
    loop_of: dict[int, int]
    last: Loop | None
    first: Loop | None

    def __init__(self, step: Step, lanes: int) -> None:
        self.step, self.lanes, self.n_states = step, lanes, step.n_states
        self.outputs = [step.logits, *step.memory, *step.measured]
        self.guards = step.graph.guards
        self.inlined: set[int] = set()
        self.slots: dict[int, int] = {}
        self.of_state: dict[int, int] = {}
        self.n_work = 0

    def _check(self, live: Sequence[Node]) -> None:
        # Beside the vectors stands llvmlite, which an installation may lack.
        from simulations.engine.traced.vectors import OPERATIONS

        for node in live:
            if is_elementwise(node) and node.operation not in OPERATIONS:
                raise NotTraceable(f"the operation {node.operation}")

    def _found_cheap(self, live: Sequence[Node]) -> set[int]:
        """Return the nodes over actions that are computed wherever they are read, rather than stored."""
        found = {node.number for node in live if node.operation in _CHEAP and node.shape
                 and node.shape[-1] > MANY}
        ends = [*self.outputs, *(view for view, _ in self.guards)]
        found -= {view.node.number for view in ends}
        for node in live:
            for place, view in enumerate(node.arguments):
                if not (view.is_whole() and space_of(node) == length(view.node.shape)
                        and not reads_others(node, place)):
                    found.discard(view.node.number)
        return found

    def _inputs(self, node: Node) -> list[tuple[View, int]]:
        """Return what a node reads and as which argument, through nodes that are computed in place."""
        found = []
        for place, view in enumerate(node.arguments):
            is_inlined = view.node.number in self.inlined
            found += self._inputs(view.node) if is_inlined else [(view, place)]
        return found

    def _loops(self, live: Sequence[Node]) -> tuple[list[list[Loop]], dict[int, int]]:
        """Return the passes, the loops that share one over states, and the place of each node's loop.

        Nodes that read numbers of their own state alone follow each other within a pass, so that what
        they share is in the nearest cache.
        """
        level: dict[int, tuple[int, int]] = {}
        loops: dict[_Place, Loop] = {}
        keys: dict[int, _Place] = {}
        for node in live:
            if node.operation in ("constant", "input"):
                continue
            space, at, by_state = space_of(node), (0, 0), self._is_by_state(node)
            for view, place in self._inputs(node):
                other = view.node
                if other.operation in ("constant", "input"):
                    continue
                one, two = level[other.number]
                is_here = (
                    not is_result(other) and space_of(other) == space and view.is_whole()
                    and self._is_by_state(other) == by_state and not reads_others(node, place))
                is_number = not is_result(other) and not space_of(other)
                if is_here or is_number:
                    ready = (one, two)
                else:
                    ready = (one, two + 1) if self._is_local(node, view, place) else (one + 1, 0)
                at = max(at, ready)
            level[node.number] = at
            key = (at[0], at[1] + 1 if by_state else 0, math.prod(space), space)
            keys[node.number] = key
            loops.setdefault(key, Loop(space)).nodes.append(node)
        ordered = sorted(loops)
        place_of = {key: place for place, key in enumerate(ordered)}
        passes: list[list[Loop]] = []
        for before, key in zip([None, *ordered], ordered, strict=False):
            joins = before is not None and before[0] == key[0] and before[1] > 0 and key[1] > 0
            if joins:
                passes[-1].append(loops[key])
            else:
                passes.append([loops[key]])
        return passes, {n: place_of[key] for n, key in keys.items()}

    def _ends(self) -> tuple[Loop | None, Loop | None]:
        """Return the loop that makes the new logits, and that of what is known of the logits alone.

        The last loop puts new logits in place, once the guards hold, and goes through the first one for
        the next step on its way.
        """
        node = self.step.logits.node
        last = next((loop for (loop, *_) in self.passes if node in loop.nodes), None)
        if (self.lanes > 1 or self.n_states > 1 or last is None or not self.step.logits.is_whole()
                or not all(is_elementwise(each) for each in last.nodes)):
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
                    is_elementwise(each) or (each.operation in _OF_ALL and math.prod(each.shape) == 1)
                    for each in loop.nodes) and all(
                    view.node.number in known or view.node.operation == "constant"
                    or (view.is_whole() and view.node.operation == "input"
                        and view.node.parameter.startswith("logits"))
                    for each in loop.nodes for view, _ in self._inputs(each)) and not any(
                    view.node.number in known and not is_result(view.node)
                    for each in others if each.number not in known
                    for view, _ in self._inputs(each)):
                return last, loop
        return last, None

    def _is_by_state(self, node: Node) -> bool:
        """Whether the loop of a node may be one of those within a loop over states."""
        space = space_of(node)
        return (self.n_states > 1 and len(space) > 0 and space[0] == self.n_states
                and node.operation not in ("scatter", "rank"))

    def _is_local(self, node: Node, view: View, place: int) -> bool:
        """Whether a node reads in each state's pass what the same pass has computed."""
        other = view.node
        if reads_others(node, place) or not (self._is_by_state(node) and self._is_by_state(other)):
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
            if (reader is not None and not is_source and not is_result(node)
                    and self.loop_of[node.number] == self.loop_of[reader.number] and view.is_whole()):
                return
            kept.add(node.number)

        for node in live:
            for view, place in self._inputs(node):
                read(view, node, reads_others(node, place))
        for view in self.outputs:
            if self.last is None or view is not self.step.logits:
                read(view, None)
        for node in live:
            if node.operation == "scatter" and self._is_cleared_after(node):
                read(node.arguments[0], None)
        for node in live:
            if node.number in kept or (is_result(node) and math.prod(node.shape) > 1
                                       and node.operation not in ("constant", "input")):
                size = math.prod(node.shape)
                if node.number not in read_later and len(self.passes[passes[node.number]]) > 1:
                    # One state after another uses the same space.
                    size //= self.n_states
                    self.of_state[node.number] = size
                self.slots[node.number] = self.n_work
                self.n_work += size

    def _is_cleared_after(self, node: Node) -> bool:
        """Whether few of the sums of a node are not 0, so that these alone are cleared, after a step."""
        few = 4 * math.prod(node.arguments[0].shape) < node.shape[0]
        return self.lanes == 1 and self.last is not None and few

    def _is_long(self, space: Sequence[int]) -> bool:
        return bool(space) and space[-1] > SHORT
