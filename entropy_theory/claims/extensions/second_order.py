r"""Extension: the entropy change through second order, with a bound on what is left.

For every z, every step d, u = d - E_pi[d], rho = max d - min d:

    H(z + d) - H(z) = -Cov(log pi, d) - (1/2) {Var(d) + E[(log pi + H) u^2]} + R,
    |R| <= rho^3 (2 + 7 log n) / 24.

The quadratic form is Q(d) = -Var(d) - Cov(z, u^2). Along z + t d the third derivative is, in joint
cumulants, H''' = -2 E[u^3] - E[l u^3] + 3 E[l u] E[u^2] with l = log pi + H, and E|l| <= 2H, so

    |E u^3| <= rho^3/4,   |E[l u^3]| <= rho^3 H,   |E[l u]| E[u^2] <= rho H rho^2/4.

The constant is not sharp.
"""

from __future__ import annotations

import numpy as np

from entropy_theory.claims.aepo.expansion import LOG_BOUND
from entropy_theory.claims.aepo.tempered_reinforce import SUM_OF_SIGNS
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Statement,
    Step,
    bandit_instances,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Real, Reals
from entropy_theory.verification.claim import Convergence, variant
from entropy_theory.verification.formula.limits import has_derivative

TAYLOR_3 = "Taylor's formula: |f(1) - f(0) - f'(0) - f''(0)/2| <= (1/6) sup |f'''| on [0, 1]"


def first_order(logits: Reals, step: Reals) -> Reals:
    """-Cov(log pi, d)."""
    return -ar.covariance(ar.softmax(logits), logits, step)


def quadratic_form(logits: Reals, step: Reals) -> Reals:
    """Q(d) = -Var(d) - Cov(z, (d - E d)^2)."""
    p = ar.softmax(logits)
    centered = ar.centered(p, step)
    return -ar.mean(p, centered * centered) - ar.covariance(p, logits, centered * centered)


def _bound(step: Reals) -> Reals:
    spread = ar.largest(step) - ar.smallest(step)
    return spread * spread * spread * (2 + 7 * ar.log_of(step.shape[-1], like=step)) / 24


def _remainder(i: Cases, size: Real = 1, share: int = 2, sign: int = 1) -> Reals:
    """Change minus first order minus sign Q/share, at the step size * d."""
    step = size * i.step
    change = ar.entropy_change(i.logits, step) - first_order(i.logits, step)
    return change - sign * quadratic_form(i.logits, step) / share


def _along(i: Cases, t: Real) -> Reals:
    """Logits z + t d."""
    return i.logits + ar.per_action(t) * i.step


def _without_variance(i: Cases, size: Real = 1) -> Reals:
    p, step = ar.softmax(i.logits), size * i.step
    return _remainder(i, size) - ar.covariance(p, step, step) / 2


def _third() -> symbolic.Expression:
    m = symbolic.Moments("L d")
    log_p, d = m["L"], m["d"]
    moves = {log_p: d - m.expect(d)}
    derivative = -m.expect(log_p)
    for _ in range(3):
        derivative = m.derivative(derivative, d, moves)
    depth, centered = log_p - m.expect(log_p), d - m.expect(d)
    joint = m.expect(depth * centered**3)
    joint -= 3 * m.expect(depth * centered) * m.expect(centered**2)
    return derivative + 2 * m.expect(centered**3) + joint


def _two_forms() -> list[symbolic.Expression]:
    m = symbolic.Moments("L d")
    log_p, d = m["L"], m["d"]
    moves = {log_p: d - m.expect(d)}
    slope = m.derivative(-m.expect(log_p), d, moves)
    second = m.derivative(slope, d, moves)
    centered = d - m.expect(d)
    braces = m.covariance(d, d) + m.expect((log_p - m.expect(log_p)) * centered**2)
    return [second + braces, braces - m.covariance(d, d) - m.covariance(log_p, centered**2)]


