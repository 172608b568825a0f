r"""The equations of a formula, decided by SymPy: a second verdict beside the kernel's.

A formula's terms are evaluated once more, on symbols in place of numbers. Every entry is then a rational
function of the parameters and of their exponentials and logarithms, each a symbol of its own. In it
:math:`\exp(a + b) = \exp a \exp b` and :math:`\log(a b) = \log a + \log b`. Each entry carries its
derivative along. An equation holds if left minus right is the zero function, for all values of the
parameters at once.

It is written out for a few sizes: 2 and 3 actions, or one prompt with responses of two tokens from a
vocabulary of two. It decides a conclusion "= 0", derivatives, gradients and equalities. It does not
decide inequalities, limits, or an equation that holds only under a hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from entropy_theory.token_tree import TokenTree
from entropy_theory.verification.claim import Outcome, Step
from entropy_theory.verification.formula.evaluate import Numbers
from entropy_theory.verification.formula.statement import Formula, Parameters, SymbolicCases
from entropy_theory.verification.formula.terms import (
    ACTIONS,
    PROMPTS,
    RESPONSES,
    STATES,
    Axes,
    Axis,
    Term,
    UntraceableError,
)
from entropy_theory.verification.formula.trees import HORIZON
from entropy_theory.verification.instances import Instances

if TYPE_CHECKING:
    import sympy

Rational: TypeAlias = "sympy.polys.fields.FracElement"
NUMBERS_OF_ACTIONS = (2, 3)
Sizes: TypeAlias = Mapping[Axis, int]


def decide(formula: Formula) -> tuple[Outcome, str]:
    """Decide the equations of a formula."""
    equal = [formula.conclusion.term] if formula.conclusion.sign == "==" else []
    return decide_all(formula.parameters, [*equal, *filter(is_equation, formula.beyond)])


def equation(
    name: str, statement: str, instances: Instances, left_minus_right: Callable[[Any], Any]
) -> Step:
    """Make a step that holds if a term of the instances' fields is zero, or a derivative is right."""

    def check() -> tuple[Outcome, str]:
        if instances.parameters is None:
            raise UntraceableError("its instances are not parameters of a formula")
        return decide_all(instances.parameters, [left_minus_right(SymbolicCases(instances.parameters))])

    return Step(name=name, statement=statement, method="symbolic", check=check)


def is_equation(term: Term) -> bool:
    """Whether a proposition beyond the conclusion is one that is decided here."""
    if term.operation.name == "for_every" and len(term.arguments) == 1:
        (term,) = term.arguments
    return term.operation.name in ("has_derivative", "equal")


def decide_all(parameters: Parameters, equations: Sequence[Term]) -> tuple[Outcome, str]:
    """Decide equations in these parameters, each size in turn."""
    if not equations:
        return "error", "the formula has no equation that SymPy can decide"
    found = _sizes(parameters)
    for said, sizes in found.items():
        for number, residuals in enumerate(_residuals(parameters, equations, sizes), 1):
            if wrong := [r for r in residuals if r != 0]:
                return "fail", f"{said}: equation {number}: left minus right = {str(wrong[0])[:200]}"
    many = "1 equation holds" if len(equations) == 1 else f"{len(equations)} equations hold"
    return "pass", f"{many} identically, written out for {' and '.join(found)}"


def _sizes(parameters: Parameters) -> dict[str, Sizes]:
    """The sizes that are written out, in words."""
    if any(STATES in p.axes for p in parameters.fields):
        tree = TokenTree(2, 2)
        return {"two tokens from a vocabulary of two": {
            ACTIONS: 2, STATES: tree.n_states, RESPONSES: tree.n_responses, HORIZON: tree.horizon,
            PROMPTS: 1}}
    return {f"n = {n}": {ACTIONS: n} for n in NUMBERS_OF_ACTIONS
            if parameters.fewest <= n <= (parameters.most or n)}


def _residuals(
    parameters: Parameters, equations: Sequence[Term], sizes: Sizes
) -> Iterator[list[Rational]]:
    """Left minus right of each equation, entry by entry."""
    real = {p.term: p.axes for p in parameters.fields if p.kind == "real"}
    real |= {term.operation.detail: term.operation.detail.axes
             for term in equations if term.operation.name == "for_every"}
    shapes = {term: tuple(1 if axis is None else sizes[axis] for axis in axes)
              for term, axes in real.items()}
    algebra = _Algebra(sum(map(int, map(np.prod, shapes.values()))))
    symbols = {term: algebra.array(shape) for term, shape in shapes.items()}
    fields = {p.name: symbols[p.term] if p.kind == "real" else _sets(p.axes, sizes)
              for p in parameters.fields}
    numbers = _Symbols(fields, algebra.constant, sizes)
    for term in equations:
        if term.operation.name == "for_every":
            numbers.give(term.operation.detail, symbols[term.operation.detail])
        yield _residual(term, numbers)


def _sets(axes: Axes, sizes: Sizes) -> np.ndarray:
    """The first k actions for each k: as the others' symbols are alike, these are all sets."""
    if axes != (ACTIONS,):
        raise UntraceableError("a mask of something other than actions")
    return np.tri(sizes[ACTIONS], dtype=bool)


