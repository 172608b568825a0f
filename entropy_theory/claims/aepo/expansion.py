"""The entropy change is its first order up to (1/4)(1 + log n) ||d||^2: lemmas, for any n.

Along z + t d the second derivative of entropy is -E[(1 + log pi + H) u^2], u = d - E d. Both signs of
it are at most (1/2)(1 + log n) ||d||^2; Taylor's formula halves that. No constant free of n exists.
The bound from below reweights: with V = E u^2, nu_a = pi_a u_a^2 / V and r = (max d - min d)^2,

    E[-log pi u^2] = V (H(nu) + E_nu log(u^2/V)) <= V (log n + log(r/V)),    V <= r/4,   r <= 2 ||d||^2.

It improves on (1/2)(1 + (1/2) log n) and needs no bound on the varentropy of pi.
"""

from __future__ import annotations

from collections.abc import Iterable

from entropy_theory.claims.aepo.tempered_reinforce import PER_LOG, SUM_OF_SIGNS, UNIT
from entropy_theory.verification import Step, certify, smt, symbolic
from entropy_theory.verification.arithmetic import Ball

LOG_BOUND = "log y <= y - 1 for y > 0"
TAYLOR = "Taylor's formula: |f(1) - f(0) - f'(0)| <= (1/2) sup |f''| on [0, 1]"


def remainder_steps() -> tuple[Step, ...]:
    """Steps from the softmax rule to |H(z + d) - H(z) + Cov(z, d)| <= (1/4)(1 + log n) ||d||^2."""
    return (
        symbolic.softmax_rule(),
        symbolic.identity("entropy slope", "dH/dt = -Cov(z, d)", _slope, uses=("softmax rule",)),
        symbolic.identity("curvature", "d2H/dt2 = -E[(1 + log pi + H) u^2]", _curvature,
                          uses=("softmax rule",)),
        symbolic.explicit("curvature, written out", "d/dt Cov(z, d) for each n", _written_out,
                          actions=range(2, 5)),
        symbolic.identity("variance from a range",
                          "V = (M - E d)(E d - m) - E[(M - d)(d - m)] for any numbers M, m",
                          _variance_from_range),
        smt.lemma(
            "V <= r/4", "with M, m the largest and smallest d: V <= (M - m)^2/4", "V W M m mean",
            lambda v: [v.W >= 0, (v.M - v.mean) * (v.mean - v.m) - v.W == v.V],
            lambda v: (v.M - v.m) * (v.M - v.m) >= 4 * v.V,
            uses=("variance from a range",), axioms=(SUM_OF_SIGNS,),
        ),
        smt.lemma(
            "r <= 2 N", "(M - m)^2 <= 2 ||d||^2, as M and m are two entries of d (or equal)",
            "M m N",
            lambda v: [v.N >= 0, smt.any_of(v.m == v.M, v.M * v.M + v.m * v.m <= v.N)],
            lambda v: (v.M - v.m) * (v.M - v.m) <= 2 * v.N,
        ),
        smt.lemma(
            "u^2 <= r", "(d_a - E d)^2 <= (M - m)^2", "d mean M m",
            lambda v: [v.m <= v.d, v.d <= v.M, v.m <= v.mean, v.mean <= v.M],
            lambda v: (v.d - v.mean) * (v.d - v.mean) <= (v.M - v.m) * (v.M - v.m),
        ),
        smt.lemma(
            "curvature from above", "pi (1 + log pi + H) u^2 <= pi (1 + H) u^2, as log pi <= 0",
            "p L H u",
            lambda v: [v.p > 0, v.L <= 0, v.H >= 0],
            lambda v: v.p * (1 + v.L + v.H) * v.u * v.u <= v.p * (1 + v.H) * v.u * v.u,
            uses=("curvature",),
        ),
        symbolic.identity(
            "reweighting", "E_nu[-log pi] = H(nu) + E_nu[log u^2] - log V, as nu = pi u^2 / V",
            _reweighting,
        ),
        smt.lemma(
            "entropy term", "for y = 1/(n p): p log y <= 1/n - p; summed: H(p) - log n <= 0",
            "p y n q log_y",
            lambda v: [v.p > 0, v.n > 0, v.n * v.q == 1, v.y * v.p == v.q, v.log_y <= v.y - 1],
            lambda v: v.p * v.log_y <= v.q - v.p,
            axioms=(LOG_BOUND,),
        ),
        smt.lemma(
            "tangent", "V log(r/V) <= V (log 4 - 1) + r/4, from y = r/(4 V)",
            "V r y log_y log_4 log_r_V",
            lambda v: [v.V > 0, v.r > 0, v.y * 4 * v.V == v.r, v.log_y <= v.y - 1,
                       v.log_r_V == v.log_4 + v.log_y],
            lambda v: v.V * v.log_r_V <= v.V * (v.log_4 - 1) + v.r / 4,
            axioms=(LOG_BOUND,),
        ),
        certify.positive("log 8 > 2", "3 log 2 - 2 > 0", lambda: 3 * _log(2) - 2),
        certify.positive("log 4 < 2", "2 - log 4 > 0", lambda: 2 - _log(4)),
        smt.lemma(
            "curvature from below",
            "-E[(1 + log pi + H) u^2] <= (1/2)(1 + log n) ||d||^2 (zero where V = 0)",
            "Q V H h log_n log_2 t r N",
            lambda v: [
                v.V > 0, v.H >= 0, v.r <= 2 * v.N, v.r >= 4 * v.V,
                v.h <= v.log_n, v.log_n >= v.log_2, 3 * v.log_2 > 2, 2 * v.log_2 < 2,
                # t = V log(r/V) bounds V E_nu log(u^2/V); Q is the curvature.
                v.t <= v.V * (2 * v.log_2 - 1) + v.r / 4,
                v.V * v.h + v.t - (1 + v.H) * v.V >= v.Q,
            ],
            lambda v: (1 + v.log_n) * v.N >= 2 * v.Q,
            uses=("curvature", "reweighting", "entropy term", "tangent", "u^2 <= r", "V <= r/4",
                  "r <= 2 N", "log 8 > 2", "log 4 < 2"),
            axioms=(SUM_OF_SIGNS, "log is increasing"),
        ),
        smt.lemma(
            "curvature bound", "|d2H/dt2| <= (1/2)(1 + log n) ||d||^2 at every policy",
            "Q V H log_n r N",
            lambda v: [
                v.V >= 0, v.H >= 0, v.log_n >= v.H, v.r >= 4 * v.V, v.r <= 2 * v.N,
                -v.Q <= (1 + v.H) * v.V, (1 + v.log_n) * v.N >= 2 * v.Q,
            ],
            lambda v: smt.all_of(2 * (1 + PER_LOG * v.log_n) * v.N >= UNIT * v.Q,
                                 2 * (1 + PER_LOG * v.log_n) * v.N >= -UNIT * v.Q),
            uses=("curvature from above", "curvature from below", "entropy term", "V <= r/4",
                  "r <= 2 N"),
        ),
        smt.lemma(
            "remainder", "|H(z + d) - H(z) + Cov(z, d)| <= (1/4)(1 + log n) ||d||^2",
            "error sup log_n N",
            lambda v: [2 * v.error <= v.sup, UNIT * v.sup <= 2 * (1 + PER_LOG * v.log_n) * v.N],
            lambda v: UNIT * v.error <= (1 + PER_LOG * v.log_n) * v.N,
            uses=("entropy slope", "curvature bound"), axioms=(TAYLOR,),
        ),
    )


