"""Proves polynomial inequalities by z3: a lemma holds if its negation has no model.

A lemma is an ordinary function of numbers, used twice: on z3 reals to search for a model of
"premises and not conclusion", and on fractions to re-check a model that z3 reports. A time-out is
reported as one, never as a pass.

Write premises with ``<``, ``<=``, ``==`` and combine them with `implies`, `all_of`, `any_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

from entropy_theory.verification.claim import Outcome, Step

if TYPE_CHECKING:
    import z3

Number: TypeAlias = "z3.ArithRef | Fraction"
Formula: TypeAlias = "z3.BoolRef | bool"


class Values:
    """What stands for a lemma's variables, an attribute each: z3 reals, or fractions."""

    def __init__(self, **values: Number) -> None:
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Number:
        """Only asked for a variable that is not there; the declaration also types those that are."""
        raise AttributeError(f"the lemma has no variable '{name}', only {sorted(vars(self))}")


Premises: TypeAlias = Callable[[Values], Sequence[Formula]]
Conclusion: TypeAlias = Callable[[Values], Formula]


def _is_symbolic(formulas: Sequence[Formula]) -> bool:
    import z3

    return any(isinstance(f, z3.BoolRef) for f in formulas)


def all_of(*formulas: Formula) -> Formula:
    """Conjunction, symbolic or concrete."""
    import z3

    return z3.And(*formulas) if _is_symbolic(formulas) else all(formulas)


def any_of(*formulas: Formula) -> Formula:
    """Disjunction, symbolic or concrete."""
    import z3

    return z3.Or(*formulas) if _is_symbolic(formulas) else any(formulas)


def implies(premise: Formula, conclusion: Formula) -> Formula:
    """Implication, symbolic or concrete."""
    import z3

    if _is_symbolic((premise, conclusion)):
        return z3.Implies(premise, conclusion)
    return (not premise) or conclusion


def negation(formula: Formula) -> Formula:
    """Negation, symbolic or concrete."""
    import z3

    return z3.Not(formula) if _is_symbolic((formula,)) else not formula


def prove(
    variables: Sequence[str],
    premises: Premises,
    conclusion: Conclusion,
    seconds: float,
) -> tuple[Outcome, str]:
    """Decide whether the conclusion follows from the premises for all real values of the variables.

    It is also checked that the premises can be met at all: from a contradiction everything follows.

    Returns:
        ("pass", ...), ("fail", a rational model re-checked in exact arithmetic), "timeout", or
        "undecided" where z3's model is irrational and so cannot be re-checked.
    """
    import z3

    unknowns = Values(**{name: z3.Real(name) for name in variables})
    given = list(premises(unknowns))
    solver = z3.Solver()
    solver.set("timeout", max(1, int(1000 * seconds)))
    solver.add(*given, z3.Not(conclusion(unknowns)))
    answer = solver.check()
    if answer == z3.unknown:
        return "timeout", f"z3 gave up ({solver.reason_unknown()}) after at most {seconds:.0f} s"
    if answer == z3.sat:
        return _recheck(solver.model(), variables, premises, conclusion)
    consistent = z3.Solver()
    consistent.set("timeout", max(1, int(1000 * seconds)))
    consistent.add(*given)
    if consistent.check() == z3.unsat:
        return "fail", "the premises contradict each other"
    return "pass", "no model of the negation (z3)"


@dataclass(frozen=True, kw_only=True, slots=True)
class Lemma(Step):
    """A proof step decided by `prove`, which later lemmas can take as a premise.

    Attributes:
        variables: names of its real variables.
        premises: the premises, as formulas in the variables.
        conclusion: the conclusion, as a formula in the variables.
    """

    variables: tuple[str, ...]
    premises: Premises
    conclusion: Conclusion

    def instance(self, **values: Number) -> Formula:
        """Return what the lemma says about these values: that its premises imply its conclusion.

        It stands among the premises of a later lemma, so that what is proved is what is used.

        Raises:
            ValueError: a variable has no value, or a value no variable.
        """
        if set(values) != set(self.variables):
            raise ValueError(
                f"lemma '{self.name}' speaks of {sorted(self.variables)}, got {sorted(values)}"
            )
        point = Values(**values)
        return implies(all_of(*self.premises(point)), self.conclusion(point))


def lemma(
    name: str,
    statement: str,
    variables: str,
    premises: Premises,
    conclusion: Conclusion,
    *,
    uses: Sequence[str] = (),
    axioms: Sequence[str] = (),
) -> Lemma:
    """Make a proof step that `prove` decides; ``variables`` are names separated by spaces."""
    return Lemma(
        name=name,
        statement=statement,
        method="smt",
        check=lambda seconds: prove(variables.split(), premises, conclusion, seconds),
        uses=tuple(uses),
        axioms=tuple(axioms),
        variables=tuple(variables.split()),
        premises=premises,
        conclusion=conclusion,
    )


def lemmas(
    name: str,
    statement: str,
    cases: Sequence[tuple[Sequence[str], Premises, Conclusion]],
) -> Step:
    """Make one cross-check of several lemmas (variables, premises, conclusion), all to be proved."""

    def check(seconds: float) -> tuple[Outcome, str]:
        for k, (variables, premises, conclusion) in enumerate(cases):
            outcome, detail = prove(variables, premises, conclusion, seconds / len(cases))
            if outcome != "pass":
                return outcome, f"case {k + 1} of {len(cases)}: {detail}"
        return "pass", f"{len(cases)} cases, no model of any negation (z3)"

    return Step(name=name, statement=statement, method="smt", check=check, cross_check=True)


def _recheck(
    model: z3.ModelRef,
    variables: Sequence[str],
    premises: Premises,
    conclusion: Conclusion,
) -> tuple[Outcome, str]:
    import z3

    values: dict[str, Fraction] = {}
    for name in variables:
        value = model.eval(z3.Real(name), model_completion=True)
        if not z3.is_rational_value(value):
            return "undecided", f"z3's model has an irrational {name} and was not re-checked"
        values[name] = Fraction(value.numerator_as_long(), value.denominator_as_long())
    point = Values(**values)
    if all(premises(point)) and not conclusion(point):
        shown = ", ".join(f"{name} = {value}" for name, value in values.items())
        return "fail", f"counterexample, re-checked in fractions: {shown}"
    return "error", f"z3 reported a model that exact arithmetic rejects: {values}"
