"""Derivations: steps from tagged premises to the formula of the statement itself.

Where no proof for the kernel is written, a statement can still be derived by steps that z3 decides, one
after the other. A step is an `Inference`: its premises and its conclusion are formulas in the statement's
own parameters, as its margin is, and each premise says what it is:

    definition   an equation whose sides become the same when definitions are unfolded
    hypothesis   one of the statement's hypotheses, or the range of a parameter
    axiom        a fact with a name, given as a formula ("a sum of nonnegative terms is nonnegative")
    step         the conclusion of an earlier step

Nothing else is accepted, and what is claimed is checked: a hypothesis must be one, a step's conclusion
must be that step's, word for word; definitions and axioms are evaluated on sampled instances, so that
one that is false of softmax is refused. z3 sees every part that is not arithmetic (an entropy, a sum, a
logarithm) as an unknown number. The last conclusion must be the statement's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from entropy_theory.support.user_errors import check_choice
from entropy_theory.verification.claim import Outcome, Statement, Step
from entropy_theory.verification.formula.evaluate import Numbers
from entropy_theory.verification.formula.simplify import Simplifier
from entropy_theory.verification.formula.statement import (
    Parameter,
    Relation,
    SymbolicCases,
)
from entropy_theory.verification.formula.terms import (
    Term,
    UntraceableError,
    constant,
    elementwise,
    make,
)
from entropy_theory.verification.instances import Cases, Instances, as_floats

if TYPE_CHECKING:
    import z3

Tag = Literal["definition", "hypothesis", "axiom", "step"]
Proposition = Callable[[Any], Any]
"""Parameters -> a truth value, such as ``lambda i: ar.entropy(i.logits) >= 0``."""
SAMPLED = 2_000
SLACK = 1e-9
"""Rounding, relative to the larger side, below which a premise that floats deny is not called false."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Premise:
    """What a step starts from.

    Attributes:
        tag: what it is.
        formula: the proposition.
        name: of the axiom, or of the earlier step.
    """

    tag: Tag
    formula: Proposition
    name: str = ""

    def __post_init__(self) -> None:
        check_choice(self.tag, get_args(Tag), "tag of a premise")


@dataclass(frozen=True, kw_only=True, slots=True)
class Inference(Step):
    """A step whose premises and conclusion are formulas in the statement's parameters.

    Attributes:
        premises: what it starts from, each with its tag.
        conclusion: what z3 is to find in them.
    """

    premises: tuple[Premise, ...]
    conclusion: Proposition


def inference(
    name: str, statement: str, premises: Sequence[Premise], conclusion: Proposition
) -> Inference:
    """Make a step; its ``uses`` and ``axioms`` are those of its premises."""
    return Inference(
        name=name, statement=statement, method="smt", check=_alone, premises=tuple(premises),
        conclusion=conclusion, uses=tuple(p.name for p in premises if p.tag == "step"),
        axioms=tuple(p.name for p in premises if p.tag == "axiom"),
    )


def definition(formula: Proposition) -> Premise:
    """An equation whose sides are the same once definitions are unfolded."""
    return Premise(tag="definition", formula=formula)


def hypothesis(formula: Proposition) -> Premise:
    """A hypothesis of the statement, or the range of a parameter."""
    return Premise(tag="hypothesis", formula=formula)


def axiom(name: str, formula: Proposition) -> Premise:
    """A fact with a name; it is evaluated on instances, not proved."""
    return Premise(tag="axiom", formula=formula, name=name)


def earlier(step: Inference) -> Premise:
    """The conclusion of an earlier step."""
    return Premise(tag="step", formula=step.conclusion, name=step.name)


def is_derivation(statement: Statement) -> bool:
    """Whether the statement's steps are inferences whose last conclusion is its formula."""
    steps = [step for step in statement.proof if not step.cross_check]
    if not steps or not all(isinstance(step, Inference) for step in steps):
        return False
    if not statement.is_traceable():
        return False
    last = steps[-1]
    assert isinstance(last, Inference)
    try:
        found = _traced(last.conclusion, statement)
    except UntraceableError:
        return False
    return found is proposition(statement.formula.conclusion)


