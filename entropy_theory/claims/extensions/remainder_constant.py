r"""Extension: how good the first order is. The best constant in |R| <= (K_n/2) ||d||^2.

R = H(z + d) - H(z) + Cov(z, d). For every n, policy and step

    |R| <= (1/2)(5/8 + (1/5) log n) ||d||^2,

and no constant free of n will do: K_n >= 1/4 + (1/8) log((n - 2)/2) from two actions of mass 1/4 each and
a uniform rest (n >= 4). For n = 2 the best constant is 1/2. Numerically K_n =
max_p p [1 + (1 - 2p) log(p (n - 2)/(1 - 2p))]: 0.53 for n = 3, 1.10 for 1000, 1.70 for 151,936, where the
bound has 0.84, 2.01, 3.01.

Along z + t d the curvature is Q = -V - Cov(u^2, log pi), u = d - E d, V = E u^2. From -p log p <=
p log(1/q) + q - p, with q = 1/(e n) for the actions with u^2 < V and q = 1/(8 n) for the others,

    -Q <= V (1 + 1/e) + D log n,    Q <= D (log n + log 8 - 2) + r/8,    D = E(V - u^2)_+ <= V,

r = (max d - min d)^2 <= 2 ||d||^2. And D <= r/10, V + D <= 8r/27, V <= r/4: for -a <= u <= b, a <= b,
(u^2 - V)_+ lies below a square, (b^2 - V)(u + a)^2/r if V >= a^2 and (1 - V/b^2) u^2 if V <= a^2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from entropy_theory.claims.aepo.expansion import LOG_BOUND, TAYLOR
from entropy_theory.claims.aepo.tempered_reinforce import SUM_OF_SIGNS
from entropy_theory.claims.extensions.hessian import hessian_matrix
from entropy_theory.claims.extensions.second_order import first_order, quadratic_form
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Statement,
    Step,
    bandit_instances,
    certify,
    listed_instances,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Ball, Real, Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.experiment import experiment
from entropy_theory.verification.formula.limits import for_every, implies
from entropy_theory.verification.formula.terms import ACTIONS, Term

CONSTANT, PER_LOG, UNIT = 25, 8, 40
"""|Q(d)| <= (25 + 8 log n)/40 ||d||^2: the margin and the proof below share these integers."""
SYMMETRY = "Q is even in d, so that a <= b may be assumed"


def curvature_constant(n: int, like: Reals) -> Real:
    """5/8 + (1/5) log n: a bound on |Q(d)|/||d||^2."""
    return (ar.constant(CONSTANT, like) + PER_LOG * ar.log_of(n, like)) / UNIT


def room(i: Cases, constant: Real) -> Reals:
    """Half the constant times ||d||^2 minus |R|; and the constant times ||d||^2 minus |Q|."""
    norm = ar.total(i.step * i.step)
    remainder = np.abs(ar.entropy_change(i.logits, i.step) - first_order(i.logits, i.step))
    curvature = np.abs(quadratic_form(i.logits, i.step))
    return np.stack([constant * norm / 2 - remainder, constant * norm - curvature], axis=-1)


def no_smaller(least: Real) -> Term:
    """Any K with |R| <= (K/2) ||d||^2 for all policies and steps is at least ``least``."""
    def holds(z: Any, d: Any, constant: Real) -> Any:
        remainder = np.abs(ar.entropy_change(z, d) - first_order(z, d))
        return remainder <= constant * ar.total(d * d) / 2

    def at_least(constant: Real) -> Term:
        everywhere = for_every("z", (ACTIONS,), lambda z: for_every(
            "d", (ACTIONS,), lambda d: holds(z, d, constant)))
        return implies(everywhere, least <= constant)

    return for_every("K", (), at_least)


def _grows_with_log(i: Cases) -> Term:
    """From four actions on a valid constant is at least 1/4 + (1/8) log((n - 2)/2)."""
    n = i.step.shape[-1]
    least = ar.constant(1, i.step) / 4 + np.log((n - 2) / ar.constant(2, i.step)) / 8
    return implies(n >= ar.constant(4, i.step), no_smaller(least))


def _log(n: int) -> Ball:
    from flint import arb

    return arb(n).log()


def _curvature() -> list[symbolic.Expression]:
    m = symbolic.Moments("L d")
    log_p, d = m["L"], m["d"]
    moves = {log_p: d - m.expect(d)}
    slope = m.derivative(-m.expect(log_p), d, moves)
    second = m.derivative(slope, d, moves)
    centered = d - m.expect(d)
    variance = m.covariance(d, d)
    spread = m.expect((centered**2 - variance) * log_p)
    return [slope + m.covariance(log_p, d), second + variance + spread,
            m.expect(centered**2 - variance)]


def _squares() -> list[symbolic.Expression]:
    """E(u + a)^2 = V + a^2 and V = a b - E[(b - u)(u + a)], as E u = 0."""
    import sympy

    m = symbolic.Moments("u")
    u, a, b = m["u"], sympy.Symbol("a"), sympy.Symbol("b")
    first = m.expect((u + a) ** 2) - (m.expect(u**2) + a**2)
    second = m.expect(u**2) - (a * b - m.expect((b - u) * (u + a)))
    return [first.subs({m.expect(u): 0}), second.subs({m.expect(u): 0})]


def _two_big_atoms() -> list[symbolic.Expression]:
    """Second derivative of H at t = 0 along z = (g + t s, g - t s, 0, ..., 0), n - 2 zeros."""
    import sympy

    t, s, g = sympy.symbols("t s g", real=True)
    k = sympy.Symbol("k", positive=True)  # n - 2
    normalizer = sympy.exp(g + t * s) + sympy.exp(g - t * s) + k
    mean = ((g + t * s) * sympy.exp(g + t * s) + (g - t * s) * sympy.exp(g - t * s)) / normalizer
    second = sympy.diff(sympy.log(normalizer) - mean, t, 2).subs(t, 0)
    p = sympy.exp(g) / (2 * sympy.exp(g) + k)
    # log(p k/(1 - 2p)) = g, and ||d||^2 = 2 s^2.
    claimed = -p * (1 + (1 - 2 * p) * g) * 2 * s**2
    # At g = log(k/2): p = 1/4.
    quarter = p.subs(g, sympy.log(k / 2)) - sympy.Rational(1, 4)
    return [sympy.simplify(second - claimed), sympy.simplify(quarter)]


def _range_premises(v: smt.Values) -> list[smt.Formula]:
    return [v.a >= 0, v.b >= v.a, v.b > 0, v.V >= 0, v.a * v.b >= v.V]


def _positive_part(v: smt.Values) -> smt.Formula:
    excess = v.u * v.u - v.V
    return smt.any_of(smt.all_of(v.f == excess, excess >= 0), smt.all_of(v.f == 0, excess <= 0))


def curvature_steps() -> tuple[Step, ...]:
    """The steps from the softmax rule to |Q(d)| <= (5/8 + (1/5) log n) ||d||^2, for every n."""
    square_1 = smt.lemma(
        "below a square, V >= a^2", "(a + b)^2 (u^2 - V)_+ <= (b^2 - V)(u + a)^2 on -a <= u <= b",
        "u a b V f",
        lambda v: [*_range_premises(v), v.a * v.a <= v.V, -v.a <= v.u, v.u <= v.b, _positive_part(v)],
        lambda v: (v.a + v.b) ** 2 * v.f <= (v.b * v.b - v.V) * (v.u + v.a) ** 2)
    square_2 = smt.lemma(
        "below a square, V <= a^2", "b^2 (u^2 - V)_+ <= (b^2 - V) u^2 on -a <= u <= b", "u a b V f",
        lambda v: [*_range_premises(v), v.a * v.a >= v.V, -v.a <= v.u, v.u <= v.b, _positive_part(v)],
        lambda v: v.b * v.b * v.f <= (v.b * v.b - v.V) * v.u * v.u)
    def spread(v: smt.Values) -> smt.Formula:
        r = (v.a + v.b) ** 2
        return smt.all_of(r >= 4 * v.V, r >= 10 * v.D, 8 * r >= 27 * (v.V + v.D))

    wide = smt.lemma(
        "D and V, V >= a^2", "V <= r/4, D <= r/10 and V + D <= 8r/27 with r = (a + b)^2, from r D <= "
        "(b^2 - V)(V + a^2)", "a b V D",
        lambda v: [*_range_premises(v), v.a * v.a <= v.V,
                   (v.a + v.b) ** 2 * v.D <= (v.b * v.b - v.V) * (v.V + v.a * v.a)], spread,
        uses=("squares", "below a square, V >= a^2"), axioms=(SUM_OF_SIGNS, SYMMETRY))
    narrow = smt.lemma(
        "D and V, V <= a^2", "the same, from b^2 D <= (b^2 - V) V", "a b V D",
        lambda v: [*_range_premises(v), v.a * v.a >= v.V,
                   v.b * v.b * v.D <= (v.b * v.b - v.V) * v.V], spread,
        uses=("squares", "below a square, V <= a^2"), axioms=(SUM_OF_SIGNS, SYMMETRY))
    tangent = smt.lemma(
        "tangent", "-p log p <= p log(1/q) + q - p", "p q y log_p log_q log_y",
        lambda v: [v.p > 0, v.q > 0, v.y * v.p == v.q, v.log_y == v.log_q - v.log_p,
                   v.log_y <= v.y - 1],
        lambda v: -v.p * v.log_p <= -v.p * v.log_q + v.q - v.p, axioms=(LOG_BOUND,))
    term = smt.lemma(
        "one action", "c (-p log p) <= c_+ (p log(1/q) + q - p) and c_+ q <= top q, if c <= top; with "
        "c = V - u^2 (top V) or c = u^2 - V (top r)", "c plus top p q own log_q",
        lambda v: [v.p > 0, v.q > 0, v.own >= 0, v.top >= 0, v.c <= v.top,
                   smt.any_of(smt.all_of(v.plus == v.c, v.c >= 0),
                              smt.all_of(v.plus == 0, v.c <= 0)),
                   v.own <= -v.p * v.log_q + v.q - v.p],
        lambda v: smt.all_of(v.c * v.own <= v.plus * (-v.p * v.log_q + v.q - v.p),
                             v.plus * v.q <= v.top * v.q),
        uses=("tangent",), axioms=("-p log p >= 0 for p <= 1",))
    tops = smt.lemma(
        "tops", "V - u^2 <= V and u^2 - V <= r = (a + b)^2 on -a <= u <= b", "u a b V",
        lambda v: [*_range_premises(v), -v.a <= v.u, v.u <= v.b],
        lambda v: smt.all_of(v.V - v.u * v.u <= v.V, v.u * v.u - v.V <= (v.a + v.b) ** 2))
    above = smt.lemma(
        "curvature from above", "-Q = V + sum (V - u^2)(-pi log pi) <= V (1 + 1/e) + D log n, from "
        "q = 1/(e n): the sum is at most D log(e n) + n q V - D", "Q V D sum log_n inverse_e",
        lambda v: [-v.V - v.sum == v.Q,
                   v.sum <= v.D * (v.log_n + 1) + v.V * v.inverse_e - v.D],
        lambda v: v.V * (1 + v.inverse_e) + v.D * v.log_n >= -v.Q,
        uses=("curvature", "one action", "tops"), axioms=(SUM_OF_SIGNS,))
    below = smt.lemma(
        "curvature from below", "Q <= D (log n + log 8 - 2) + r/8, from q = 1/(8 n), as E(u^2 - V)_+ = "
        "E(V - u^2)_+ = D <= V, E[u^2 - V] being 0", "Q V D r sum log_n log_8",
        lambda v: [-v.V + v.sum == v.Q, v.D <= v.V,
                   v.sum <= v.D * (v.log_n + v.log_8) + v.r / 8 - v.D],
        lambda v: v.D * (v.log_n + v.log_8 - 2) + v.r / 8 >= v.Q,
        uses=("curvature", "one action", "tops"), axioms=(SUM_OF_SIGNS,))
    norm = smt.lemma(
        "r <= 2 N", "(M - m)^2 <= 2 ||d||^2, as M and m are two entries of d (or equal)", "M m N",
        lambda v: [v.N >= 0, smt.any_of(v.m == v.M, v.M * v.M + v.m * v.m <= v.N)],
        lambda v: (v.M - v.m) ** 2 <= 2 * v.N)
    size = smt.lemma(
        "sizes", "r <= 2 ||d||^2, 4V <= r, 10 D <= r and 27 (V + D) <= 8r", "V D a b M m r N",
        lambda v: [
            v.a + v.b == v.M - v.m, v.r == (v.a + v.b) ** 2, *norm.premises(v),
            norm.conclusion(v),
            # V >= a^2 or V <= a^2, and both lemmas conclude the same.
            smt.any_of(wide.conclusion(v), narrow.conclusion(v)),
        ],
        lambda v: smt.all_of(v.r <= 2 * v.N, v.r >= 4 * v.V, v.r >= 10 * v.D,
                             8 * v.r >= 27 * (v.V + v.D)),
        uses=("D and V, V >= a^2", "D and V, V <= a^2", "r <= 2 N"))
    return (
        symbolic.softmax_rule(),
        symbolic.identity("curvature", "H' = -Cov(log pi, d), H'' = Q = -V - E[(u^2 - V) log pi], "
                          "E[u^2 - V] = 0", _curvature, uses=("softmax rule",)),
        symbolic.identity("squares", "E(u + a)^2 = V + a^2 and V = a b - E[(b - u)(u + a)]", _squares),
        square_1, square_2, wide, narrow, tangent, term, tops, above, below, norm, size,
        certify.positive("log 2 from below", "log 2 > 69/100", lambda: _log(2) - _q(69, 100)),
        certify.positive("1/e", "1/e < 37/100", lambda: _q(37, 100) - _q(-1, 1).exp()),
        certify.positive("log 8 from below", "log 8 > 2", lambda: _log(8) - 2),
        certify.positive("log 8 from above", "log 8 < 21/10", lambda: _q(21, 10) - _log(8)),
        smt.lemma(
            "curvature bound", "|Q(d)| <= (5/8 + (1/5) log n) ||d||^2",
            "Q V D r N log_n log_8 inverse_e sum_B sum_A",
            lambda v: [
                v.D >= 0, 100 * v.log_n > 69, v.log_8 > 2, 10 * v.log_8 < 21,
                100 * v.inverse_e < 37, v.inverse_e > 0,
                size.conclusion(v),
                above.instance(Q=v.Q, V=v.V, D=v.D, sum=v.sum_B, log_n=v.log_n,
                               inverse_e=v.inverse_e),
                -v.V - v.sum_B == v.Q, v.sum_B <= v.D * v.log_n + v.V * v.inverse_e,
                below.instance(Q=v.Q, V=v.V, D=v.D, r=v.r, sum=v.sum_A,
                               log_n=v.log_n, log_8=v.log_8),
                -v.V + v.sum_A == v.Q, v.D <= v.V,
                v.sum_A <= v.D * (v.log_n + v.log_8) + v.r / 8 - v.D,
            ],
            lambda v: smt.all_of((CONSTANT + PER_LOG * v.log_n) * v.N >= UNIT * v.Q,
                                 (CONSTANT + PER_LOG * v.log_n) * v.N >= -UNIT * v.Q),
            uses=("curvature from above", "curvature from below", "sizes",
                  "log 2 from below", "1/e", "log 8 from below", "log 8 from above"),
            axioms=("log is increasing: log n >= log 2",)),
    )


def two_big_actions(n: int) -> float:
    """max over p of p [1 + (1 - 2p) log(p (n - 2)/(1 - 2p))]: what two equal big actions reach."""
    p = np.linspace(0, 0.5, 20_001)[1:-1]
    return float(np.max(p * (1 + (1 - 2 * p) * np.log(p * (n - 2) / (1 - 2 * p)))))


def _best_constant() -> tuple[bool, str]:
    """Largest abs(eigenvalue) of the Hessian found, from random starts and from two big actions."""
    from scipy.optimize import minimize

    generator, found, shown = np.random.default_rng(0), [], True
    for n in (3, 5, 8):
        def norm(z: Reals) -> float:
            return -float(np.max(np.abs(np.linalg.eigvalsh(hessian_matrix(z[None])[0]))))

        starts = [*(2 * generator.standard_normal((4, n))), np.eye(n)[0] + np.eye(n)[1]]
        best = max(-minimize(norm, z, method="Nelder-Mead",
                             options={"maxfev": 1500, "xatol": 1e-7, "fatol": 1e-12}).fun
                   for z in starts)
        shown &= abs(best - two_big_actions(n)) < 1e-5
        found.append(f"n = {n}: {best:.6f} ({two_big_actions(n):.6f})")
    return shown, "largest found (two equal big actions): " + ", ".join(found)


def _q(numerator: int, denominator: int) -> Ball:
    from flint import arb

    return arb(numerator) / denominator


_statement = Statement(
    latex=r"$|H(z+d)-H(z)+\mathrm{Cov}(z,d)| \le \frac12K_n\lVert d\rVert^2$ with "
          r"$K_n \le \frac58+\frac15\log n$; and $K_n \ge \frac14+\frac18\log\frac{n-2}2$ for $n\ge4$: "
          r"no constant free of $n$ exists.",
    margin=lambda i: room(i, curvature_constant(i.step.shape[-1], i.step)),
    beyond=lambda i: (_grows_with_log(i),),
    proof=(
        *curvature_steps(),
        symbolic.identity("two big atoms", "at pi = (p, p, rest uniform), d = (1, -1, 0, ...): Q = -p [1 "
                          "+ (1 - 2p) log(p (n - 2)/(1 - 2p))] ||d||^2; z = log((n - 2)/2): p = 1/4",
                          _two_big_atoms, axioms=("H = log sum e^z - E z",)),
        smt.lemma(
            "assembly", "|R| <= (1/2)(5/8 + (1/5) log n) ||d||^2, and a valid constant K is at least "
            "1/4 + (1/8) log((n - 2)/2)", "R sup log_n N K Q g M",
            lambda v: [v.sup >= 2 * v.R, v.sup >= -2 * v.R,
                       UNIT * v.sup <= (CONSTANT + PER_LOG * v.log_n) * v.N,
                       # For small steps along d, R tends to Q/2.
                       v.M > 0, (1 + v.g / 2) / 4 * v.M == -v.Q, v.K * v.M >= -v.Q],
            lambda v: smt.all_of((CONSTANT + PER_LOG * v.log_n) * v.N >= 2 * UNIT * v.R,
                                 (CONSTANT + PER_LOG * v.log_n) * v.N >= -2 * UNIT * v.R,
                                 2 + v.g <= 8 * v.K),
            uses=("curvature bound", "two big atoms"),
            axioms=(TAYLOR, "R(t d)/t^2 tends to Q(d)/2")),
    ),
)

# Two likely actions, each 72 times as likely as 62 others, that trade places: few actions do not show
# how a bound has to grow with n.
MANY_ACTIONS = {"weights": [72, 72] + 62 * [1], "step": [1, -1] + 62 * [0]}

remainder_constant = Claim(
    id="extension.remainder-constant",
    source="Extension of AEPO, Theorem 4.3, and Cui et al., Lemma 1",
    title="The constant in the remainder of the first order",
    scope="one softmax policy, one logit step of any size",
    statement=_statement,
    instances=bandit_instances(correct=False, step=True, actions=(2, 12)),
    mutants=(
        Mutant(name="a constant free of n: 1/2",
               statement=variant(_statement, margin=lambda i: room(i, ar.constant(1, i.step) / 2))),
        Mutant(name="a third of the constant",
               statement=variant(_statement, margin=lambda i: room(
                   i, curvature_constant(i.step.shape[-1], i.step) / 3))),
        Mutant(name="log n / 50 instead of / 5",
               statement=variant(_statement, margin=lambda i: room(
                   i, ar.constant(CONSTANT, i.step) / UNIT + ar.log_of(i.step.shape[-1], i.step) / 50)),
               instances=listed_instances([MANY_ACTIONS], "two likely actions among 64")),
    ),
    witnesses=(MANY_ACTIONS,),
    experiments=(
        experiment("best constant", "ascent of the curvature over policies finds nothing above two equal "
                   "big actions and a uniform rest, n = 3, 5, 8", _best_constant),
    ),
)