def _residual(term: Term, numbers: _Symbols) -> list[Rational]:
    name, parts = term.operation.name, term.arguments
    if name == "for_every":
        return _residual(parts[0], numbers)
    if name == "equal":
        return [x.value for x in np.ravel(numbers.of(parts[0]) - numbers.of(parts[1]))]
    if name != "has_derivative":
        return [x.value for x in np.ravel(numbers.of(term))]
    body, place, slope = parts
    numbers.give(term.operation.detail, np.frompyfunc(_Number.moving, 1, 1)(numbers.of(place)))
    pairs = np.broadcast(numbers.of(body), numbers.of(slope))
    return [along.slope - said.value for along, said in pairs]


class _Symbols(Numbers):
    """The values of terms in symbols."""

    def give(self, variable: Term, value: Any) -> None:
        """Give a bound variable its value."""
        self._known[id(variable)] = value

    def _compute(self, term: Term) -> Any:
        # A careful way to the numbers is for floats; the formula as written is decided.
        return self.of(term.operation.detail) if term.operation.name == "computed" else (
            super()._compute(term))


class _Algebra:
    """Rational functions of a number of symbols, and of the exponentials and logarithms that come up."""

    def __init__(self, many: int) -> None:
        from sympy import QQ
        from sympy.polys.fields import field

        # One exponential a symbol, and as many logarithms and tempered exponentials, is more than
        # any claim needs; unused symbols cost time.
        self._field, *symbols = field([f"x{k}" for k in range(2 * many + 8)], QQ)
        self._symbols = iter(symbols)
        self._exponentials: dict[Rational, Rational] = {}
        self._logarithms: dict[Rational, Rational] = {}

    def array(self, shape: tuple[int, ...]) -> np.ndarray:
        """One instance of symbols."""
        found = np.empty((1, *shape), dtype=object)
        for place in np.ndindex(found.shape):
            found[place] = _Number(self, next(self._symbols), self._field.zero)
        return found

    def constant(self, value: Fraction | float) -> _Number:
        """A rational number."""
        exact = Fraction(value)
        return _Number(self, self._field(exact.numerator) / exact.denominator, self._field.zero)

    def exp(self, value: Rational) -> Rational:
        """The exponential: a product over the terms c m of the exponent, with exp(m) a symbol."""
        result, scale = self._field.one, value.denom.LC
        for monomial, coefficient in value.numer.terms():
            share = Fraction(int(coefficient.numerator), int(coefficient.denominator)) / Fraction(
                int(scale.numerator), int(scale.denominator))
            term = self._field.ring({monomial: self._field.domain.one})
            key = self._field(term) / self._field(value.denom.quo_ground(scale)) / share.denominator
            if key not in self._exponentials:
                self._exponentials[key] = next(self._symbols)
            result *= self._exponentials[key] ** share.numerator
        return result

    def log(self, value: Rational) -> Rational:
        """The logarithm: a sum over the factors; that of an exponential is its exponent."""
        exponents = {power: exponent for exponent, power in self._exponentials.items()}
        result = self._field.zero
        for polynomial, sign in ((value.numer, 1), (value.denom, -1)):
            content, factors = polynomial.factor_list()
            for factor, power in [(self._field.ring(content), 1), *factors]:
                key = self._field(factor)
                if key == 1:
                    continue
                if key not in exponents and key not in self._logarithms:
                    self._logarithms[key] = next(self._symbols)
                result += sign * power * exponents.get(key, self._logarithms.get(key))
        return result


class _Number:
    """A number in symbols, with its derivative along the variable of a derivative."""

    __slots__ = ("algebra", "slope", "value")

    def __init__(self, algebra: _Algebra, value: Rational, slope: Rational) -> None:
        self.algebra, self.value, self.slope = algebra, value, slope

    def moving(self) -> _Number:
        """The same number, as the variable that moves."""
        return _Number(self.algebra, self.value, self.algebra.constant(1).value)

    def _of(self, other: Any) -> _Number:
        return other if isinstance(other, _Number) else self.algebra.constant(other)

    def __add__(self, other: Any) -> _Number:
        right = self._of(other)
        return _Number(self.algebra, self.value + right.value, self.slope + right.slope)

    def __neg__(self) -> _Number:
        return _Number(self.algebra, -self.value, -self.slope)

    def __sub__(self, other: Any) -> _Number:
        return self + -self._of(other)

    def __rsub__(self, other: Any) -> _Number:
        return -self + other

    def __mul__(self, other: Any) -> _Number:
        right = self._of(other)
        slope = self.value * right.slope + self.slope * right.value
        return _Number(self.algebra, self.value * right.value, slope)

    def __truediv__(self, other: Any) -> _Number:
        return self * self._of(other) ** -1

    def __rtruediv__(self, other: Any) -> _Number:
        return self**-1 * other

    def __pow__(self, exponent: int) -> _Number:
        power = int(exponent)
        if power in (0, 1):
            return self if power else self._of(1)
        slope = self.slope * power * self.value ** (power - 1)
        return _Number(self.algebra, self.value**power, slope)

    __radd__, __rmul__ = __add__, __mul__

    def exp(self) -> _Number:
        """Numpy's exp calls this; log and log1p alike."""
        power = self.algebra.exp(self.value)
        return _Number(self.algebra, power, power * self.slope)

    def log(self) -> _Number:
        return _Number(self.algebra, self.algebra.log(self.value), self.slope / self.value)

    def log1p(self) -> _Number:
        return (self + 1).log()
