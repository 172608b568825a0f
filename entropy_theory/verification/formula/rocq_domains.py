"""Where a statement's operations are defined, as propositions for the kernel.

In Rocq 1/0 and ln 0 are numbers, but not ones that anybody means. So beside a statement stands `defined`.
Where the hypotheses hold, none of its denominators is zero, no logarithm has an argument at or below
zero, and no root an argument below zero. A condition guards the branches of "if", the conclusion of a
premise and the right side of "and". These parts have to be defined only where the guard lets them count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from entropy_theory.verification.formula.definitions import Definition
from entropy_theory.verification.formula.indices import Index, aligned, lead_of, picked
from entropy_theory.verification.formula.rocq_operations import Writing, natural
from entropy_theory.verification.formula.rocq_words import (
    INSIDE,
    SUM,
    TYPES,
    parameters_of,
    sizes_of,
    type_of,
)
from entropy_theory.verification.formula.terms import ELEMENTWISE, Axis, Term

DEFINED = "defined"
_REDUCTIONS = ("total", "mean", "covariance", "largest", "smallest", "all", "any")
_SHARED = {"soft_value_at": 2, "soft_policy": 2}
"""The place among the arguments of what the whole is divided by."""


class Domains:
    """Collects what has to hold for terms to be defined; definitions have a proposition each."""

    def __init__(self, writer: Writing, definitions: dict[str, str]) -> None:
        self.writer = writer
        self.definitions = definitions
        """The text of each definition's proposition; empty where it is always defined."""

    def of(self, term: Term, index: Index = ()) -> list[str]:
        """Return the propositions under which an entry of a term is defined."""
        name, parts = term.operation.name, term.arguments
        if name == "index":
            return self.of(parts[0], picked(term, index))
        if name == "last_axis_first":
            return self.of(parts[0], (*index[1:], index[0]))
        at = [aligned(part, index) for part in parts]
        if name in ("where", "logical_and", "logical_or"):
            found = self.of(parts[0], at[0])
            holds = self.writer.holds(parts[0], at[0])
            guards = (f"({holds})", f"~ ({holds})")[name == "logical_or":]
            for part, place, guard in zip(parts[1:], at[1:], guards, strict=False):
                found += _under(guard, self.of(part, place))
            return _once(found)
        if name in ELEMENTWISE:
            found = [p for part, place in zip(parts, at, strict=True) for p in self.of(part, place)]
            return _once([*found, *self._own(term, at)])
        return _once(self._of_whole(term, index))

    def all_of(self, term: Term, lead: Index = ()) -> list[str]:
        """Return those under which all entries along the axes that the lead leaves open are defined."""
        axes = term.axes[len(lead):]
        with self.writer.places(axes) as (places, _):
            return [_for_all(zip(axes, places, strict=True), p) for p in self.of(term, (*lead, *places))]

    def _own(self, term: Term, at: list[Index]) -> list[str]:
        """Return the conditions of an operation on single numbers on its own arguments."""
        name, parts, write = term.operation.name, term.arguments, self.writer.number
        if name == "divide" and not _is_nonzero_constant(parts[1]):
            return [f"{write(parts[1], at[1], 69)} <> 0"]
        if name == "power" and term.operation.detail < 0:
            return [f"{write(parts[0], at[0], 69)} <> 0"]
        if name in ("log", "log1p"):
            return [f"0 < {'1 + ' if name == 'log1p' else ''}{write(parts[0], at[0], SUM - 1)}"]
        return [f"0 <= {write(parts[0], at[0], 69)}"] if name == "sqrt" else []

    def _of_whole(self, term: Term, index: Index) -> list[str]:
        """Return those under which an operation on whole rows, trees or functions is defined."""
        name, parts, detail = term.operation.name, term.arguments, term.operation.detail
        if name in _PROPOSITIONS:
            return _PROPOSITIONS[name](self, term, index)
        if name in ("entry", "after", "number_of"):
            return []
        if name == "run":
            step, places, _ = detail
            with self.writer.binding(step, *places) as (number, *names):
                inside = f"forall {number} : nat, " + "".join(
                    f"forall {name} : {type_of(place.axes, 'real')}, "
                    for name, place in zip(names, places, strict=True))
                steps = [inside + p if re.search(rf"\b({'|'.join([number, *names])})\b", p) else p
                         for body in parts[:len(places)] for p in self.all_of(body)]
            return [*steps, *(p for part in parts[len(places):] for p in self.all_of(part))]
        if name in ("total", "largest", "smallest") and len(parts) == 2:
            lead = lead_of(parts[0] if parts[0].axes else parts[1], index)
            axes = (parts[0].axes or parts[1].axes)[-1:]
            with self.writer.places(axes) as (places, _):
                here = [aligned(part, (*lead, *places)) for part in parts]
                guard = f"({self.writer.holds(parts[1], here[1])})"
                found = [*self.of(parts[1], here[1]), *_under(guard, self.of(parts[0], here[0]))]
                return [_for_all(zip(axes, places, strict=True), p) for p in found]
        leads = [lead_of(part, index) if name in _REDUCTIONS and part.axes else () for part in parts]
        found = [p for part, lead in zip(parts, leads, strict=True) for p in self.all_of(part, lead)]
        if name == "call" and self._define(detail):
            arguments = [*sizes_of(detail.parameters, detail.body),
                         *(self.writer.function(part, ()) for part in parts),
                         *(str(i) for i, axis in zip(index, term.axes, strict=True) if axis is not None)]
            return [*found, " ".join([f"{detail.name}_{DEFINED}", *arguments])]
        if name in _SHARED:
            return [*found, f"{self.writer.number(parts[_SHARED[name]], (), 69)} <> 0"]
        if name == "binary_entropy":
            p = self.writer.number(parts[0], aligned(parts[0], index), 69)
            return [*found, f"0 < {p}", f"{p} < 1"]
        if name in ("expected_group_step", "group_gain", "square_along_with_coins"):
            size, ddof = (natural(self.writer, part) for part in parts[-2:])
            return [*found, f"({ddof} < {size})%nat"]
        if "_along_with" in name:
            # The mean of the others needs others; every other estimate needs a member.
            least = int(name.endswith("of_others"))
            return [*found, f"({least} < {natural(self.writer, parts[-1])})%nat"]
        if isinstance(detail, tuple) and "temperature" in detail:
            return [*found, f"{self.writer.number(parts[detail.index('temperature')], (), 69)} <> 0"]
        return found

    def _define(self, defined: Definition) -> bool:
        """Write a definition's proposition, if it has one."""
        if defined.name not in self.definitions:
            self.definitions[defined.name] = ""
            inner = Domains(self.writer.fresh(), self.definitions)
            axes = defined.body.axes
            with inner.writer.places(axes) as (places, _):
                found = inner.of(defined.body, places)
                parameters = [*parameters_of(defined.parameters, defined.body),
                              *(f"({place} : {TYPES[axis]})"
                                for place, axis in zip(places, axes, strict=True) if axis is not None)]
            # What it uses comes before it.
            self.definitions.pop(defined.name)
            self.definitions[defined.name] = "" if not found else (
                f"Definition {defined.name}_{DEFINED} {' '.join(parameters)} : Prop :=\n  "
                + conjunction(found) + ".")
        return bool(self.definitions[defined.name])

    def quantified(self, variable: Term, kind: str, parts: Iterable[Term]) -> list[str]:
        """For all values of a variable: each part, where those before it hold."""
        with self.writer.binding(variable) as (name,):
            premises, found = "", []
            for part in parts:
                found += [f"forall {name} : {kind}, {premises}{p}" if re.search(rf"\b{name}\b", p) else p
                          for p in self.all_of(part)]
                premises += f"({self.writer.for_all(part, None)}) -> "
        return found


