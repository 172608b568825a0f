"""Functions with a name of their own in formulas."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from entropy_theory.verification.formula.terms import (
    Operation,
    Term,
    UntraceableError,
    field,
    is_term,
    make,
)


@dataclass(frozen=True, slots=True)
class Definition:
    """A function with a name of its own in formulas.

    Attributes:
        name: as shown and as written for the kernel.
        parameters: its formal parameters, fields of their names.
        body: what it computes.
        doc: its docstring's first line.
    """

    name: str
    parameters: tuple[Term, ...]
    body: Term
    doc: str


_DEFINITIONS: dict[Any, Definition] = {}


def definition(function: Callable[..., Any]) -> Any:
    """Give a function its name in formulas: there it is applied by name and defined once.

    Arguments that are not terms (a sign, a flag, None) are part of which function it is.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def wrapper(*arguments: Any, **options: Any) -> Any:
        if not is_term(*arguments, *options.values()):
            return function(*arguments, **options)
        bound = signature.bind(*arguments, **options)
        bound.apply_defaults()
        given = {k: v for k, v in bound.arguments.items() if isinstance(v, Term)}
        fixed = {k: v for k, v in bound.arguments.items() if not isinstance(v, Term)}
        defined = _defined(function, signature, given, fixed)
        return make(Operation("call", detail=defined), tuple(given.values()), defined.body.axes,
                    defined.body.kind)

    return wrapper


def _defined(
    function: Callable[..., Any], signature: inspect.Signature, given: Mapping[str, Term],
    fixed: Mapping[str, Any],
) -> Definition:
    key = (function, tuple((k, t.axes, t.kind) for k, t in given.items()), tuple(fixed.items()))
    try:
        known = _DEFINITIONS.get(key)
    except TypeError as error:
        raise UntraceableError(f"{function.__name__} with an argument that is not a constant") from error
    if known is None:
        formal = {name: field(name, term.axes, term.kind) for name, term in given.items()}
        body = function(**{**fixed, **formal})
        if not isinstance(body, Term):
            raise UntraceableError(f"{function.__name__}, which returns no term")
        unusual = [f"{name}_{_word(value)}" for name, value in fixed.items()
                   if value is not signature.parameters[name].default]
        missing = [f"without_{name}" for name, value in fixed.items()
                   if value is None and signature.parameters[name].default is None]
        known = Definition("_".join([function.__name__.strip("_"), *missing, *unusual]),
                           tuple(formal.values()), body, (function.__doc__ or "").split("\n")[0])
        _DEFINITIONS[key] = known
    return known


def _word(value: Any) -> str:
    name = getattr(value, "__name__", str(value))
    return "".join(c if c.isalnum() else "_" for c in name.replace("-", "minus "))
