"""Defines what a claim is.

A claim states something about every instance of a set: under its hypotheses the *margin* is above zero
(or at least zero, or exactly zero for an identity). It brings the printed proof's steps if the source has
one, and a repaired statement if the printed one fails. Its mutants are deliberately wrong variants that
the same checks must reject. `verdict.derive` decides from evidence whether a claim is true.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np

from entropy_theory.support.notebook import card
from entropy_theory.support.user_errors import check_choice
from entropy_theory.token_tree import TokenTree
from entropy_theory.verification.arithmetic import Mask, Reals, is_exact
from entropy_theory.verification.formula.evaluate import Numbers, as_ball
from entropy_theory.verification.formula.statement import (
    Formula,
    Parameters,
    SymbolicCases,
    relation,
    subterms,
)
from entropy_theory.verification.formula.terms import ACTIONS, STATES, Term, UntraceableError
from entropy_theory.verification.formula.trees import HORIZON
from entropy_theory.verification.instances import Cases, Instance, Instances, Margin
from entropy_theory.verification.reading import Reading

Relation = Literal[">", ">=", "=="]
Method = Literal[
    "kernel", "symbolic", "property", "search", "certify", "experiment", "mutant",
]
Outcome = Literal["pass", "fail", "undecided", "timeout", "error", "skipped", "vacuous"]
Target = Literal["statement", "repair", "printed proof", "experiment", "mutant"]

RepairKind = Literal["hypothesis", "correction", "instead"]
ProofText = Literal["printed", "reconstructed", "not in sources"]

METHODS: tuple[Method, ...] = get_args(Method)
INFERRED = Reading("inferred")
FLOAT_FROM = 30
"""Significant binary digits from which a number is taken for a rounded one: 0.1 has 52, 3/8 two."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """The findings of one method.

    Attributes:
        method: how it was checked.
        outcome: "pass" supports the target, "fail" refutes it, "vacuous" says that nothing could.
        detail: one line for the reader.
        cases: instances looked at (0 where the method has none).
        seconds: wall-clock time.
        target: the statement that was checked.
        name: the step or the mutant, where the evidence is about one.
        counterexample: exact data of a certified violation, with its ``margin_interval``.
        searched: of a search, which instances were looked at.
        left_open: of a search, what it does not settle, and which instances it did not look at, and why.
    """

    method: Method
    outcome: Outcome
    detail: str
    cases: int = 0
    seconds: float = 0.0
    target: Target = "statement"
    name: str = ""
    counterexample: dict[str, Any] | None = None
    searched: str = ""
    left_open: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Condition:
    """A hypothesis: it holds where ``value`` is above zero (or at least zero).

    Attributes:
        latex: as written in the statement.
        value: batch -> numbers, or booleans that say directly where it holds.
        relation: ">" or ">=".

    Raises:
        ValueError: another relation.
    """

    latex: str
    value: Callable[[Cases], Reals | Mask]
    relation: Relation = ">"

    def __post_init__(self) -> None:
        if self.relation not in (">", ">="):
            raise ValueError(
                f"the hypothesis '{self.latex}' compares by '{self.relation}': its value is above zero "
                "('>') or at least zero ('>='); for below, give it with the other sign")


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One step of a printed proof, or an experiment.

    Attributes:
        name: short name.
        statement: its words.
        method: which checker decides it.
        check: function that runs the checker and returns (outcome, detail).
    """

    name: str
    statement: str
    method: Method
    check: Callable[[], tuple[Outcome, str]]

    def __post_init__(self) -> None:
        check_choice(self.method, METHODS, "verification method")


def experiment(name: str, statement: str, check: Callable[[], tuple[bool, str]]) -> Step:
    """Make a step from the outcome of a long exact run or a fit, which no proof shows.

    ``check`` returns whether it shows the statement, and its numbers. A statement without a violation
    needs its experiments to pass; one that is false as written, has no repair, and whose experiments pass
    is an empirical law (`verdict.derive`).
    """

    def run() -> tuple[Outcome, str]:
        shown, detail = check()
        return ("pass" if shown else "fail"), detail

    return Step(name=name, statement=statement, method="experiment", check=run)


