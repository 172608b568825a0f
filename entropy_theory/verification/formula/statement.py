"""A statement as one formula: for all parameters in their ranges, the hypotheses imply the conclusion."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory.verification.formula import rocq, rocq_domains, rocq_words, terms
from entropy_theory.verification.formula.evaluate import Numbers
from entropy_theory.verification.formula.simplify import Simplifier
from entropy_theory.verification.formula.terms import ACTIONS, Axes, Kind, Term, UntraceableError


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    """Where the entries of a parameter lie; None leaves a side open.

    Attributes:
        low: lower bound.
        high: upper bound.
        open_low: whether the lower bound itself is left out.
        open_high: whether the upper bound itself is left out.
    """

    low: Fraction | int | None = None
    high: Fraction | int | None = None
    open_low: bool = False
    open_high: bool = False

    def __post_init__(self) -> None:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"an empty range: from {self.low} to {self.high}")

    def contains(self, values: Any) -> bool:
        """Whether all values lie in the range."""
        array = np.asarray(values, dtype=float)
        low = self.low is None or bool(np.all(
            array > float(self.low) if self.open_low else array >= float(self.low)))
        high = self.high is None or bool(np.all(
            array < float(self.high) if self.open_high else array <= float(self.high)))
        return low and high


POSITIVE = Range(low=0, open_low=True)
ANY = Range()


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """A parameter, for all values of which a statement holds.

    Attributes:
        name: field of the instances.
        axes: its axes, the batch's aside.
        kind: numbers, or a mask.
        range: of its entries.
        nonempty: of a mask, whether it holds something.
    """

    name: str
    axes: Axes = ()
    kind: Kind = "real"
    range: Range = ANY
    nonempty: bool = False

    @property
    def term(self) -> Term:
        """The parameter as it stands in formulas."""
        return terms.field(self.name, self.axes, self.kind)


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameters:
    """All parameters of a claim.

    Attributes:
        fields: in the order in which they are quantified.
        fewest: the least number of actions.
        most: the largest number of actions, if the statement is about no more.
        longest: the longest responses, if the statement is about no longer ones.
        rows: if the statement is about listed values only, these: the fields of each row by name, a
            number or one for each action.
    """

    fields: tuple[Parameter, ...] = ()
    fewest: int = 2
    most: int | None = None
    longest: int | None = None
    rows: tuple[tuple[tuple[str, Fraction | tuple[Fraction, ...]], ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Relation:
    """A number beside zero: ``term`` RELATION 0, or a truth value if there is no sign.

    Attributes:
        term: a number, or several.
        sign: ">", ">=", "==", or None.
    """

    term: Term
    sign: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Formula:
    """A statement, traced.

    Attributes:
        parameters: those that the formula speaks of.
        hypotheses: what is supposed beyond the ranges.
        conclusion: what follows.
        beyond: propositions that follow too, of which no finite computation can be made (`limits`).
    """

    parameters: Parameters
    hypotheses: tuple[Relation, ...]
    conclusion: Relation
    beyond: tuple[Term, ...] = ()
    _text: dict[str, tuple[str, str, str]] = field(default_factory=dict, compare=False)

    def margins(self, numbers: Numbers) -> Any:
        """The conclusion's numbers on a batch."""
        return numbers.of(self.conclusion.term)

    def rocq(self, name: str = "statement", *, beside: bool = True, witnesses: bool = True) -> str:
        """The definitions that the statement uses, and the statement, for the proof kernel.

        Args:
            name: what the statement is called.
            beside: whether the propositions follow that its hypotheses can be met and that it is defined.
            witnesses: whether the first of them do.

        Raises:
            UntraceableError: something in it has no form for the kernel.
        """
        if name not in self._text:
            self._text[name] = _rocq(self, name)
        statement, met, defined = self._text[name]
        parts = [statement, met if beside and witnesses else "", defined if beside else ""]
        return "\n\n".join(filter(None, parts)) + "\n"


