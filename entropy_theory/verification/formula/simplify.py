"""Terms as a reader would write them: without the zeros and ones that arrays need for their shapes.

Only identities of the real numbers are used, entry by entry; numbers are computed from the terms as they
were traced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from entropy_theory.verification.formula.definitions import Definition
from entropy_theory.verification.formula.terms import Operation, Term, constant, elementwise, make


class Simplifier:
    """Simplifies terms and the definitions that they use, each once."""

    def __init__(self) -> None:
        self._known: dict[int, Term] = {}
        self._definitions: dict[int, Definition] = {}
        self._kept: list[Term] = []

    def of(self, term: Term) -> Term:
        """The simplified term, with the axes of the given one."""
        known = self._known.get(id(term))
        if known is None:
            known = self._known[id(term)] = self._simplified(term)
            self._kept.append(term)
        return known

    def _simplified(self, term: Term) -> Term:
        if term.operation.name == "computed":
            return self.of(term.operation.detail)
        arguments = tuple(map(self.of, term.arguments))
        name = term.operation.name
        if name == "call":
            return make(self._call(term), arguments, term.axes, term.kind)
        shorter = _RULES[name](*arguments) if name in _RULES else None
        if shorter is None:
            same = all(a is b for a, b in zip(arguments, term.arguments, strict=True))
            return term if same else make(term.operation, arguments, term.axes, term.kind)
        if shorter.operation.name == "constant":
            return constant(shorter.operation.detail, term.axes)
        # A scalar that stands where a vector was would lose its axes: then the longer form stays.
        return shorter if shorter.axes == term.axes else make(
            term.operation, arguments, term.axes, term.kind)

    def _call(self, term: Term) -> Operation:
        detail = term.operation.detail
        if id(detail) not in self._definitions:
            self._definitions[id(detail)] = Definition(
                detail.name, detail.parameters, self.of(detail.body), detail.doc)
            self._kept.append(detail.body)
        return Operation("call", detail=self._definitions[id(detail)])


def _value(term: Term) -> Fraction | None:
    detail = term.operation.detail
    return detail if term.operation.name == "constant" and isinstance(detail, Fraction) else None


def _sum(x: Term, y: Term) -> Term | None:
    if _value(x) == 0:
        return y
    return x if _value(y) == 0 else _folded(x, y, lambda a, b: a + b)


def _difference(x: Term, y: Term) -> Term | None:
    if _value(y) == 0:
        return x
    if _value(x) == 0:
        return elementwise("negative", y)
    return _folded(x, y, lambda a, b: a - b)


def _product(x: Term, y: Term) -> Term | None:
    if 0 in (_value(x), _value(y)):
        return constant(0)
    if _value(x) == 1:
        return y
    return x if _value(y) == 1 else _folded(x, y, lambda a, b: a * b)


def _quotient(x: Term, y: Term) -> Term | None:
    if _value(y) == 1:
        return x
    return constant(0) if _value(x) == 0 and _value(y) not in (0, None) else None


def _negative(x: Term) -> Term | None:
    value = _value(x)
    if value is not None:
        return constant(-value)
    return x.arguments[0] if x.operation.name == "negative" else None


def _folded(
    x: Term, y: Term, combine: Callable[[Fraction, Fraction], Fraction]
) -> Term | None:
    a, b = _value(x), _value(y)
    return None if a is None or b is None else constant(combine(a, b))


def _taken(x: Term) -> Term | None:
    value = _value(x)
    return None if value is None else constant(value)


_RULES: Mapping[str, Callable[..., Term | None]] = {
    "add": _sum, "subtract": _difference, "multiply": _product, "divide": _quotient,
    "negative": _negative, "index": _taken,
}
