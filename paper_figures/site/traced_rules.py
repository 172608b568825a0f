"""Writes update rules as JavaScript for the bandit page, from a trace of each rule's own code.

A rule's coefficients are traced on the exact listing of one state of up to `ROWS` actions, of which any
may be masked. The trace's graph is printed, so that no formula is typed twice. Rules with a closed loop
of their own, and those whose code has no such trace, are not offered (`NotTraceable` gives the reason).
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from entropy_theory import tabular
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import RULES, UpdateRule
from simulations.engine.traced.arrays import Trace
from simulations.engine.traced.functions import NAMESPACE
from simulations.engine.traced.intervals import Interval
from simulations.engine.traced.plan import is_elementwise, needed
from simulations.engine.traced.views import BOOLEAN, Node, NotTraceable, View, scalar

ROWS = 8
"""The largest number of actions of the page's bandit."""
INPUTS = {
    "log_prob": Interval(-1e300, 0, False), "old_log_prob": Interval(-1e300, 0, False),
    "reference_log_prob": Interval(-1e300, 0, False), "entropy": Interval(0, 100, False),
    "old_entropy": Interval(0, 100, False), "weight": Interval(0, 1, False),
    "reward": Interval(0, 1, False), "mask": Interval(0, 1, False),
}
"""The columns that the page gives a rule, each of ROWS numbers, and what holds them. Those that start
with "old" are of the policy that the batch is of; log-probabilities of masked rows are 0."""
_INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "less": "<", "less_equal": "<=",
    "equal": "===", "not_equal": "!==", "logical_and": "&&", "logical_or": "||"}
_CALLS = {
    "exp": "Math.exp", "log": "Math.log", "log1p": "Math.log1p", "expm1": "Math.expm1",
    "sqrt": "Math.sqrt", "absolute": "Math.abs", "floor": "Math.floor", "ceil": "Math.ceil",
    "minimum": "Math.min", "maximum": "Math.max", "tanh": "Math.tanh", "isfinite": "Number.isFinite",
    "isnan": "Number.isNaN", "negative": "-", "logical_not": "!", "to_float": "+", "sign": "Math.sign",
    "to_boolean": "!!", "to_integer": "Math.trunc"}
_FOLDS = {
    "sum": ("0", "total + x"), "prod": ("1", "total * x"), "max": ("-Infinity", "Math.max(total, x)"),
    "min": ("Infinity", "Math.min(total, x)"), "any": ("0", "total || x"),
    "all": ("1", "total && x")}
"""The start and the step of each reduction."""


def script(names: Sequence[str] = tuple(RULES)) -> str:
    """Return the text of a script that defines ``tracedRules``, the rules by name.

    Each is a function of an object with the columns `INPUTS`. It returns ``{scores, entropy}``, the
    rule's scores and its coefficients of the entropy's gradient, ROWS numbers each. The second is null if
    it has none. All is null where a condition of the rule's code is not as in the trace.
    """
    found = {name: text for name in names if isinstance(text := function(name), str)}
    lines = [f"{json.dumps(name)}: {text}," for name, text in found.items()]
    return "\n".join([
        "/* Written by paper_figures.site.traced_rules from the code of the update rules. */",
        '"use strict";', "const tracedRules = {", *lines, "};", ""])


@functools.cache
def function(name: str) -> str | NotTraceable:
    """Return a rule as JavaScript, or the reason why it is not offered."""
    rule = RULES[name]()
    try:
        if rule.needs.listing:
            raise NotTraceable(rule.needs.listing)
        if rule.controller() or rule.coefficient_controller():
            raise NotTraceable("it has a closed loop, whose state a single step does not show")
        return _printed(*_traced(rule))
    except NotTraceable as reason:
        return reason