@dataclass(frozen=True, kw_only=True, slots=True)
class PrintedStep:
    """A step of the proof as printed: does it follow from what is printed before it?

    Attributes:
        as_printed: the inference with the premises that the source states.
        completed: the same inference with the unstated premise that makes it valid; None where
            nothing is missing.
    """

    as_printed: Step
    completed: Step | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """Hypotheses and conclusion.

    Attributes:
        latex: the statement in words and LaTeX.
        margin: batch -> numbers; the conclusion holds where margin RELATION 0.
        relation: ">", ">=", or "==" for an identity (margin = left minus right side).
        conditions: hypotheses.
        beyond: propositions of derivatives, limits or all steps, for the kernel (`formula.limits`).
        parameters: those it quantifies over; a claim gives its statements those of its instances.

    Raises:
        ValueError: an unknown relation.
        TypeError: a margin that is not a function, or conditions that are not a tuple of `Condition`.
    """

    latex: str
    margin: Margin
    relation: Relation = ">="
    conditions: tuple[Condition, ...] = ()
    beyond: Callable[[Any], tuple[Term, ...]] | None = None
    parameters: Parameters | None = None

    def __post_init__(self) -> None:
        check_choice(self.relation, get_args(Relation), "relation")
        if not callable(self.margin):
            raise TypeError(f"margin must be a function of the instances, got {self.margin!r}")
        if not isinstance(self.conditions, tuple) or not all(
                isinstance(condition, Condition) for condition in self.conditions):
            raise TypeError(f"conditions must be a tuple of Condition, got {self.conditions!r}: one "
                            "alone is (condition,)")

    @property
    def formula(self) -> Formula:
        """Hypotheses and conclusion as one expression, traced once.

        Raises:
            UntraceableError: they cannot be written as one; the message names the obstacle.
        """
        found = _traced_of(self)
        if isinstance(found, UntraceableError):
            raise found
        return found

    def is_traceable(self) -> bool:
        """Whether it has a formula."""
        return not isinstance(_traced_of(self), UntraceableError)

    def has_floats(self) -> bool:
        """Whether some of its numbers may be rounded: it has no formula, or has constants like 0.1."""
        formula = _traced_of(self)
        if isinstance(formula, UntraceableError):
            return True
        terms = subterms([formula.conclusion.term, *(h.term for h in formula.hypotheses)])
        return any(_is_rounded(t.operation.detail) for t in terms if t.operation.name == "constant")

    def evaluate(self, cases: Cases) -> tuple[list[Reals | Mask], Reals]:
        """The hypotheses' values and the margins on a batch, in floats or in balls.

        They are computed from the formula, where the statement has one.
        """
        formula = _traced_of(self)
        if isinstance(formula, UntraceableError):
            return [c.value(cases) for c in self.conditions], self.margin(cases)
        numbers = self.numbers(cases)
        size = len(next(iter(vars(cases).values())))
        found = [np.asarray(numbers.of(r.term)) for r in (*formula.hypotheses, formula.conclusion)]
        *hypotheses, margins = [np.broadcast_to(v, (size, *v.shape[1:])) for v in found]
        return hypotheses, margins

    def numbers(self, cases: Cases) -> Numbers:
        """Return the evaluator of its formula's terms on a batch.

        Raises:
            UntraceableError: it has no formula.
        """
        formula, fields = self.formula, vars(cases)
        sizes = {axis: length for p in formula.parameters.fields if p.name in fields
                 for axis, length in zip(p.axes, np.shape(fields[p.name])[1:], strict=True)
                 if axis is not None}
        if STATES in sizes:
            sizes[HORIZON] = TokenTree.of(np.empty((sizes[STATES], sizes[ACTIONS]))).horizon
        return Numbers(fields, as_ball if any(map(is_exact, fields.values())) else float, sizes)


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """A wrong variant of the claim: some check must reject it.

    Attributes:
        name: what was changed.
        statement: the wrong statement.
        instances: the set that the mutant is about, if it is not the claim's.
        changes: parts of the statement in which it differs.
    """

    name: str
    statement: Statement
    instances: Instances | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A statement of a source, and everything needed to judge it.

    Attributes:
        id: SOURCE.KIND-NUMBER[part], such as ``aepo.theorem-4.3b``.
        source: paper and place.
        title: a few words.
        reading: whether the statement is what the source prints, our precise form of it, or inferred,
            which it is unless said otherwise.
        statement: the statement that is judged.
        instances: the set it quantifies over.
        repair: a corrected statement, where the printed one fails.
        repair_note: which hypothesis or constant the repair adds.
        repair_is: whether the repair adds a hypothesis, corrects a constant or misprint, or replaces it.
        scope: what the statement is about: one tabular state or a token tree, one token or a response,
            exact expectation or samples, one step or a run.
        proof_text: state of the source's own proof: printed or none, reconstructed, not in the sources.
        symbolic: whether SymPy decides the true formula's equations too, beside the kernel.
        printed_proof: the source's own proof, step by step; empty if it prints none.
        first_order: whether it bounds the remainder of a first order in a step; proved, it is said to be
            true to first order.
        mutants: wrong variants, at least one.
        witnesses: instances known to be telling, which are always checked, and first.
        experiments: outcomes of long runs and fits (`experiment`).
        proof_file: a Rocq file that proves the formula (`kernel`); by default the one in
            formal/proofs/claims that is named like the claim, if there is one.
    """

    id: str
    source: str
    title: str
    statement: Statement
    instances: Instances
    reading: Reading = INFERRED
    repair: Statement | None = None
    repair_note: str = ""
    repair_is: RepairKind = "instead"
    scope: str = ""
    proof_text: ProofText = "printed"
    symbolic: bool = False
    printed_proof: tuple[PrintedStep, ...] = ()
    first_order: bool = False
    mutants: tuple[Mutant, ...] = ()
    witnesses: tuple[Instance, ...] = ()
    experiments: tuple[Step, ...] = ()
    proof_file: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9-]+\.[a-zA-Z0-9.-]+", self.id):
            raise ValueError(f"claim id '{self.id}' must look like source.kind-number")
        check_choice(self.repair_is, get_args(RepairKind), "kind of repair")
        check_choice(self.proof_text, get_args(ProofText), "text of the printed proof")
        give = object.__setattr__
        true = self.repair or self.statement
        give(self, "statement", _parametrized(self.statement, self.instances))
        if self.repair is not None:
            give(self, "repair", _parametrized(self.repair, self.instances))
        give(self, "mutants", tuple(
            dataclasses.replace(m, changes={}, statement=_parametrized(dataclasses.replace(
                true if m.statement is _TRUE else m.statement, **m.changes),
                m.instances or self.instances))
            for m in self.mutants))

    def _repr_html_(self) -> str:
        shown = {"id": self.id, "source": self.source, "reading": self.reading, "scope": self.scope}
        return card(self.title, shown | {
            "statement": self.statement.latex, "what holds": getattr(self.repair, "latex", ""),
            "note": self.repair_note})


def _is_rounded(number: Any) -> bool:
    """Whether a rational number looks like a float that stands for another: 0.1 or e^20, not 3/8."""
    if not isinstance(number, Fraction) or number.denominator & (number.denominator - 1):
        return False
    numerator = abs(number.numerator)
    zeros = (numerator & -numerator).bit_length() - 1
    return numerator.bit_length() - zeros >= FLOAT_FROM


def _traced_of(statement: Statement) -> Formula | UntraceableError:
    return _traced(statement.margin, statement.relation, statement.conditions, statement.parameters,
                   statement.beyond)


@functools.cache
def _traced(
    margin: Margin, sign: Relation, conditions: tuple[Condition, ...], parameters: Parameters | None,
    beyond: Callable[[Any], tuple[Term, ...]] | None,
) -> Formula | UntraceableError:
    if parameters is None:
        return UntraceableError("its instances are not parameters of a formula")
    cases: Any = SymbolicCases(parameters)
    try:
        return Formula(
            parameters=parameters,
            hypotheses=tuple(relation(c.value(cases), c.relation) for c in conditions),
            conclusion=relation(margin(cases), sign),
            beyond=beyond(cases) if beyond else (),
        )
    except UntraceableError as error:
        return error
    except (AttributeError, TypeError, ValueError, IndexError) as error:
        # What numpy or Python say where a term is no array.
        return UntraceableError(f"{type(error).__name__}: {error}")


_TRUE = Statement(latex="the claim's own", margin=lambda cases: cases.logits)
"""Stands for the statement of a claim that is not made yet."""


def mutant(name: str, *, instances: Instances | None = None, **changes: Any) -> Mutant:
    """Make a mutant of a claim's true statement, with some of its parts changed.

    Args:
        name: what was changed.
        instances: the set that it is about, if it is not the claim's.
        changes: margin, relation or conditions.
    """
    return Mutant(name=name, statement=_TRUE, instances=instances, changes=changes)


def variant(statement: Statement, **changes: Any) -> Statement:
    """Return a mutant's statement: the given one with some parts changed."""
    return dataclasses.replace(statement, **changes)


def without(statement: Statement, *latex: str) -> Statement:
    """Return the statement with the named hypotheses dropped; an unknown name is an error."""
    known = {condition.latex for condition in statement.conditions}
    for name in latex:
        if name not in known:
            raise ValueError(f"no hypothesis '{name}' to drop; there are {sorted(known)}")
    kept = tuple(c for c in statement.conditions if c.latex not in latex)
    return variant(statement, conditions=kept)


def _parametrized(statement: Statement, instances: Instances) -> Statement:
    """The statement, quantified over the parameters of its instances."""
    if statement.parameters is not None or instances.parameters is None:
        return statement
    return dataclasses.replace(statement, parameters=instances.parameters)
