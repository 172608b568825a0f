"""Operations on terms in the language of the proof kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from entropy_theory.verification.formula.indices import Index, aligned, aligned_lead, lead_of
from entropy_theory.verification.formula.rocq_words import APPLY, POWER, PRODUCT, SUM
from entropy_theory.verification.formula.terms import (
    ACTIONS,
    RESPONSES,
    STATES,
    Axes,
    Axis,
    Term,
    UntraceableError,
    elementwise,
)


class Writing(Protocol):
    """The methods of the writer that operations, and their domains, need (`rocq.Writer`)."""

    def number(self, term: Term, index: Index = (), level: int = 200) -> str: ...
    def atom(self, term: Term, index: Index = ()) -> str: ...
    def atom_of(self, term: Term) -> str: ...
    def row(self, term: Term, lead: Index) -> str: ...
    def function(self, term: Term, lead: Index) -> str: ...
    def responses(self, probabilities: Term, index: Index) -> str: ...
    def summed(self, term: Term, index: Index) -> str: ...
    def holds(self, term: Term, index: Index = ()) -> str: ...
    def for_all(self, term: Term, sign: str | None) -> str: ...
    def places(self, axes: Axes) -> AbstractContextManager[tuple[Index, str]]: ...
    def binding(self, *variables: Term) -> AbstractContextManager[list[str]]: ...
    def fresh(self) -> Writing: ...


Write = Callable[[Writing, Term, Index], tuple[str, int]]
"""Writes an operation's entry, and says how tightly its outermost sign binds."""