def defined(writer: Writing, terms: Iterable[Term], given: tuple[str, Sequence[str]]) -> list[str]:
    """The proposition that terms are defined, with what it uses; nothing where they are always.

    Args:
        writer: who wrote the terms, with the names of their parameters.
        terms: the hypotheses and what follows.
        given: the binders of the parameters, and the hypotheses.
    """
    domains = Domains(writer, {})
    asked = _once(p for term in terms
                  for part in (term.arguments if term.operation.name == "several" else (term,))
                  for p in domains.all_of(part))
    if not asked:
        return []
    binders, premises = given
    return [*filter(None, domains.definitions.values()), f"Definition {DEFINED} : Prop :=\n  {binders}"
            + " ->\n  ".join([*premises, conjunction(asked)]) + "."]


def conjunction(propositions: Iterable[str]) -> str:
    """All of them at once."""
    return " /\\\n  ".join(
        f"({p})" if p.startswith("forall") or "->" in p else p for p in propositions)


def _derivative(domains: Domains, term: Term, index: Index) -> list[str]:
    """The function at the point alone: it is continuous there, and so defined near it."""
    body, at, value = term.arguments
    with domains.writer.binding(term.operation.detail) as (name,):
        place = domains.writer.number(at, aligned(at, index), 69)
        found = [f"forall {name} : R, {name} = {place} -> {p}" if re.search(rf"\b{name}\b", p) else p
                 for p in domains.of(body, aligned(body, index))]
    return [*found, *domains.of(at, aligned(at, index)), *domains.of(value, aligned(value, index))]


def _limit(domains: Domains, term: Term, index: Index) -> list[str]:
    sequence, limit = term.arguments
    return [*domains.quantified(term.operation.detail, "nat", [sequence]), *domains.of(limit)]


def _implies(domains: Domains, term: Term, index: Index) -> list[str]:
    premise, conclusion = term.arguments
    return [*domains.all_of(premise),
            *_under(f"({domains.writer.for_all(premise, None)})", domains.all_of(conclusion))]


_PROPOSITIONS: Mapping[str, Callable[[Domains, Term, Index], list[str]]] = {
    "has_derivative": _derivative, "limsup_at_most": _limit, "tends_to": _limit, "implies": _implies,
    "at_every_step": lambda domains, term, index: domains.quantified(
        term.operation.detail, "nat", term.arguments),
    "for_every": lambda domains, term, index: domains.quantified(
        term.operation.detail, type_of(term.operation.detail.axes, "real"), term.arguments),
}


def _for_all(named: Iterable[tuple[Axis | None, str | None]], proposition: str) -> str:
    """For all places that it speaks of."""
    return "".join(f"forall {k}, {INSIDE[axis].format(k)} -> " for axis, k in named
                   if axis is not None and re.search(rf"\b{k}\b", proposition)) + proposition


def _under(guard: str, propositions: list[str]) -> list[str]:
    """Where the guard holds; what a number that it does not speak of has to meet needs no guard."""
    alone = [re.fullmatch(r"(?:INR )?(\w+) <> 0|0 < INR (\w+)", p) for p in propositions]
    return [p if number and not re.search(rf"\b{number[1] or number[2]}\b", guard) else f"{guard} -> {p}"
            for p, number in zip(propositions, alone, strict=True)]


def _once(propositions: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(propositions))


def _is_nonzero_constant(term: Term) -> bool:
    return term.operation.name == "constant" and term.operation.detail != 0
