"""The words of the proof kernel: its notations, types, names and numbers."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from entropy_theory.verification.formula.terms import (
    ACTIONS,
    PARAMETERS,
    PROMPTS,
    RESPONSES,
    STATES,
    STEPS,
    TIME,
    Axes,
    Axis,
    Term,
)

SUM, PRODUCT, POWER, APPLY, ATOM = 50, 40, 30, 10, 0
"""Levels of the notations in Rocq; arguments of applications are atoms."""
BINDERS: Mapping[Axis, str] = {
    ACTIONS: "abcdefg", STATES: "suvw", RESPONSES: "yxw", PROMPTS: "qrk", PARAMETERS: "mo",
    STEPS: "ijl"}
SUMS: Mapping[Axis, str] = {
    ACTIONS: "sum n", STATES: "sum_states n h", RESPONSES: "sum_responses n h", PROMPTS: "sum prompts",
    PARAMETERS: "sum parameters",
}
TYPES: Mapping[Axis, str] = {
    ACTIONS: "nat", STATES: "state", RESPONSES: "state", PROMPTS: "nat", PARAMETERS: "nat",
    STEPS: "nat", TIME: "R"}
INSIDE: Mapping[Axis, str] = {
    ACTIONS: "({0} < n)%nat", STATES: "state_of n h {0}", RESPONSES: "response_of n h {0}",
    PROMPTS: "({0} < prompts)%nat", PARAMETERS: "({0} < parameters)%nat",
}
BEYOND = ("has_derivative", "limsup_at_most", "tends_to", "for_every", "at_every_step", "implies")
STANDARD = {
    "R", "R0", "R1", "nat", "bool", "list", "O", "S", "nil", "true", "false", "negb", "andb", "orb",
    "fst", "snd", "pred", "length", "INR", "IZR", "Rplus", "Rminus", "Rmult", "Rdiv", "Rinv", "Ropp",
    "Rlt", "Rle", "Rgt", "Rge", "Rabs", "Rmax", "Rmin", "exp", "ln", "sqrt", "pow", "Nat", "List",
    "Binomial", "Forall"}
"""Names of the standard library that statements use."""
RESERVED = {"n", "h", "prompts", "parameters", "sum", "mean", "exp", "ln", "entropy", "covariance",
            "softmax"}


DEFINITIONS = ("Definitions", "Groups")
"""The trusted files of definitions; a statement imports the first, and others whose names it uses."""


@functools.cache
def defined_in(file: str) -> frozenset[str]:
    """The names that one of `DEFINITIONS` gives a meaning."""
    text = (Path(__file__).parents[2] / "formal" / "trusted" / f"{file}.v").read_text()
    return frozenset(re.findall(r"^(?:Definition|Fixpoint) (\w+)", text, re.MULTILINE))


@functools.cache
def taken() -> frozenset[str]:
    """Names that have a meaning already, in our definitions or in the standard library."""
    return frozenset({*STANDARD}.union(*map(defined_in, DEFINITIONS)))


def type_of(axes: Axes, kind: str) -> str:
    """The type of a parameter or of a definition's result."""
    named = tuple(axis for axis in axes if axis is not None)
    if kind == "real" and named == (ACTIONS,):
        return "vector"
    if kind == "mask" and named == (ACTIONS,):
        return "mask"
    if kind == "real" and named == (STATES, ACTIONS):
        return "state -> vector"
    return " -> ".join([*(TYPES[axis] for axis in named), "R" if kind == "real" else "bool"])


def length(term: Term) -> float:
    """The number of symbols of a term that is written out."""
    known: dict[int, float] = {}

    def of(t: Term) -> float:
        if id(t) not in known:
            known[id(t)] = 1 + sum(map(of, t.arguments))
        return known[id(t)]

    return of(term)


def axes_of(terms: Iterable[Term]) -> set[Axis]:
    """All axes that terms have or speak of, arguments included."""
    seen: set[int] = set()
    found: set[Axis] = set()
    left = list(terms)
    while left:
        term = left.pop()
        if id(term) in seen:
            continue
        seen.add(id(term))
        found |= {axis for axis in term.axes if axis is not None}
        if term.operation.name == "size":
            found.add(term.operation.detail)
        left += term.arguments
        if term.operation.name == "call":
            left += [term.operation.detail.body, *term.operation.detail.parameters]
    return found


def size_names(axes: set[Axis]) -> list[str]:
    """The names of the numbers of actions, tokens in a response, prompts and shared parameters."""
    names = ["n"] if axes & {ACTIONS, STATES, RESPONSES} else []
    names += ["h"] if axes & {STATES, RESPONSES} else []
    return names + [axis.name for axis in (PROMPTS, PARAMETERS) if axis in axes]


def sizes_of(parameters: Iterable[Term], body: Term) -> list[str]:
    """The names of the sizes that a definition depends on."""
    return size_names(axes_of([*parameters, body]))


def parameters_of(parameters: Sequence[Term], body: Term) -> list[str]:
    """The sizes that a definition depends on and its parameters, with their types."""
    return [*(f"({size} : nat)" for size in sizes_of(parameters, body)),
            *(f"({identifier(p.operation.detail)} : {type_of(p.axes, p.kind)})" for p in parameters)]


def identifier(name: str) -> str:
    """A parameter's name, apart from the names of the library."""
    return f"{name}_" if name in RESERVED else name


def is_closed(text: str) -> bool:
    """Whether every bracket is closed in the text, and none before it is opened."""
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return depth == 0


def constant_text(value: Fraction) -> str:
    """A rational number."""
    return constant_entry(value)[0]


def constant_entry(value: Fraction | bool) -> tuple[str, int]:
    """A constant, and how tightly its outermost sign binds."""
    if isinstance(value, bool):
        return ("true" if value else "false"), ATOM
    if value.denominator == 1:
        return (str(value.numerator), ATOM) if value >= 0 else (f"- {-value.numerator}", 35)
    sign = "- " if value < 0 else ""
    return f"{sign}{abs(value.numerator)} / {value.denominator}", PRODUCT