def proposition(relation: Relation) -> Term:
    """A number beside zero, as a truth value: what a last step has to conclude."""
    if relation.sign is None:
        return relation.term
    if relation.term.operation.name == "several":
        parts = [proposition(Relation(part, relation.sign)) for part in relation.term.arguments]
        return make(relation.term.operation, tuple(parts), relation.term.axes, "mask")
    name = {">": "less", ">=": "less_equal", "==": "equal"}[relation.sign]
    return elementwise(name, 0, relation.term)


def decide(
    step: Inference, statement: Statement, instances: Instances, seconds: float
) -> tuple[Outcome, str]:
    """Decide one step: its tags, its premises on instances, and whether they imply its conclusion."""
    try:
        premises = [(premise, _traced(premise.formula, statement)) for premise in step.premises]
        conclusion = _traced(step.conclusion, statement)
        for premise, term in premises:
            wrong = _mistagged(premise, term, statement)
            if wrong:
                return "fail", wrong
        told = [(f"{premise.tag} {premise.name}".strip(), term) for premise, term in premises]
        for name, term in [*told, ("conclusion", conclusion)]:
            false_at = _false_at(term, statement, instances)
            if false_at:
                return "fail", f"the {name} is false {false_at}"
    except UntraceableError as error:
        return "error", f"not a formula: {error}"
    return _implied([term for _, term in premises], conclusion, seconds)


def _alone(seconds: float) -> tuple[Outcome, str]:
    return "error", "an inference is decided as a step of its statement (derivation.decide)"


def _traced(formula: Proposition, statement: Statement) -> Term:
    if statement.parameters is None:
        raise UntraceableError("the statement has no parameters")
    found = formula(SymbolicCases(statement.parameters))
    if not isinstance(found, Term) or found.kind != "mask":
        raise UntraceableError("a premise or conclusion must be a truth value, such as x >= 0")
    return found


def _mistagged(premise: Premise, term: Term, statement: Statement) -> str:
    """Why a premise is not what its tag says; empty if it is."""
    if premise.tag == "hypothesis":
        assert statement.parameters is not None
        known = [proposition(r) for r in statement.formula.hypotheses]
        known += [bound for p in statement.parameters.fields for bound in _bounds(p)]
        if not any(term is other for other in known):
            return "a premise tagged as a hypothesis is none of the statement's"
    if premise.tag == "definition" and not _same_unfolded(term):
        return "a premise tagged as a definition is no equation of the same thing, unfolded"
    if premise.tag == "step":
        for other in statement.proof:
            if isinstance(other, Inference) and other.name == premise.name:
                if _traced(other.conclusion, statement) is not term:
                    return f"a premise is not the conclusion of the step '{premise.name}'"
                return ""
        return f"there is no step '{premise.name}'"
    return ""


def _bounds(parameter: Parameter) -> list[Term]:
    bounds, found = parameter.range, []
    if bounds.low is not None:
        found.append(elementwise("less" if bounds.open_low else "less_equal",
                                 constant(Fraction(bounds.low)), parameter.term))
    if bounds.high is not None:
        found.append(elementwise("less" if bounds.open_high else "less_equal", parameter.term,
                                 constant(Fraction(bounds.high))))
    return found


def _same_unfolded(term: Term) -> bool:
    return term.operation.name == "equal" and _unfolded(term.arguments[0]) is _unfolded(
        term.arguments[1])


def _unfolded(term: Term) -> Term:
    """The term with the bodies of its definitions in their places."""
    arguments = tuple(map(_unfolded, term.arguments))
    if term.operation.name == "call":
        defined = term.operation.detail
        given = dict(zip(defined.parameters, arguments, strict=True))
        return _replaced(_unfolded(defined.body), given)
    return Simplifier().of(make(term.operation, arguments, term.axes, term.kind))


def _replaced(term: Term, given: dict[Term, Term]) -> Term:
    if term in given:
        return given[term]
    arguments = tuple(_replaced(argument, given) for argument in term.arguments)
    return make(term.operation, arguments, term.axes, term.kind)


