"""Terms as mathematics to be read: LaTeX, from the same graph as the kernel's text."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from entropy_theory.verification.formula.definitions import Definition
from entropy_theory.verification.formula.latex_writer import (
    Writer,
    number_text,
    symbol_of,
    with_places,
    word_of,
)
from entropy_theory.verification.formula.simplify import Simplifier
from entropy_theory.verification.formula.statement import (
    Formula,
    Parameter,
    Relation,
    refuse_if_long,
    used_fields,
)
from entropy_theory.verification.formula.terms import UntraceableError


def formula_text(formula: Formula) -> str:
    """A statement as lines of LaTeX: ranges and hypotheses, conclusions, the definitions that they
    use."""
    simplifier, writer = Simplifier(), Writer()
    relations = (*formula.hypotheses, formula.conclusion)
    refuse_if_long(relations)
    used = used_fields([*relations, *(Relation(t, None) for t in formula.beyond)])
    ranges = [line for p in formula.parameters.fields if p.name in used for line in _range(p)]
    premises = [writer.proposition(simplifier.of(h.term), h.sign) for h in formula.hypotheses]
    conclusions = [writer.proposition(simplifier.of(formula.conclusion.term), formula.conclusion.sign)]
    conclusions += [writer.proposition(simplifier.of(term), None) for term in formula.beyond]
    lines = [r",\quad ".join([*ranges, *premises])] if ranges or premises else []
    lines += [(r"\Rightarrow\quad " if lines else "") + conclusion for conclusion in conclusions]
    done: set[str] = set()
    while left := [d for d in writer.definitions.values() if d.name not in done]:
        for defined in left:
            done.add(defined.name)
            lines.append(r"\mathrm{where}\quad " + _definition(writer, defined))
    return "\n".join(lines)


def _definition(writer: Writer, defined: Definition) -> str:
    names = ", ".join(symbol_of(p.operation.detail) for p in defined.parameters)
    axes = [axis for axis in defined.body.axes if axis is not None]
    with writer.places(axes) as places:
        here = iter(places)
        index = tuple(None if axis is None else next(here) for axis in defined.body.axes)
        body = writer.text(defined.body, index)
    head = rf"\operatorname{{{word_of(defined.name)}}}({names})"
    return f"{with_places(head, places)} = {body}"


def _range(parameter: Parameter) -> list[str]:
    symbol, bounds = symbol_of(parameter.name), parameter.range
    if parameter.kind == "mask":
        return [rf"{symbol} \ne \emptyset"] if parameter.nonempty else []
    below, above = ("<" if is_open else r"\le" for is_open in (bounds.open_low, bounds.open_high))
    low = "" if bounds.low is None else f"{number_text(Fraction(bounds.low))[0]} {below} "
    high = "" if bounds.high is None else f" {above} {number_text(Fraction(bounds.high))[0]}"
    return [low + symbol + high] if low or high else []


def formula_or_none(formula: Callable[[], Formula]) -> str | None:
    """The LaTeX of a formula, or None where the statement has none."""
    try:
        return formula_text(formula())
    except UntraceableError:
        return None
