"""When a bound in eps^2 plus a bias is smaller than a bound in eps: steps for any tree.

Notation of `epsilon_squared`: B1 = c eps, B2 = k eps^2 + lambda L, c = sqrt(h)/C,
k = 1/(2 lambda C_lambda), L = h log n - log|A*|. What is said of a single right response is proved in
`formal/claims/aent/epsilon_squared.v`.
"""

from __future__ import annotations

from entropy_theory.verification import Step, certify, smt, symbolic
from entropy_theory.verification.arithmetic import Ball


def _crossover() -> symbolic.Expression:
    import sympy

    k, c, eps, bias = sympy.symbols("k c epsilon bias")
    return (4 * k * (c * eps - (k * eps**2 + bias))
            - ((c**2 - 4 * k * bias) - (2 * k * eps - c) ** 2))


CROSSOVER = symbolic.identity(
    "crossover", "4 k (B1 - B2) = (c^2 - 4 k lambda L) - (2 k eps - c)^2, B1 = c eps, "
    "B2 = k eps^2 + lambda L", _crossover,
)
NO_INTERVAL = smt.lemma(
    "no interval", "c^2 < 4 k lambda L, that is h C_lambda < 2 L C^2, leaves B2 > B1 for every eps",
    "k c bias B1 B2 square",
    lambda v: [v.k > 0, v.c * v.c < 4 * v.k * v.bias, v.square >= 0,
               4 * v.k * (v.B1 - v.B2) == (v.c * v.c - 4 * v.k * v.bias) - v.square],
    lambda v: v.B2 > v.B1,
    uses=("crossover",),
)


def _discriminant() -> symbolic.Expression:
    import sympy

    h, c_right, c_soft, lam, sparsity = sympy.symbols("h C C_lambda lambda L", positive=True)
    k, c_squared = 1 / (2 * lam * c_soft), h / c_right**2
    left = (c_squared - 4 * k * lam * sparsity) * c_soft * c_right**2
    return sympy.simplify(left - (h * c_soft - 2 * sparsity * c_right**2))


DISCRIMINANT = symbolic.identity(
    "discriminant", "(c^2 - 4 k lambda L) C_lambda C^2 = h C_lambda - 2 L C^2", _discriminant)


def one_token_steps() -> tuple[Step, ...]:
    """B2 > B1 for one token with at most half of the answers right, whatever eps and lambda."""
    return (
        CROSSOVER, DISCRIMINANT, NO_INTERVAL,
        certify.positive("log 4 > 1", "2 log 2 - 1 > 0", lambda: 2 * _log(2) - 1),
        smt.lemma(
            "one token",
            "h = 1: C_lambda <= min pi^2 <= C^2 and L = log(|A|/|A*|) >= log 2 > 1/2, so "
            "C_lambda < 2 L C^2: no eps and no lambda make B2 <= B1",
            "Cl mu C L log_2",
            lambda v: [v.Cl > 0, v.C > 0, v.mu >= 0, v.mu <= v.C, v.Cl <= v.mu * v.mu,
                       2 * v.log_2 > 1, v.log_2 <= v.L],
            lambda v: v.Cl < 2 * v.L * v.C * v.C,
            uses=("discriminant", "log 4 > 1"), axioms=("log is increasing",),
        ),
    )


def negation_steps() -> tuple[Step, ...]:
    """B2 > B1 for small eps at every policy, and for every eps where one token is asked for."""
    return (
        *one_token_steps(),
        smt.lemma(
            "small epsilon, or one token",
            "B2 > B1 where c eps < lambda L (every policy with a wrong response, small eps), and where "
            "c^2 < 4 k lambda L (one token, at most half of the answers right, every eps)",
            "c eps bias k B1 B2",
            lambda v: [v.c > 0, v.k > 0, v.eps > 0, v.bias > 0, v.c * v.eps == v.B1,
                       v.k * v.eps * v.eps + v.bias == v.B2,
                       smt.any_of(v.c * v.eps < v.bias, v.c * v.c < 4 * v.k * v.bias)],
            lambda v: v.B2 > v.B1,
            uses=("one token", "no interval"),
        ),
    )


def _log(n: int) -> Ball:
    from flint import arb

    return arb(n).log()
