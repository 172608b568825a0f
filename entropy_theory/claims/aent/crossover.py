"""When a bound in eps^2 plus a bias is smaller than a bound in eps: steps for any tree.

Notation of `epsilon_squared`: B1 = c eps, B2 = k eps^2 + lambda L, c = sqrt(h)/C,
k = 1/(2 lambda C_lambda), L = h log n - log|A*|, rho = c^2/(4 k lambda L). For a single right response,
N = n^h and E = e^{1/lambda} = x N: rho <= 1/(2 log n P*(s)) at the state s before its last token. With
three tokens or more rho < 1 where lambda L < 1. With two tokens rho >= 1 is possible, but then
B2 <= B1 only where B2 >= 1, which is shown on a box of x.
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
PARENT = smt.lemma(
    "state before the right token",
    "C_lambda P*(s) <= (d mu)^2 there, mu <= pi(a|s) and C = d pi(a|s), so C_lambda P*(s) <= C^2",
    "Cl star d mu p C",
    lambda v: [v.Cl > 0, v.d >= 0, v.mu >= 0, v.mu <= v.p, v.d * v.p == v.C,
               v.Cl * v.star <= (v.d * v.mu) ** 2],
    lambda v: v.Cl * v.star <= v.C * v.C,
    axioms=("C_lambda is a minimum over states",),
)
RATIO = smt.lemma(
    "ratio", "rho = c^2/(4 k lambda L) = h C_lambda/(2 L C^2), L = h log n: 2 rho log n P*(s) <= 1",
    "rho Cl star d mu p C h L log_n",
    lambda v: [
        v.Cl > 0, v.star > 0, v.C > 0, v.h >= 1, v.log_n > 0, v.h * v.log_n == v.L,
        2 * v.rho * v.L * v.C * v.C == v.h * v.Cl, v.d >= 0, v.mu >= 0, v.mu <= v.p,
        v.d * v.p == v.C, v.Cl * v.star <= (v.d * v.mu) ** 2,
        PARENT.instance(Cl=v.Cl, star=v.star, d=v.d, mu=v.mu, p=v.p, C=v.C),
    ],
    lambda v: 2 * v.rho * v.log_n * v.star <= 1,
    uses=("discriminant", "state before the right token"),
)
SOFT_WEIGHTS = "the soft-optimal response distribution is proportional to e^{R/lambda}"
WIDE = smt.lemma(
    "three tokens or more",
    "P*(s) = (E + n - 1)/(E + N - 1), E = e^{1/lambda} > N = n^h where lambda L = lambda log N < 1: "
    "P*(s) > 1/2, and log n > 1 gives rho < 1",
    "star E N n rho log_n",
    lambda v: [v.n <= v.N, v.n >= 3, v.E > v.N, v.star * (v.E + v.N - 1) == v.E + v.n - 1,
               v.log_n > 1, v.rho > 0, 2 * v.rho * v.log_n * v.star <= 1],
    lambda v: v.rho < 1,
    uses=("ratio", "log 3 > 1"), axioms=("exp and log are increasing", SOFT_WEIGHTS),
)
BINARY = smt.lemma(
    "two tokens", "n = 2, E = x N: 1/P*(s) <= 1 + 1/x, so 2 rho log 2 <= (1 + x)/x",
    "star E N x rho log_2",
    lambda v: [v.N >= 2, v.x > 1, v.x * v.N == v.E, v.star * (v.E + v.N - 1) == v.E + 1,
               v.log_2 > 0, v.rho > 0, 2 * v.rho * v.log_2 * v.star <= 1],
    lambda v: 2 * v.rho * v.log_2 * v.x <= 1 + v.x,
    uses=("ratio",), axioms=(SOFT_WEIGHTS,),
)
FAR = smt.lemma(
    "two tokens, small lambda", "rho < 1 for x >= 13/5, and for one token, where P*(s) = 1",
    "x rho log_2",
    lambda v: [v.rho > 0, 26 * v.log_2 > 18, smt.any_of(
        2 * v.rho * v.log_2 * 1 <= 1,
        smt.all_of(5 * v.x >= 13, 2 * v.rho * v.log_2 * v.x <= 1 + v.x))],
    lambda v: v.rho < 1,
    uses=("ratio", "two tokens", "26 log 2 > 18"),
)
NEAR = smt.lemma(
    "two tokens, large lambda",
    "1 < x <= 13/5 and N >= 4: b = lambda log N >= beta = log 4/(log 4 + log x) > 1/2, and "
    "4 b (1 - b) rho < 1",
    "x rho log_2 b beta",
    lambda v: [v.rho > 0, v.x > 1, 2 * v.rho * v.log_2 * v.x <= 1 + v.x, v.b >= v.beta, v.b < 1,
               2 * v.beta > 1, v.log_2 > 0,
               # The box: (2 beta - 1)^2 > 1 - 2 x log 2/(1 + x).
               ((2 * v.beta - 1) ** 2 - 1) * (1 + v.x) + 2 * v.x * v.log_2 > 0],
    lambda v: smt.all_of(2 * v.b > 1, 4 * v.b * (1 - v.b) * v.rho < 1),
    uses=("two tokens", "box", "beta > 1/2"),
    axioms=("log N/(log N + log x) increases with N",),
)
TWO_TOKENS = smt.lemma(
    "two tokens, every lambda",
    "N = 2^h is 2, where P*(s) = 1, or at least 4; x <= 13/5 or not: rho < 1, or b > 1/2 and "
    "4 b (1 - b) rho < 1",
    "star E N x rho log_2 b beta",
    lambda v: [
        smt.any_of(v.N == 2, v.N >= 4), v.x > 1, v.x * v.N == v.E, v.star > 0,
        v.star * (v.E + v.N - 1) == v.E + 1, v.rho > 0, 26 * v.log_2 > 18,
        2 * v.rho * v.log_2 * v.star <= 1, v.b < 1, smt.implies(v.N >= 4, v.b >= v.beta),
        # Certified on the box.
        smt.implies(5 * v.x <= 13, smt.all_of(
            2 * v.beta > 1, ((2 * v.beta - 1) ** 2 - 1) * (1 + v.x) + 2 * v.x * v.log_2 > 0)),
        BINARY.instance(star=v.star, E=v.E, N=v.N, x=v.x, rho=v.rho, log_2=v.log_2),
        FAR.instance(x=v.x, rho=v.rho, log_2=v.log_2),
        NEAR.instance(x=v.x, rho=v.rho, log_2=v.log_2, b=v.b, beta=v.beta),
    ],
    lambda v: smt.any_of(
        v.rho < 1, smt.all_of(2 * v.b > 1, 4 * v.b * (1 - v.b) * v.rho < 1)),
    uses=("two tokens, small lambda", "two tokens, large lambda"),
)
CLOSE = smt.lemma(
    "short of 1", "y = k eps^2 < 1 - b, b > 1/2, 4 b (1 - b) rho < 1: B1^2 = 4 b rho y < (y + b)^2",
    "y b rho",
    lambda v: [v.y > 0, v.y < 1 - v.b, 2 * v.b > 1, v.rho > 0, 4 * v.b * (1 - v.b) * v.rho < 1],
    lambda v: 4 * v.b * v.rho * v.y < (v.y + v.b) ** 2,
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


def _beta(x: Ball) -> Ball:
    return _log(4) / (_log(4) + x.log())


def one_right_steps() -> tuple[Step, ...]:
    """B2 >= min(1, B1) for a single right response."""
    return (
        CROSSOVER, DISCRIMINANT, PARENT, RATIO,
        certify.positive("log 3 > 1", "log 3 - 1 > 0", lambda: _log(3) - 1),
        certify.positive("26 log 2 > 18", "26 log 2 - 18 > 0", lambda: 26 * _log(2) - 18),
        WIDE, BINARY, FAR,
        certify.positive_on_box("beta > 1/2", "log 4/(log 4 + log x) > 1/2 for x in [1, 2.6]",
                                lambda x: 2 * _beta(x) - 1, [(1.0, 2.6)]),
        certify.positive_on_box(
            "box", "((2 beta - 1)^2 - 1)(1 + x) + 2 x log 2 > 0 for x in [1, 2.6]",
            lambda x: ((2 * _beta(x) - 1) ** 2 - 1) * (1 + x) + 2 * x * _log(2), [(1.0, 2.6)]),
        NEAR, TWO_TOKENS, CLOSE, NO_INTERVAL,
        smt.lemma(
            "assembly",
            "B2 = y + b < 1 leaves b < 1 and so rho < 1 or (b > 1/2 and 4 b (1 - b) rho < 1): B2 > B1 "
            "in both cases, hence B2 >= min(1, B1)",
            "B1 B2 y b rho k c square",
            lambda v: [
                v.k > 0, v.y > 0, v.b > 0, v.rho > 0, v.B1 > 0, v.square >= 0, v.y + v.b == v.B2,
                v.c * v.c == 4 * v.k * v.b * v.rho, 4 * v.b * v.rho * v.y == v.B1 * v.B1,
                4 * v.k * (v.B1 - v.B2) == (v.c * v.c - 4 * v.k * v.b) - v.square,
                smt.implies(v.b < 1, smt.any_of(
                    v.rho < 1, smt.all_of(2 * v.b > 1, 4 * v.b * (1 - v.b) * v.rho < 1))),
                CLOSE.instance(y=v.y, b=v.b, rho=v.rho),
                NO_INTERVAL.instance(k=v.k, c=v.c, bias=v.b, B1=v.B1, B2=v.B2, square=v.square),
            ],
            lambda v: smt.any_of(v.B2 >= 1, v.B2 > v.B1),
            uses=("three tokens or more", "two tokens, every lambda", "short of 1", "no interval"),
        ),
    )


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
