"""Numbers for terms: float64 arrays, or arrays of balls or symbols."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory.verification.formula.terms import Axis, Term, UntraceableError


def as_ball(value: Fraction | int) -> Any:
    """The ball that a constant is."""
    from flint import arb, fmpq

    return arb(value) if isinstance(value, int) else arb(fmpq(value.numerator, value.denominator))


class Numbers:
    """The values of terms on one batch of instances; each term is computed once.

    Args:
        fields: the parameters' arrays by name, with the instances on the first axis.
        constant: makes the number that a constant is: `float`, `as_ball`, or a symbol's kind.
        sizes: the lengths of the axes.
    """

    def __init__(
        self, fields: Mapping[str, Any], constant: Callable[[Any], Any], sizes: Mapping[Axis, int]
    ) -> None:
        self._fields = fields
        self._constant = constant
        self._known: dict[int, Any] = {}
        self.sizes = sizes

    def of(self, term: Term) -> Any:
        """The value of a term: an array with the instances on the first axis.

        That axis has length one for what is the same for all of them.
        """
        known = self._known.get(id(term))
        if known is None:
            known = self._known[id(term)] = self._compute(term)
        return known

    def _compute(self, term: Term) -> Any:
        name, detail = term.operation.name, term.operation.detail
        if name == "field":
            return self._fields[detail]
        if name == "constant":
            return self._number(detail)
        if name == "size":
            return self._number(self.sizes[detail])
        if name == "several":
            return np.concatenate([self._flat(part) for part in self._broadcast(term)], axis=1)
        if name == "run":
            return self._run(term)
        values = [self.of(argument) for argument in term.arguments]
        if name == "call":
            given = dict(zip((p.operation.detail for p in detail.parameters), values, strict=True))
            return type(self)(given, self._constant, self.sizes).of(detail.body)
        if term.operation.evaluate is None:
            raise UntraceableError(f"'{name}' has no value")
        return term.operation.evaluate(*values)

    def _run(self, term: Term) -> Any:
        """Where a run is after a given number of steps."""
        step, places, part = term.operation.detail
        many = len(places)
        *following, count = (*term.arguments[:many], term.arguments[-1])
        if count.operation.name != "constant":
            raise UntraceableError("a run of no given number of steps has no value")
        parts = [self.of(start) for start in term.arguments[many:-1]]
        for k in range(int(count.operation.detail)):
            here = copy.copy(self)
            here._known = {id(step): self._number(k), **dict(zip(map(id, places), parts, strict=True))}
            parts = [here.of(body) for body in following]
        return parts[part]

    def _number(self, value: Any) -> Any:
        if isinstance(value, bool):
            return np.array([value])
        return np.array([self._constant(value)])

    def _broadcast(self, term: Term) -> list[Any]:
        parts = [np.asarray(self.of(argument)) for argument in term.arguments]
        many = max(len(part) for part in parts)
        return [np.broadcast_to(part, (many, *part.shape[1:])) for part in parts]

    @staticmethod
    def _flat(part: Any) -> Any:
        return part.reshape(len(part), -1)
