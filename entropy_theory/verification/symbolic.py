"""Identities for any number of actions, by moment algebra (SymPy).

If the logits move along a direction x, dz/dt = x, then log pi moves by x - E[x], and every softmax
expectation obeys one closed rule:

    d/dt E[f] = E[f (x - E x)] + E[df/dt].

So expectations E[L^a x^b ...] can be treated as polynomial symbols: an identity becomes a computation
in a polynomial ring, true for every n at once, with no sum over actions ever written out. The rule
itself is proved once, from sums of exponentials (`softmax_rule`). Explicit n = 2..6 serves as a
second, independent check (`ExplicitSoftmax`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from entropy_theory.verification.claim import Outcome, Step

if TYPE_CHECKING:
    import sympy

Expression: TypeAlias = "sympy.Expr"
Rational: TypeAlias = "sympy.polys.fields.FracElement"
"""A rational function of `ExplicitSoftmax`'s symbols."""


class Moments:
    """Expectations under one softmax distribution, for any number of actions.

    Args:
        variables: functions of the action, such as ``"z x"``.
        indicators: functions with values 0 and 1, such as ``"A"`` (so A^2 = A).

    Attributes:
        variables: their symbols, by name.
    """

    def __init__(self, variables: str, indicators: str = "") -> None:
        import sympy

        names = variables.split() + indicators.split()
        self.variables = {name: sympy.Symbol(name) for name in names}
        self._indicators = {self.variables[name] for name in indicators.split()}
        self._moments: dict[Expression, Expression] = {}

    def __getitem__(self, name: str) -> Expression:
        return self.variables[name]

    def expect(self, f: Expression) -> Expression:
        """E[f], as a polynomial in moment symbols; moments inside f are constants."""
        import sympy

        ordered = list(self.variables.values())
        polynomial = sympy.Poly(sympy.expand(f), *ordered)
        result = sympy.Integer(0)
        for powers, coefficient in polynomial.terms():
            result += coefficient * self._moment(ordered, powers)
        return sympy.expand(result)

    def covariance(self, f: Expression, g: Expression) -> Expression:
        """E[f g] - E[f] E[g]."""
        return self.expect(f * g) - self.expect(f) * self.expect(g)

    def derivative(
        self,
        expression: Expression,
        direction: Expression,
        rates: Mapping[Expression, Expression],
    ) -> Expression:
        """d/dt of an expression in variables, scalars and moments.

        Args:
            expression: built from ``self``'s variables, its moments and free scalars.
            direction: dz/dt, a function of the action.
            rates: derivative of each variable or scalar that moves (log pi: direction - E
                direction); all others are constant.
        """
        import sympy

        result = sympy.Integer(0)
        drift = direction - self.expect(direction)
        for symbol, rate in rates.items():
            result += sympy.diff(expression, symbol) * rate
        for moment, f in list(self._moments.items()):
            coefficient = sympy.diff(expression, moment)
            if coefficient != 0:
                moved = sum(sympy.diff(f, s) * rate for s, rate in rates.items())
                result += coefficient * self.expect(f * drift + moved)
        return sympy.expand(result)

    def expect_pairs(self, f: Expression, first: Mapping[str, Expression],
                     second: Mapping[str, Expression]) -> Expression:
        """E[f] over two independent actions; ``first`` and ``second`` name their variables in f."""
        import sympy

        ordered = [*first.values(), *second.values()]
        polynomial = sympy.Poly(sympy.expand(f), *ordered)
        result = sympy.Integer(0)
        for powers, coefficient in polynomial.terms():
            split = len(first)
            one = self._monomial(first, powers[:split])
            two = self._monomial(second, powers[split:])
            result += coefficient * self.expect(one) * self.expect(two)
        return sympy.expand(result)

    def _monomial(self, names: Mapping[str, Expression], powers: Iterable[int]) -> Expression:
        result: Expression = 1
        for name, power in zip(names, powers, strict=True):
            result *= self.variables[name] ** power
        return result

    def _moment(self, ordered: Sequence[Expression], powers: Sequence[int]) -> Expression:
        import sympy

        monomial = sympy.Integer(1)
        for symbol, power in zip(ordered, powers, strict=True):
            monomial *= symbol ** (min(power, 1) if symbol in self._indicators else power)
        if monomial == 1:
            return monomial
        moment = sympy.Symbol(f"E[{monomial}]")
        self._moments[moment] = monomial
        return moment


