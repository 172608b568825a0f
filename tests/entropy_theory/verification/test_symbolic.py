"""Moment algebra against finite differences, and against wrong identities."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from entropy_theory.verification import symbolic


def expand_moments(algebra, expression, functions, probabilities):
    """Evaluate an expression in moment symbols on numbers."""
    values = {}
    for moment, monomial in algebra._moments.items():
        f = sympy.lambdify(list(algebra.variables.values()), monomial)
        values[moment] = float(np.sum(probabilities * f(*functions)))
    return float(expression.subs(values))


def test_second_derivative_of_entropy_against_finite_differences():
    """An independent check of the derivation rule itself, at order two."""
    algebra = symbolic.Moments("L x")
    log_p, x = algebra["L"], algebra["x"]
    moves = {log_p: x - algebra.expect(x)}
    second = algebra.derivative(
        algebra.derivative(-algebra.expect(log_p), x, moves), x, moves
    )
    generator = np.random.default_rng(0)
    logits, direction = generator.standard_normal((2, 4))

    def entropy(t):
        z = logits + t * direction
        p = np.exp(z) / np.sum(np.exp(z))
        return -np.sum(p * np.log(p))

    h = 1e-3
    difference = (entropy(h) - 2 * entropy(0) + entropy(-h)) / h**2
    p = np.exp(logits) / np.sum(np.exp(logits))
    found = expand_moments(algebra, second, (np.log(p), direction), p)
    # Truncation h^2/12 times a fourth derivative of order 10, rounding 4e-16/h^2.
    assert found == pytest.approx(difference, abs=2e-5)


def test_indicators_are_idempotent():
    algebra = symbolic.Moments("x", indicators="A")
    a, x = algebra["A"], algebra["x"]
    assert algebra.expect(a**3 * x) == algebra.expect(a * x)
    assert algebra.expect(a**2) != algebra.expect(a * x)


def test_pairs_are_independent_copies():
    algebra = symbolic.Moments("x")
    one, two = sympy.symbols("x1 x2")
    pairs = algebra.expect_pairs((one - two) ** 2, {"x": one}, {"x": two})
    assert sympy.expand(pairs - 2 * algebra.covariance(algebra["x"], algebra["x"])) == 0


@pytest.mark.parametrize(("power", "outcome"), [(1, "pass"), (2, "fail")])
def test_a_wrong_power_of_temperature_is_rejected(power, outcome):
    """With b = 1/T and A the log normalizer, H = A - b E z and dA/db = E z: dH/db = -b Var(z)."""

    def residual():
        algebra = symbolic.Moments("z")
        z, (b, log_normalizer) = algebra["z"], sympy.symbols("b A")
        mean, variance = algebra.expect(z), algebra.covariance(z, z)
        # The logits b z move along z as b grows.
        rates = {b: sympy.Integer(1), log_normalizer: mean}
        slope = algebra.derivative(log_normalizer - b * mean, z, rates)
        return slope + b**power * variance

    step = symbolic.identity("slope", "", residual)
    assert step.check(5.0)[0] == outcome


def test_written_out_check_rejects_a_wrong_identity():
    right = symbolic.explicit(
        "variance", "", lambda s: [s.along_inverse_temperature(s.mean(s.z)) - s.covariance(s.z, s.z)],
        actions=(2, 3))
    wrong = symbolic.explicit(
        "variance", "", lambda s: [s.along_inverse_temperature(s.mean(s.z)) - s.mean(s.z)],
        actions=(2, 3))
    assert right.check(5.0)[0] == "pass"
    assert wrong.check(5.0)[0] == "fail"