class SymbolicCases:
    """Parameters as a margin sees them while it is traced: a term for each field."""

    def __init__(self, parameters: Parameters) -> None:
        self.__dict__.update({p.name: p.term for p in parameters.fields})

    def __getattr__(self, name: str) -> Any:
        raise UntraceableError(f"these instances have no parameter '{name}', only {sorted(vars(self))}")


def relation(value: Any, sign: str | None) -> Relation:
    """Return what a margin or a hypothesis computed, compared with zero.

    Raises:
        UntraceableError: the value is not a term.
    """
    if not isinstance(value, Term):
        raise UntraceableError(f"a {type(value).__name__} instead of a formula")
    return Relation(value, None if value.kind == "mask" else sign)


def used_fields(relations: Iterable[Relation]) -> set[str]:
    """The names of all parameters that occur."""
    return {name for r in relations for name in _fields(r.term)}


@functools.cache
def _fields(term: Term) -> frozenset[str]:
    # A definition's own parameters are fields too, but of other names' sake: its arguments count.
    if term.operation.name == "field":
        return frozenset([term.operation.detail])
    return frozenset().union(*map(_fields, term.arguments))


def subterms(roots: Iterable[Term]) -> Iterable[Term]:
    """All terms within the given ones, those of definitions included, each once."""
    seen: set[int] = set()
    left = list(roots)
    while left:
        term = left.pop()
        if id(term) not in seen:
            seen.add(id(term))
            yield term
            left += term.arguments
            if term.operation.name == "call":
                left.append(term.operation.detail.body)


# ---------------------------------------------------------------- for the kernel

LONGEST = 20_000
"""Symbols of a formula, written out; a longer one nobody could read."""


def refuse_if_long(relations: Iterable[Relation]) -> None:
    """Refuse to write out what nobody could read.

    Raises:
        UntraceableError: the formula has more than `LONGEST` symbols.
    """
    length = sum(rocq_words.length(r.term) for r in relations)
    if length > LONGEST:
        raise UntraceableError(f"a formula of {length:.1e} symbols; give its parts names "
                               "(`definition`) or write repeated steps as a run")


def _rocq(formula: Formula, name: str) -> tuple[str, str, str]:
    """The definitions and the statement; its witnesses; and that it is defined (`rocq_domains`).

    Witnesses are propositions that what it supposes can be met.
    """
    simplifier = Simplifier()
    *hypotheses_in, conclusion_in = (
        Relation(simplifier.of(r.term), r.sign) for r in (*formula.hypotheses, formula.conclusion))
    beyond = [simplifier.of(term) for term in formula.beyond]
    relations = (*hypotheses_in, conclusion_in, *(Relation(term, None) for term in beyond))
    used = used_fields(relations)
    fields = [p for p in formula.parameters.fields if p.name in used]
    refuse_if_long(relations)
    writer = rocq.Writer()
    hypotheses = [*(line for p in fields for line in _ranges(p))]
    hypotheses += [_proposition(writer, r) for r in hypotheses_in]
    conclusions = [_proposition(writer, conclusion_in)]
    conclusions += [writer.for_all(term, None) for term in beyond]
    conclusion = " /\\\n  ".join(map(_bracketed, conclusions)) if beyond else conclusions[0]
    axes = rocq_words.axes_of([*(r.term for r in relations), *(p.term for p in fields)])
    sizes = rocq_words.size_names(axes)
    binders = [f"({' '.join(sizes)} : nat)"] if sizes else []
    binders += [f"({rocq_words.identifier(p.name)} : {rocq_words.type_of(p.axes, p.kind)})"
                for p in fields]
    premises = [*map(_bracketed, (*_size_ranges(formula.parameters, sizes),
                                  *_rows(formula.parameters, used), *hypotheses))]
    met = [premises, *([*premises, text] for text in map(writer.met, beyond) if text)]
    quantified = " ".join(binders) + ",\n  "
    names = {*writer.definitions, *(rocq_words.identifier(p.name) for p in fields)}
    if clash := sorted(names & rocq_words.taken()):
        raise UntraceableError(f"{clash[0]} has another meaning in the library: give it another name")
    parts = [rocq.definition_text(d, writer.definitions) for d in writer.definitions.values()]
    parts += [f"Definition {name} : Prop :=\n  " + (f"forall {quantified}" if binders else "")
              + " ->\n  ".join([*premises, conclusion]) + "."]
    witnesses = [f"Definition witness{f'_{k}' if k else ''} : Prop :=\n  "
                 + (f"exists {quantified}" if binders else "") + " /\\\n  ".join(said) + "."
                 for k, said in enumerate(met) if said]
    defined = rocq_domains.defined(
        writer, [r.term for r in relations], (f"forall {quantified}" if binders else "", premises))
    return "\n\n".join(parts), "\n\n".join(witnesses), "\n\n".join(defined)