def _traced(rule: UpdateRule) -> tuple[Trace, dict[str, View]]:
    """Trace a rule as `Runs.rows` asks it: prepared at the start of the batch, and at a later policy."""
    generator = np.random.default_rng(0)
    old, new, reference = generator.normal(size=(3, 1, 1, ROWS))
    reward = (np.arange(ROWS) < ROWS // 2).astype(float)
    batch, now = (tabular.listing(z, reward, reference_logits=reference) for z in (old, new))
    examples = {name: np.ascontiguousarray(getattr(batch, name)) for name in INPUTS} | {
        "log_prob": now.log_prob, "entropy": now.entropy}
    trace = Trace(1)
    columns: dict[str, Any] = {
        name: trace.input(name, examples[name], holds) for name, holds in INPUTS.items()}
    start = batch.replace(
        **columns | {"log_prob": columns["old_log_prob"], "entropy": columns["old_entropy"]},
        sampling_log_prob=columns["old_log_prob"], listed=True,
        sequence=np.arange(ROWS).reshape(batch.mask.shape))
    moved = {"log_prob": columns["log_prob"]}
    if "old_entropy" in rule.needs.columns:
        moved["entropy"] = columns["entropy"]
    later = rule.prepare(start).replace(**moved)
    if rule.needs.every_step:
        later = rule.prepare(later.replace(prepared={}))
    return trace, _coefficients(trace, rule, later)


def _coefficients(trace: Trace, rule: UpdateRule, batch: TokenBatch) -> dict[str, View]:
    found: dict[str, Any] = {"scores": rule.scores(batch), **rule.state_terms(batch)}
    if found.keys() - {"scores", "entropy"}:
        raise NotTraceable("it moves a state function other than the entropy")
    shape = batch.mask.shape
    return {name: trace.view(NAMESPACE.broadcast_to(NAMESPACE.asarray(x), shape), 3)
            for name, x in found.items()}


def _printed(trace: Trace, results: dict[str, View]) -> str:
    ends = [*results.values(), *(view for view, _ in trace.graph.guards)]
    kept, lines = [], []
    for node in needed(ends):
        before, line = _statement(node)
        kept += before
        lines += line
    lines += [f"if ({'' if not expected else '!'}({_element(view, 0)})) return null;"
              for view, expected in trace.graph.guards]
    given = ", ".join(
        f"{name}: " + (_listed(results[name]) if name in results else "null")
        for name in ("scores", "entropy"))
    return "\n".join(
        ["(() => {", *kept, "return (c) => {", *lines, f"return {{ {given} }};", "};", "})()"])


def _statement(node: Node) -> tuple[list[str], list[str]]:
    """Return what makes a node once, and what computes it at each call."""
    name, size = f"v{node.number}", math.prod(node.shape)
    if node.operation == "constant":
        values = [_number(value) for value in np.ravel(np.asarray(node.value)[0])]
        return ([f"const {name} = [{', '.join(values)}];"] if size > 1 else []), []
    if node.operation == "input":
        return [], [f"const {name} = c.{node.parameter};"]
    tables = [line for place, view in enumerate(node.arguments)
              if isinstance(_pattern(view), list)
              for line in [f"const t{node.number}_{place} = {json.dumps(_pattern(view))};"]]
    make = f"const {name} = new {'Uint8' if node.kind == BOOLEAN else 'Float64'}Array({size});"
    return [*tables, make], list(_computed(node, name, size))


def _computed(node: Node, name: str, size: int) -> Iterator[str]:
    def read(place: int, at: str) -> str:
        view = node.arguments[place]
        pattern = _pattern(view)
        if isinstance(pattern, list):
            return f"v{view.node.number}[t{node.number}_{place}[{at}]]"
        return f"v{view.node.number}[{at}]" if pattern is None else _element(view, 0)

    def loop(n: int, body: str, at: str = "i") -> str:
        if n == 1:
            return f"{{const {at}=0;{body}}}"
        return f"for(let {at}=0;{at}<{n};{at}++){{{body}}}"

    operation = node.operation
    width = node.arguments[0].shape[-1] if node.arguments and node.arguments[0].shape else 1
    if is_elementwise(node):
        values = [read(place, "i") for place in range(len(node.arguments))]
        yield loop(size, f"{name}[i] = {_expression(operation, values)};")
    elif operation in _FOLDS:
        inner = math.prod(node.arguments[0].shape) // size
        begin, step = _FOLDS[operation]
        yield loop(size, f"let total = {begin}; " + loop(
            inner, f"const x = {read(0, f'i * {inner} + j')}; total = {step};", "j")
            + f" {name}[i] = total;")
    elif operation == "rank":  # (NaN goes last; of equals the first stands first)
        yield loop(size, f"const row = i - i % {width}, x = {read(0, 'i')}; let place = 0; " + loop(
            width, f"const y = {read(0, 'row + j')}; "
            "if (y < x || (x !== x && y === y) || ((y === x || (x !== x && y !== y)) && row + j < i)) "
            "place += 1;", "j") + f" {name}[i] = place;")
    elif operation == "cumulative_sum":
        yield loop(size, f"{name}[i] = (i % {width} ? {name}[i - 1] : 0) + {read(0, 'i')};")
    elif operation == "gather":
        yield loop(size, f"{name}[i] = v{node.arguments[1].node.number}[{read(0, 'i')}];")
    elif operation == "scatter":
        yield f"{name}.fill(0);"
        yield loop(math.prod(node.arguments[1].shape), f"{name}[{read(0, 'i')}] += {read(1, 'i')};")
    else:
        raise NotTraceable(f"the operation {operation} has no JavaScript here")


def _expression(operation: str, values: Sequence[str]) -> str:
    if operation == "where":
        return f"{values[0]} ? {values[1]} : {values[2]}"
    if operation == "square":
        return f"{values[0]} * {values[0]}"
    if operation in _INFIX:
        return f" {_INFIX[operation]} ".join(values)
    if operation in _CALLS:
        return f"{_CALLS[operation]}({', '.join(values)})"
    raise NotTraceable(f"the operation {operation} has no JavaScript here")


def _pattern(view: View) -> int | list[int] | None:
    """Return the one element that a view shows, None for all in order, else their places."""
    places = view.index.ravel()
    if len(places) > 1 and (places == np.arange(len(places))).all():
        return None
    return int(places[0]) if (places == places[0]).all() else places.tolist()


def _element(view: View, place: int) -> str:
    if (known := scalar(view)) is not None:
        return f"({_number(known)})"
    return f"v{view.node.number}[{int(view.index.ravel()[place])}]"


def _listed(view: View) -> str:
    return f"[{', '.join(_element(view, place) for place in range(ROWS))}]"


def _number(value: float) -> str:
    number = float(value)
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    return repr(int(number) if number.is_integer() else number)
