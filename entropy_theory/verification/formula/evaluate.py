"""Numbers for terms: float64 arrays, or arrays of balls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from entropy_theory.verification.formula.terms import Axis, Term, UntraceableError


class Numbers:
    """The values of terms on one batch of instances; each term is computed once.

    Args:
        fields: the parameters' arrays by name, with the instances on the first axis.
        exact: whether they are balls, so that constants must be.
        sizes: the lengths of the axes.
    """

    def __init__(self, fields: Mapping[str, Any], exact: bool, sizes: Mapping[Axis, int]) -> None:
        self._fields = fields
        self._exact = exact
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
            return Numbers(given, self._exact, self.sizes).of(detail.body)
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
            here = Numbers(self._fields, self._exact, self.sizes)
            here._known = {id(step): self._number(k), **dict(zip(map(id, places), parts, strict=True))}
            parts = [here.of(body) for body in following]
        return parts[part]

    def _number(self, value: Any) -> Any:
        if isinstance(value, bool):
            return np.array([value])
        if not self._exact:
            return np.array([float(value)])
        from flint import arb, fmpq

        ball = np.empty(1, dtype=object)
        ball[0] = arb(value) if isinstance(value, int) else arb(
            fmpq(value.numerator, value.denominator))
        return ball

    def _broadcast(self, term: Term) -> list[Any]:
        parts = [np.asarray(self.of(argument)) for argument in term.arguments]
        many = max(len(part) for part in parts)
        return [np.broadcast_to(part, (many, *part.shape[1:])) for part in parts]

    @staticmethod
    def _flat(part: Any) -> Any:
        return part.reshape(len(part), -1)