def _size_ranges(parameters: Parameters, sizes: Sequence[str]) -> list[str]:
    lines = []
    for size in sizes:
        low = parameters.fewest if size == "n" else 1
        high = parameters.most if size == "n" else parameters.longest if size == "h" else None
        if high == low:
            lines.append(f"{size} = {low}%nat")
        else:
            lines.append(f"({low} <= {size})%nat")
            lines += [f"({size} <= {high})%nat"] if high is not None else []
    return lines


def _rows(parameters: Parameters, used: set[str]) -> list[str]:
    """That the parameters are one of the listed rows, in which those not used are left out."""

    def values(name: str, value: Fraction | tuple[Fraction, ...]) -> list[str]:
        name = rocq_words.identifier(name)
        if isinstance(value, Fraction):
            return [f"{name} = {rocq_words.constant_text(value)}"]
        return [f"{name} {k}%nat = {rocq_words.constant_text(v)}" for k, v in enumerate(value)]

    lines = [" /\\ ".join(text for name, value in row if name in used for text in values(name, value))
             for row in parameters.rows]
    return ["(" + ") \\/\n   (".join(lines) + ")"] if lines else []


def _ranges(parameter: Parameter) -> list[str]:
    """Hypotheses on the range of one parameter."""
    name, axes = rocq_words.identifier(parameter.name), [a for a in parameter.axes if a is not None]
    names = [rocq_words.BINDERS[axis][0] for axis in axes]
    inside = "".join(f"forall {k}, {rocq_words.INSIDE[axis].format(k)} -> "
                     for axis, k in zip(axes, names, strict=True))
    entry = " ".join([name, *names])
    if parameter.kind == "mask":
        if not parameter.nonempty:
            return []
        if axes == [ACTIONS]:
            return [f"nonempty n {name}"]
        last = rocq_words.INSIDE[axes[-1]].format(names[-1])
        lead = "".join(f"forall {k}, {rocq_words.INSIDE[axis].format(k)} -> "
                       for axis, k in zip(axes[:-1], names, strict=False))
        return [f"{lead}exists {names[-1]}, {last} /\\ {entry} = true"]
    bounds = parameter.range
    lines = []
    for bound, is_open, form in ((bounds.low, bounds.open_low, "{1} {0} {2}"),
                                 (bounds.high, bounds.open_high, "{2} {0} {1}")):
        if bound is not None:
            number = rocq_words.constant_text(Fraction(bound))
            lines.append(inside + form.format("<" if is_open else "<=", number, entry))
    return lines


def _proposition(writer: rocq.Writer, r: Relation) -> str:
    """For all entries: the number beside zero; several numbers are a conjunction."""
    if r.term.operation.name == "several":
        parts = [_proposition(writer, Relation(t, r.sign)) for t in r.term.arguments]
        return " /\\\n  ".join(_bracketed(part) for part in parts)
    return writer.for_all(r.term, r.sign)


def _bracketed(text: str) -> str:
    joined = any(sign in text for sign in ("/\\", "\\/", "->"))
    return f"({text})" if joined or text.startswith(("forall", "exists")) else text