def _log(n: int) -> Ball:
    from flint import arb

    return arb(n).log()


def _slope() -> symbolic.Expression:
    import sympy

    # H = A - E z along dz/dt = d, with dA/dt = E d for the log normalizer A.
    m = symbolic.Moments("z d")
    log_normalizer, z, d = sympy.Symbol("A"), m["z"], m["d"]
    slope = m.derivative(log_normalizer - m.expect(z), d, {z: d, log_normalizer: m.expect(d)})
    return slope + m.covariance(z, d)


def _curvature() -> symbolic.Expression:
    m = symbolic.Moments("L d")
    log_p, d = m["L"], m["d"]
    moves = {log_p: d - m.expect(d)}
    first = m.derivative(-m.expect(log_p), d, moves)
    second = m.derivative(first, d, moves)
    entropy, centered = -m.expect(log_p), d - m.expect(d)
    return second + m.expect((1 + log_p + entropy) * centered**2)


def _written_out(s: symbolic.ExplicitSoftmax) -> Iterable[symbolic.Rational]:
    # -d/dt Cov(z, x) = -Var(x) - Cov(z, (x - E x)^2), all in rational functions.
    centered = [x - s.mean(s.x) for x in s.x]
    squares = [c * c for c in centered]
    yield (s.along_direction(s.covariance(s.z, s.x))
           - s.covariance(s.x, s.x) - s.covariance(s.z, squares))


def _variance_from_range() -> symbolic.Expression:
    import sympy

    m = symbolic.Moments("d")
    d, top, bottom = m["d"], sympy.Symbol("M"), sympy.Symbol("m")
    mean = m.expect(d)
    product = m.expect((top - d) * (d - bottom))
    return m.covariance(d, d) - ((top - mean) * (mean - bottom) - product)


def _reweighting() -> symbolic.Expression:
    import sympy

    m = symbolic.Moments("L s")
    log_p, log_square, log_v = m["L"], m["s"], sympy.Symbol("log_V")
    log_nu = log_p + log_square - log_v
    return -m.expect(log_p) - (-m.expect(log_nu) + m.expect(log_square) - log_v)