class ExplicitSoftmax:
    """Softmax over a given number of actions, as rational functions of z_a and e_a = exp(b z_a).

    The exponentials are treated as free symbols with the right derivative, so every identity
    becomes one of rational functions, decided exactly.

    Attributes:
        z: logits; x: a direction of change; e: exp(b z_a); p: e / sum(e); b: inverse temperature.
    """

    def __init__(self, n: int) -> None:
        from sympy import QQ
        from sympy.polys.fields import field

        names = [f"{letter}{k}" for letter in "zxe" for k in range(n)] + ["b"]
        self.field, *generators = field(names, QQ)
        self.z, self.x, self.e = generators[:n], generators[n:2 * n], generators[2 * n:3 * n]
        self.b = generators[-1]
        normalizer = sum(self.e[1:], self.e[0])
        self.p = [e / normalizer for e in self.e]

    def mean(self, f: Sequence[Rational]) -> Rational:
        """E_p[f]."""
        return _sum(p * v for p, v in zip(self.p, f, strict=True))

    def covariance(self, f: Sequence[Rational], g: Sequence[Rational]) -> Rational:
        """Cov_p(f, g)."""
        products = [u * v for u, v in zip(f, g, strict=True)]
        return self.mean(products) - self.mean(f) * self.mean(g)

    def along_direction(self, f: Rational) -> Rational:
        """df/dt when dz/dt = x at b = 1: dz_a = x_a, de_a = e_a x_a."""
        return _sum(
            f.diff(z) * x + f.diff(e) * e * x
            for z, x, e in zip(self.z, self.x, self.e, strict=True)
        )

    def along_inverse_temperature(self, f: Rational) -> Rational:
        """df/db: de_a = z_a e_a."""
        return f.diff(self.b) + _sum(
            f.diff(e) * z * e for z, e in zip(self.z, self.e, strict=True)
        )


def identity(
    name: str,
    statement: str,
    residual: Callable[[], Expression | Sequence[Expression]],
    *,
    uses: Sequence[str] = (),
    axioms: Sequence[str] = (),
) -> Step:
    """Make the proof step that a residual (left minus right side) is the zero polynomial, for every n."""

    def check(seconds: float) -> tuple[Outcome, str]:
        import sympy

        found = residual()
        residuals = list(found) if isinstance(found, (list, tuple)) else [found]
        if not residuals:
            return "error", "the identity has no residual to check"
        for r in residuals:
            left = sympy.expand(r)
            # Logarithms and exponentials may need more than expansion; polynomials never do.
            if left != 0 and (left := sympy.simplify(left)) != 0:
                return "fail", f"left minus right = {left}"
        return "pass", "zero in moment algebra, any n"

    return Step(name=name, statement=statement, method="symbolic", check=check, uses=tuple(uses),
                axioms=tuple(axioms))


def explicit(
    name: str,
    statement: str,
    residuals: Callable[[ExplicitSoftmax], Iterable[Rational]],
    *,
    actions: Sequence[int] = range(2, 7),
) -> Step:
    """Make a second check of an identity, written out for each of a few numbers of actions."""

    def check(seconds: float) -> tuple[Outcome, str]:
        for n in actions:
            found = list(residuals(ExplicitSoftmax(n)))
            if not found:
                return "error", f"n = {n}: there is no residual to check"
            for r in found:
                if r != 0:
                    return "fail", f"n = {n}: left minus right = {r}"
        return "pass", f"zero for n = {actions[0]}..{actions[-1]}, written out"

    return Step(name=name, statement=statement, method="symbolic", check=check, cross_check=True)


def softmax_rule() -> Step:
    """Make the step that proves the rule of moment algebra, from S[f] = sum_a exp(z_a) f_a."""

    def residual() -> Expression:
        import sympy

        t = sympy.Symbol("t")
        sum_f, sum_1 = sympy.Function("S_f")(t), sympy.Function("S_1")(t)
        sum_fx, sum_x, sum_df = sympy.symbols("S_fx S_x S_df")
        rate = sympy.diff(sum_f / sum_1, t).subs(
            {sympy.diff(sum_f, t): sum_fx + sum_df, sympy.diff(sum_1, t): sum_x}
        )
        return rate - (sum_fx / sum_1 - (sum_f / sum_1) * (sum_x / sum_1) + sum_df / sum_1)

    return identity(
        "softmax rule",
        "dz/dt = x implies d/dt E[f] = E[f (x - E x)] + E[df/dt], and so "
        "d/dt log pi = x - E[x]",
        residual,
        axioms=("d/dt exp(z) = exp(z) dz/dt; derivatives of finite sums and of quotients",),
    )


def entropy_slope_residual() -> Expression:
    """Return dH/dt + Cov(log pi, x) along dz/dt = x, which is zero for every n."""
    m = Moments("L x")
    log_p, x = m["L"], m["x"]
    return m.derivative(-m.expect(log_p), x, {log_p: x - m.expect(x)}) + m.covariance(log_p, x)


def entropy_slope(
    name: str = "entropy slope", statement: str = "along dz/dt = x: dH/dt = -Cov(log pi, x)"
) -> Step:
    """The step from the softmax rule to the gradient of entropy (AEPO, Eq. 6; Cui et al., Lemma 1)."""
    return identity(name, statement, entropy_slope_residual, uses=("softmax rule",))


def _sum(terms: Iterable[Rational]) -> Rational:
    result: Rational = 0
    for term in terms:
        result = term + result
    return result