def _recentered() -> list[symbolic.Expression]:
    import sympy

    m = symbolic.Moments("L d")
    depth, centered = m["L"] - m.expect(m["L"]), m["d"] - m.expect(m["d"])
    c = sympy.Symbol("c")
    return [m.expect(depth * centered) - m.expect(depth * (centered - c)),
            m.expect(depth * centered**3) - m.expect(depth * (centered**3 - c))]


def _variance_from_range() -> symbolic.Expression:
    import sympy

    m = symbolic.Moments("u")
    a, b, u = sympy.Symbol("a"), sympy.Symbol("b"), m["u"]
    # With E u = 0: E u^2 = a b - E[(b - u)(u + a)].
    gap = m.expect(u**2) - (a * b - m.expect((b - u) * (u + a)))
    return gap.subs({m.expect(u): 0})


def proof() -> tuple[Step, ...]:
    """The steps from the softmax rule to the bound on the remainder, for every n."""
    return (
        symbolic.softmax_rule(),
        symbolic.identity("second derivative",
                          "H'' = -{Var(d) + E[(log pi + H) u^2]} = -Var(d) - Cov(log pi, u^2)",
                          _two_forms, uses=("softmax rule",)),
        symbolic.identity("third derivative",
                          "H''' = -2 E[u^3] - E[l u^3] + 3 E[l u] E[u^2], l = log pi + H", _third,
                          uses=("softmax rule",)),
        symbolic.identity("recentering", "E[l f] = E[l (f - c)] for f = u, u^3 and any c, as E l = 0",
                          _recentered),
        symbolic.identity("variance from a range", "E u^2 = a b - E[(b - u)(u + a)], -a <= u <= b",
                          _variance_from_range),
        smt.lemma("depth", "|log pi + H| <= -log pi + H; averaged: E|l| <= 2H", "L H",
                  lambda v: [v.L <= 0, v.H >= 0],
                  lambda v: smt.all_of(v.L + v.H <= -v.L + v.H, -(v.L + v.H) <= -v.L + v.H)),
        smt.lemma("powers of u", "for -a <= u <= b, a + b = rho: |u - (b - a)/2| <= rho/2, "
                  "|u^3 - (b^3 - a^3)/2| <= rho^3/2 and |u^3| <= rho u^2", "u a b",
                  lambda v: [v.a >= 0, v.b >= 0, -v.a <= v.u, v.u <= v.b],
                  lambda v: smt.all_of(
                      2 * v.u - (v.b - v.a) <= v.a + v.b, (v.b - v.a) - 2 * v.u <= v.a + v.b,
                      2 * v.u**3 - (v.b**3 - v.a**3) <= (v.a + v.b)**3,
                      (v.b**3 - v.a**3) - 2 * v.u**3 <= (v.a + v.b)**3,
                      v.u**3 <= (v.a + v.b) * v.u**2, -(v.u**3) <= (v.a + v.b) * v.u**2)),
        smt.lemma("V <= rho^2/4", "E u^2 <= a b <= rho^2/4", "V W a b",
                  lambda v: [v.W >= 0, v.a * v.b - v.W == v.V],
                  lambda v: (v.a + v.b) * (v.a + v.b) >= 4 * v.V,
                  uses=("variance from a range",), axioms=(SUM_OF_SIGNS,)),
        smt.lemma(
            "third derivative bound", "|H'''| <= rho^3 (1/2 + (7/4) H)", "third cube joint cross V H rho",
            lambda v: [
                v.rho >= 0, v.H >= 0, v.V >= 0, v.rho * v.rho >= 4 * v.V,
                v.third == -2 * v.cube - v.joint + 3 * v.cross * v.V,
                -v.rho * v.V <= v.cube, v.cube <= v.rho * v.V,
                -v.rho**3 * v.H <= v.joint, v.joint <= v.rho**3 * v.H,
                -v.rho * v.H <= v.cross, v.cross <= v.rho * v.H,
                # The product of the bounds on E[l u] and on V.
                3 * v.cross * v.V <= 3 * v.rho * v.H * v.V, -3 * v.cross * v.V <= 3 * v.rho * v.H * v.V,
                4 * v.rho * v.V <= v.rho**3, 4 * v.rho * v.V * v.H <= v.rho**3 * v.H,
            ],
            lambda v: smt.all_of(4 * v.third <= v.rho**3 * (2 + 7 * v.H),
                                 -4 * v.third <= v.rho**3 * (2 + 7 * v.H)),
            uses=("third derivative", "recentering", "depth", "powers of u", "V <= rho^2/4"),
            axioms=("|E[f g]| <= sup |g| E|f|", "products of ordered nonnegative numbers are ordered"),
        ),
        smt.lemma("entropy term", "for y = 1/(n p): p log y <= 1/n - p; summed: H <= log n",
                  "p y n q log_y",
                  lambda v: [v.p > 0, v.n > 0, v.n * v.q == 1, v.y * v.p == v.q, v.log_y <= v.y - 1],
                  lambda v: v.p * v.log_y <= v.q - v.p, axioms=(LOG_BOUND,)),
        smt.lemma("remainder", "|R| <= rho^3 (2 + 7 log n)/24", "R sup cube H log_n",
                  lambda v: [v.cube >= 0, v.log_n >= v.H, v.sup >= 6 * v.R, v.sup >= -6 * v.R,
                             4 * v.sup <= v.cube * (2 + 7 * v.H)],
                  lambda v: smt.all_of(v.cube * (2 + 7 * v.log_n) >= 24 * v.R,
                                       v.cube * (2 + 7 * v.log_n) >= -24 * v.R),
                  uses=("second derivative", "third derivative bound", "entropy term"),
                  axioms=(TAYLOR_3,)),
    )