def _infix(sign: str, level: int) -> Write:
    def write(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
        left, right = term.arguments
        x = writer.number(left, aligned(left, index), level)
        y = writer.number(right, aligned(right, index), level - 1)
        return f"{x} {sign} {y}", level

    return write


def _applied(head: str) -> Write:
    def write(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
        arguments = [writer.atom(a, aligned(a, index)) for a in term.arguments]
        return " ".join([head, *arguments]), APPLY

    return write


def _negative(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    return "- " + writer.number(term.arguments[0], index, 34), 35


def _power(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    base, exponent = writer.number(term.arguments[0], index, POWER - 1), term.operation.detail
    return (f"{base} ^ {exponent}", POWER) if exponent >= 0 else (f"/ {base} ^ {-exponent}", 35)


def _log1p(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    return f"ln (1 + {writer.number(term.arguments[0], index, SUM - 1)})", APPLY


def _expm1(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    return f"exp {writer.atom(term.arguments[0], index)} - 1", SUM


def _identity(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    return f"if Nat.eqb {index[-2]} {index[-1]} then 1 else 0", 200


def _conditional(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    condition, yes, no = (
        writer.number(a, aligned(a, index)) for a in term.arguments)
    return f"if {condition} then {yes} else {no}", 200


def _total(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    if len(term.arguments) == 2:
        values, mask = term.arguments
        if (values.axes or mask.axes)[-1] is not ACTIONS:
            return writer.summed(elementwise("where", mask, values, 0 * values), index), APPLY
        index_values, index_mask = (aligned(a, (*index, None))[:-1] for a in (values, mask))
        return f"total_on n {writer.row(mask, index_mask)} {writer.row(values, index_values)}", APPLY
    return writer.summed(term.arguments[0], index), APPLY


def _mean(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    p, values = term.arguments
    if p.axes[-1:] == (RESPONSES,) and p.operation.name == "response_probabilities":
        row = writer.row(values, lead_of(values, index))
        return f"mean_responses {writer.responses(p, index)} {row}", APPLY
    if p.axes[-1:] != (ACTIONS,):
        return writer.summed(p * values, index), APPLY
    rows = " ".join(writer.row(x, lead_of(x, index)) for x in (p, values))
    return f"mean n {rows}", APPLY


def _covariance(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    p, *values = term.arguments
    rows = " ".join(writer.row(x, lead_of(x, index)) for x in values)
    if p.axes[-1:] == (RESPONSES,) and p.operation.name == "response_probabilities":
        return f"covariance_responses {writer.responses(p, index)} {rows}", APPLY
    if p.axes[-1:] != (ACTIONS,):
        raise UntraceableError("a covariance over something other than actions or responses of a policy")
    return f"covariance n {writer.row(p, lead_of(p, index))} {rows}", APPLY


def _response_entropy(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    logits = term.arguments[0]
    return f"response_entropy n h {writer.function(logits, aligned_lead(logits, index))}", APPLY


def _extremum(name: str) -> Write:
    def write(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
        values = term.arguments[0]
        wholes: dict[Axis | None, str] = {
            STATES: "largest_states n h", RESPONSES: "largest_responses n h"}
        whole = wholes.get(values.axes[-1])
        if whole and len(term.arguments) == 1 and name == "largest":
            return f"{whole} {writer.row(values, lead_of(values, index))}", APPLY
        if whole and len(term.arguments) == 1:
            return f"- {whole} {writer.row(elementwise('negative', values), lead_of(values, index))}", 35
        if values.axes[-1] is not ACTIONS:
            raise UntraceableError(f"the {name} of something other than actions, states or responses")
        written = [writer.row(t, lead_of(t, index)) for t in reversed(term.arguments)]
        head = name if len(written) == 1 else f"{name}_on"
        return " ".join([head, "n", *written]), APPLY

    return write


def _reduced_truth(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    mask = term.arguments[0]
    if mask.axes[-1] is not ACTIONS:
        raise UntraceableError(f"'{term.operation.name}' over something other than actions")
    row = writer.row(mask, lead_of(mask, index))
    if term.operation.name == "any":
        return f"some_on n {row}", APPLY
    return f"negb (some_on n (complement {row}))", APPLY


def _same_action(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    *_, a, b = index
    return f"Nat.eqb {a} {b}", APPLY


def _row_of_logits(head: str) -> Write:
    """Write a function of the whole row, and of numbers of the instance, at one action."""

    def write(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
        logits, *numbers = term.arguments
        written = [writer.row(logits, lead_of(logits, index[:-1])), *map(writer.atom, numbers)]
        return " ".join([head.format(*written), str(index[-1])]), APPLY

    return write


def _log_growth(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    logits, step = (writer.row(t, lead_of(t, index[:-1])) for t in term.arguments)
    after = f"log_softmax n (moved_by {logits} {step}) {index[-1]}"
    return f"{after} - log_softmax n {logits} {index[-1]}", SUM


def _running(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    """No token of the state is token 0, which ends a response."""
    return f"running (fun _ b => Nat.eqb b 0) {index[-1]}", APPLY


def _ending(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    state, token = index[-2:]
    last = f"orb (Nat.eqb {token} 0) (Nat.eqb (S (length {state})) h)"
    return f"andb (running (fun _ b => Nat.eqb b 0) {state}) ({last})", APPLY


def natural(writer: Writing, term: Term) -> str:
    """A natural number: a constant, a bound step, or the one after it."""
    if term.operation.name == "constant":
        return str(int(term.operation.detail))
    return writer.atom(term)


def _group_step(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    logits, correct, size, ddof = term.arguments
    numbers = " ".join(natural(writer, t) for t in (size, ddof))
    rows = " ".join(writer.row(t, lead_of(t, index[:-1])) for t in (logits, correct))
    return f"expected_group_step n {numbers} {rows} {index[-1]}", APPLY


def _group_gain(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    right, wrong, size, ddof = term.arguments
    numbers = " ".join(natural(writer, t) for t in (size, ddof))
    return f"group_gain {numbers} {writer.atom(right, index)} {writer.atom(wrong, index)}", APPLY


def _of_estimates(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    """A mean or a variance along a direction, over groups with advantages that its name ends with."""
    moment, advantages = term.operation.name.split("_along_")
    *rows, size = term.arguments
    written = " ".join(writer.row(t, lead_of(t, index)) for t in rows)
    return f"{moment}_along n {natural(writer, size)} {advantages} {written}", APPLY


def _with_coins(writer: Writing, term: Term, index: Index) -> tuple[str, int]:
    *rows, chance, size, ddof = term.arguments
    numbers = " ".join(natural(writer, t) for t in (size, ddof))
    written = " ".join(writer.row(t, lead_of(t, index)) for t in rows)
    return f"square_along_with_coins n {numbers} {written} {writer.atom(chance, index)}", APPLY


ENTRIES: Mapping[str, Write] = {
    "add": _infix("+", SUM), "subtract": _infix("-", SUM), "multiply": _infix("*", PRODUCT),
    "divide": _infix("/", PRODUCT), "negative": _negative, "power": _power,
    "absolute": _applied("Rabs"), "exp": _applied("exp"), "log": _applied("ln"), "log1p": _log1p,
    "expm1": _expm1, "sqrt": _applied("sqrt"), "maximum": _applied("Rmax"),
    "minimum": _applied("Rmin"), "where": _conditional, "identity": _identity, "less": _applied("less"),
    "less_equal": _applied("less_equal"), "equal": _applied("equal"), "logical_and": _applied("andb"),
    "logical_or": _applied("orb"), "logical_not": _applied("negb"), "total": _total, "mean": _mean,
    "largest": _extremum("largest"), "smallest": _extremum("smallest"), "all": _reduced_truth,
    "any": _reduced_truth, "covariance": _covariance, "response_entropy": _response_entropy,
    "sign": _applied("sign_of"), "same_action": _same_action,
    "is_likeliest": _row_of_logits("Nat.eqb (likeliest n {0})"),
    "kept_tokens": _row_of_logits("kept_tokens n {0} {1}"), "log_growth": _log_growth,
    "expected_group_step": _group_step, "group_gain": _group_gain,
    "square_along_with_coins": _with_coins,
    **dict.fromkeys((f"{moment}_along_{advantages}" for moment in ("mean", "variance") for advantages in (
        "without_baseline", "with_group_mean", "with_mean_of_others")), _of_estimates),
    "binary_entropy": _applied("binary_entropy"), "running": _running, "ending": _ending,
}
