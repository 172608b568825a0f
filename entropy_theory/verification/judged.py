"""The formula that a check judged, as text, to be compared with the author's LaTeX.

A statement is written twice: in LaTeX for readers, and as a function that is checked. Nothing but a
reader can see that they say the same, so both are shown.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from entropy_theory.verification.claim import Statement
from entropy_theory.verification.formula.latex import formula_text
from entropy_theory.verification.formula.plain import latex_to_text
from entropy_theory.verification.formula.terms import ACTIONS, UntraceableError

_SIGNS = {">": "> 0", ">=": "≥ 0", "==": "= 0"}


def judged(statement: Statement) -> list[str]:
    """The formula of a statement as text, in lines; where it has none, the code of its functions."""
    try:
        lines = [latex_to_text(line) for line in formula_text(statement.formula).splitlines()]
        return [*lines, *sizes(statement)]
    except UntraceableError as error:
        lines = [f"the numbers of this function {_SIGNS[statement.relation]} (not one formula: {error})"]
        lines += source(statement.margin)
        for condition in statement.conditions:
            sign, said = _SIGNS[condition.relation], latex_to_text(condition.latex)
            lines.append(f"where this is {sign} or true ({said})")
            lines += source(condition.value)
        return lines


def sizes(statement: Statement) -> list[str]:
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
    try:
        found = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        found = f"{code.co_name}, which is in no file"
    lines = [f"    {line}" for line in found.splitlines()]
    for name, value in inspect.getclosurevars(function).nonlocals.items():
        lines += [f"    with {name} = {value!r}"] if not callable(value) else [
            f"    with {name}:", *source(value)]
    return lines