def _false_at(term: Term, statement: Statement, instances: Instances) -> str:
    """An instance that meets the hypotheses at which a formula is false, by more than rounding."""
    generator = np.random.default_rng(0)
    for _ in range(8):
        batch = instances.sample(generator, SAMPLED // 8)
        cases = as_floats(batch)
        with np.errstate(all="ignore"):
            meets = _meets(statement, cases)
            short = _shortfall(term, statement.numbers(cases))
        failing = meets & (short > SLACK)
        if failing.any():
            return f"at a sampled instance, by {float(short[failing].max()):.1e} of its size"
    return ""


def _meets(statement: Statement, cases: Cases) -> np.ndarray:
    hypotheses, _ = statement.evaluate(cases)
    meets = np.ones(len(next(iter(vars(cases).values()))), dtype=bool)
    for value, condition in zip(hypotheses, statement.conditions, strict=True):
        array = np.asarray(value)
        meets &= array if array.dtype == bool else (
            array > 0 if condition.relation == ">" else array >= 0)
    return meets


def _shortfall(term: Term, numbers: Numbers) -> np.ndarray:
    """By how much a proposition fails on each instance, relative to its sides; 0 where it holds."""
    name, parts = term.operation.name, term.arguments
    if name in ("less", "less_equal", "equal"):
        x, y = np.broadcast_arrays(*(np.asarray(numbers.of(part), dtype=float) for part in parts))
        gap = np.abs(x - y) if name == "equal" else x - y
        relative = np.nan_to_num(gap / np.maximum(1.0, np.maximum(np.abs(x), np.abs(y))), nan=0.0)
        return relative.reshape(len(relative), -1).max(axis=1)
    if name in ("logical_and", "several"):
        return np.max([_shortfall(part, numbers) for part in parts], axis=0)
    if name == "logical_or":
        return np.min([_shortfall(part, numbers) for part in parts], axis=0)
    truth = np.asarray(numbers.of(term), dtype=bool)
    return np.where(truth.reshape(len(truth), -1).all(axis=1), 0.0, 1.0)


# ---------------------------------------------------------------- z3


def _implied(premises: Sequence[Term], conclusion: Term, seconds: float) -> tuple[Outcome, str]:
    import z3

    unknowns: dict[Term, Any] = {}
    given = [_formula(term, unknowns) for term in premises]
    wanted = _formula(conclusion, unknowns)
    if any(z3.eq(z3.simplify(g), z3.simplify(wanted)) for g in given):
        return "fail", "the conclusion is one of the premises"
    solver = z3.Solver()
    solver.set("timeout", max(1, int(1000 * seconds)))
    solver.add(*given)
    if solver.check() == z3.unsat:
        return "fail", "the premises contradict each other"
    solver.add(z3.Not(wanted))
    answer = solver.check()
    if answer == z3.unsat:
        return "pass", f"no model of the negation (z3), {len(unknowns)} unknowns"
    if answer == z3.sat:
        return "fail", f"it does not follow: {solver.model()}"
    return "timeout", f"z3 gave up ({solver.reason_unknown()}) after at most {seconds:.0f} s"


_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": lambda x, y: x + y, "subtract": lambda x, y: x - y, "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y, "negative": lambda x: -x, "less": lambda x, y: x < y,
    "less_equal": lambda x, y: x <= y, "equal": lambda x, y: x == y,
}


def _formula(term: Term, unknowns: dict[Term, Any]) -> z3.ExprRef:
    """Arithmetic as arithmetic, logic as logic, everything else as an unknown number."""
    import z3

    name, parts = term.operation.name, term.arguments
    if name == "constant":
        value = term.operation.detail
        return z3.BoolVal(value) if isinstance(value, bool) else z3.RealVal(value)
    if name == "index":
        return _formula(parts[0], unknowns)
    if name in _ARITHMETIC:
        return _ARITHMETIC[name](*(_formula(part, unknowns) for part in parts))
    if name == "power" and 0 <= term.operation.detail <= 4:
        base = _formula(parts[0], unknowns)
        return z3.Product([base] * term.operation.detail) if term.operation.detail else z3.RealVal(1)
    if name in ("logical_and", "logical_or", "logical_not", "several"):
        join = {"logical_or": z3.Or, "logical_not": z3.Not}.get(name, z3.And)
        return join(*(_formula(part, unknowns) for part in parts))
    if term not in unknowns:
        sort = z3.Bool if term.kind == "mask" else z3.Real
        unknowns[term] = sort(f"u{len(unknowns)}")
    return unknowns[term]

