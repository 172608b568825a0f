"""The formula that a check judged, as text, to be compared with the author's LaTeX.

A statement is written twice: in LaTeX for readers, and as a function that is checked. Nothing but a
reader can see that they say the same, so both are shown.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

from entropy_theory.verification.claim import Statement
from entropy_theory.verification.formula.latex import formula_text
from entropy_theory.verification.formula.plain import plain
from entropy_theory.verification.formula.terms import ACTIONS, UntraceableError

_SIGNS = {">": "> 0", ">=": "≥ 0", "==": "= 0"}


def judged(statement: Statement) -> list[str]:
    """The formula of a statement as text, in lines; where it has none, the code of its functions."""
    try:
        lines = [plain(line) for line in formula_text(statement.formula).splitlines()]
        return [*lines, *_sizes(statement)]
    except UntraceableError as error:
        lines = [f"the numbers of this function {_SIGNS[statement.relation]} (not one formula: {error})"]
        lines += source(statement.margin)
        for condition in statement.conditions:
            lines.append(f"where this is {_SIGNS[condition.relation]} or true ({plain(condition.latex)})")
            lines += source(condition.value)
        return lines


def _sizes(statement: Statement) -> list[str]:
    """For how many actions, or tokens, it is said."""
    parameters = statement.parameters
    if parameters is None or not any(ACTIONS in p.axes for p in parameters.fields):
        return []
    if parameters.fewest == parameters.most:
        return [f"for n = {parameters.most}"]
    return [f"for all n ≥ {parameters.fewest}"]


def source(function: Callable[..., Any]) -> list[str]:
    """The code of a function as it stands in its file, and the values that it was made with."""
    code = getattr(function, "__code__", None)
    if code is None:
        return [f"    {function!r}"]
    found = _node(code)
    lines = [f"    {line}" for line in found.splitlines()] if found else [
        f"    {code.co_name}, which is in no file"]
    for name, value in inspect.getclosurevars(function).nonlocals.items():
        lines += [f"    with {name} = {value!r}"] if not callable(value) else [
            f"    with {name}:", *source(value)]
    return lines


def _node(code: Any) -> str:
    """The text of the function or lambda that this code was compiled from."""
    text = "".join(linecache.getlines(code.co_filename))
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return ""
    first = next(((line, column) for line, _, column, _ in code.co_positions()
                  if line is not None and column is not None and line >= code.co_firstlineno
                  and (line, column) > (code.co_firstlineno, 0)), None)
    best = ""
    for node in _functions(tree):
        starts = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
        if starts != code.co_firstlineno or getattr(node, "name", "<lambda>") != code.co_name:
            continue
        inside = first is None or node.lineno < first[0] or (
            (node.lineno, node.col_offset) <= first <= (node.end_lineno or 0, node.end_col_offset or 0))
        if inside:
            best = ast.get_source_segment(text, node, padded=True) or best
    return textwrap.dedent(best)


def _functions(tree: ast.AST) -> Iterator[Any]:
    return (node for node in ast.walk(tree)
            if isinstance(node, (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef)))