_statement = Statement(
    latex=r"$H(z+d)-H(z) = -\mathrm{Cov}(\log\pi,d)-\frac12\{\mathrm{Var}(d)+"
          r"\mathbb E[(\log\pi+H)(d-\bar d)^2]\}+R$ with $|R|\le\frac{2+7\log n}{24}(\max d-\min d)^3$.",
    margin=lambda i: _bound(i.step) - np.abs(_remainder(i)),
    beyond=lambda i: (
        has_derivative(lambda t: ar.entropy(_along(i, t)), 0, first_order(i.logits, i.step)),
        has_derivative(lambda t: first_order(_along(i, t), i.step), 0, quadratic_form(i.logits, i.step)),
    ),
    proof=proof(),
)

second_order = Claim(
    id="extension.second-order",
    source="Extension of Entropy Mechanism, Lemma 1, and AEPO, Eq. 6",
    title="The entropy change through second order",
    scope="one softmax policy, one logit step of any size, with its remainder",
    statement=_statement,
    instances=bandit_instances(correct=False, step=True),
    convergence=Convergence(remainder=_remainder, order=3, parameter="step size",
                            bound=lambda i, h: _bound(h * i.step)),
    mutants=(
        Mutant(name="the half dropped",
               statement=variant(_statement,
                                 margin=lambda i: _bound(i.step) - np.abs(_remainder(i, share=1))),
               convergence=Convergence(remainder=lambda i, h: _remainder(i, h, share=1), order=3)),
        Mutant(name="sign of the second order flipped",
               statement=variant(_statement,
                                 margin=lambda i: _bound(i.step) - np.abs(_remainder(i, sign=-1))),
               convergence=Convergence(remainder=lambda i, h: _remainder(i, h, sign=-1), order=3)),
        Mutant(name="Var(d) left out",
               statement=variant(_statement,
                                 margin=lambda i: _bound(i.step) - np.abs(_without_variance(i))),
               convergence=Convergence(remainder=_without_variance, order=3)),
        Mutant(name="a bound a hundred times smaller",
               statement=variant(_statement,
                                 margin=lambda i: _bound(i.step) / 100 - np.abs(_remainder(i)))),
    ),
)
