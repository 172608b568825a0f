r"""Extension of the Entropy Mechanism, Lemma 1: the entropy of responses to first order, with a bound.

h tokens out of n, tabular logits, any step d of them; D = max_s ||d_s||_2^2 over the states. With d(s)
the visits and H(sa) the entropy to come after token a,

    |H(z + d) - H(z) - sum_s d(s) {-Cov_s(log pi, d) + Cov_s(H(sa), d)}| <= (1/4)(h + c_h log n) D,

c_h = h (h^2 + 12 h - 7)/6. It is the repaired Lemma 1 with its remainder; for one token c_1 = 1 and it
is the bound at one state. Along z + t d, with V the entropy to come at a state with k tokens left, W
that of its children, u = d - E d and s^2 = D/2 >= Var(d) (if D = 0 nothing moves),

    V'  = E[-u log pi] + E[u W] + E[W'],                      |V'|  <= s log n k (k + 7)/4,
    V'' = H_s'' + E[(u^2 - E u^2) W] + 2 E[u W'] + E[W''],    |V''| <= s^2 (k + c_k log n),

by induction on k, as 0 <= W <= (k - 1) log n.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from entropy_theory.claims.aepo.expansion import TAYLOR, remainder_steps
from entropy_theory.claims.aepo.tempered_reinforce import SUM_OF_SIGNS
from entropy_theory.claims.entropy_mechanism.tree_induction import INDUCTION, entropy_steps
from entropy_theory.claims.entropy_mechanism.tree_rates import (
    STEP,
    action_covariance,
    decidable,
    entropy_to_go,
    trees,
)
from entropy_theory.verification import Cases, Claim, Mutant, Scalar, Statement, Step, smt, symbolic
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Ball, Reals
from entropy_theory.verification.claim import Convergence, variant

SIZE = Scalar(name="size", low=2.0**-8, high=8.0, grid=(1, Fraction(1, 64)))


def response_entropy(logits: Reals) -> Reals:
    """-sum_y pi(y) log pi(y)."""
    tree = ar.token_tree(logits)
    values, _ = tree.values(ar.softmax(logits), -ar.log_softmax(logits))
    return values[..., 0]


def response_rate(logits: Reals, step: Reals) -> Reals:
    """sum_s d(s) {-Cov_s(log pi, step) + Cov_s(H(sa), step)}."""
    return action_covariance(logits, step, entropy_to_go(logits) - ar.log_softmax(logits))


def response_remainder_bound(step: Reals, over_states: Callable[[Reals], Reals] = ar.largest) -> Reals:
    """(1/4)(h + c_h log n) max_s ||step_s||^2."""
    tree = ar.token_tree(step)
    h = tree.horizon
    cubic = h * (h * h + 12 * h - 7) // 6
    norms = ar.total(step * step)
    return (h + cubic * ar.log_of(tree.n_tokens, like=step)) * over_states(norms) / 4


def _step(i: Cases) -> Reals:
    return np.asarray(i.size)[..., None, None] * i.step


def _room(
    i: Cases, rate: Callable[[Reals, Reals], Reals] = response_rate,
    bound: Callable[[Reals], Reals] = response_remainder_bound,
) -> Reals:
    """bound - |H(z + d) - H(z) - rate|."""
    step = _step(i)
    change = response_entropy(i.logits + step) - response_entropy(i.logits)
    return bound(step) - np.abs(change - rate(i.logits, step))


def _frozen_rate(logits: Reals, step: Reals) -> Reals:
    return -action_covariance(logits, step)


def _remainder(
    i: Cases, size: Ball, rate: Callable[[Reals, Reals], Reals] = response_rate
) -> Reals:
    change = response_entropy(i.logits + size * i.step) - response_entropy(i.logits)
    return change - size * rate(i.logits, i.step)


DEVIATION = smt.lemma(
    "deviation", "E|u| <= s and E u^2 <= s^2, as E u^2 <= r/4 <= N/2 <= s^2", "m s V r N",
    lambda v: [v.s > 0, 2 * v.m * v.s <= v.V + v.s * v.s, v.r >= 4 * v.V, v.r <= 2 * v.N,
               2 * v.s * v.s >= v.N],
    lambda v: smt.all_of(v.m <= v.s, v.s * v.s >= v.V),
    uses=("absolute deviation", "V <= r/4", "r <= 2 N"),
)


def _deviation(v: smt.Values) -> list[smt.Formula]:
    """The premises of `DEVIATION` and what it makes of them."""
    return [*DEVIATION.premises(v), DEVIATION.instance(m=v.m, s=v.s, V=v.V, r=v.r, N=v.N)]


def proof() -> tuple[Step, ...]:
    """Steps from the curvature at one state to the remainder of a response."""
    one_state = remainder_steps()[:-1]
    return (
        *one_state,
        *(step for step in entropy_steps() if step.name != "softmax rule"),
        symbolic.identity("response slope", "V' = E[-u log pi] + E[u W] + E[W']", _slope,
                          uses=("entropy slope", "softmax rule")),
        symbolic.identity(
            "response curvature", "V'' = H_s'' + E[(u^2 - E u^2) W] + 2 E[u W'] + E[W'']",
            _curvature, uses=("curvature",),
        ),
        symbolic.identity(
            "centering", "E[u W] = E[u (W - c)] and E[(u^2 - E u^2) W] = E[(u^2 - E u^2)(W - c)]",
            _centering,
        ),
        smt.lemma(
            "absolute deviation", "2 s |u| <= u^2 + s^2; summed, 2 s E|u| <= E u^2 + s^2", "u s a",
            lambda v: [smt.any_of(v.a == v.u, v.a == -v.u)],
            lambda v: 2 * v.s * v.a <= v.u * v.u + v.s * v.s,
            axioms=(SUM_OF_SIGNS,),
        ),
        DEVIATION,
        smt.lemma(
            "times what is to come", "|u (W - w/2)| <= (w/2)|u| for 0 <= W <= w, and the same with "
            "u^2 - V, where |u^2 - V| <= u^2 + V",
            "u W w V a",
            lambda v: [v.W >= 0, v.w >= v.W, v.V >= 0, smt.any_of(v.a == v.u, v.a == -v.u), v.a >= 0],
            lambda v: smt.all_of(
                2 * v.u * (v.W - v.w / 2) <= v.w * v.a, -2 * v.u * (v.W - v.w / 2) <= v.w * v.a,
                2 * (v.u * v.u - v.V) * (v.W - v.w / 2) <= v.w * (v.u * v.u + v.V),
                -2 * (v.u * v.u - v.V) * (v.W - v.w / 2) <= v.w * (v.u * v.u + v.V)),
            uses=("centering",),
            axioms=(SUM_OF_SIGNS, "entropy of k - 1 tokens out of n is between 0 and (k - 1) log n"),
        ),
        smt.lemma(
            "range", "|u| <= 2 s, as u^2 <= r <= 2 N <= 4 s^2; so |E[u log pi]| <= 2 s H", "u s r N L",
            lambda v: [v.s > 0, v.u * v.u <= v.r, v.r <= 2 * v.N, 2 * v.s * v.s >= v.N, v.L <= 0],
            lambda v: smt.all_of(-v.u * v.L <= 2 * v.s * -v.L, v.u * v.L <= 2 * v.s * -v.L),
            uses=("u^2 <= r", "r <= 2 N"),
        ),
        smt.lemma(
            "response slope bound", "|V'| <= s log n k (k + 7)/4, given |W'| <= s log n (k - 1)(k + 6)/4",
            "k s log_n m V r N log_term to_come below slope",
            lambda v: [
                v.k >= 1, v.log_n > 0, *_deviation(v),
                *_within(v.log_term, 2 * v.s * v.log_n),
                *_within(v.to_come, (v.k - 1) * v.log_n / 2 * v.m),
                *_within(v.below, v.s * v.log_n * (v.k - 1) * (v.k + 6) / 4),
                v.slope == v.log_term + v.to_come + v.below,
            ],
            lambda v: smt.all_of(*_within(v.slope, v.s * v.log_n * v.k * (v.k + 7) / 4)),
            uses=("response slope", "range", "times what is to come", "deviation", "entropy term"),
            axioms=(INDUCTION,),
        ),
        symbolic.identity("cubic", "c_k - c_{k-1} = (k^2 + 7 k - 6)/2 and c_0 = 0", _cubic),
        smt.lemma(
            "response curvature bound",
            "|V''| <= s^2 (k + c_k log n), given |W''| <= s^2 (k - 1 + c_{k-1} log n)",
            "k s log_n m V r N c b here to_come cross below curvature",
            lambda v: [
                v.k >= 1, v.log_n > 0, *_deviation(v),
                2 * (v.c - v.b) == v.k * v.k + 7 * v.k - 6,
                *_within(v.here, (1 + v.log_n) * v.s * v.s),
                *_within(v.to_come, (v.k - 1) * v.log_n * v.V),
                *_within(v.cross, 2 * v.m * v.s * v.log_n * (v.k - 1) * (v.k + 6) / 4),
                *_within(v.below, v.s * v.s * (v.k - 1 + v.b * v.log_n)),
                v.curvature == v.here + v.to_come + v.cross + v.below,
            ],
            lambda v: smt.all_of(*_within(v.curvature, v.s * v.s * (v.k + v.c * v.log_n))),
            uses=("response curvature", "curvature bound", "times what is to come", "deviation",
                  "response slope bound", "cubic"),
            axioms=(INDUCTION,),
        ),
        smt.lemma(
            "response remainder", "|error| <= (1/4)(h + c_h log n) D", "error sup s D h c log_n",
            lambda v: [2 * v.error <= v.sup, v.sup <= v.s * v.s * (v.h + v.c * v.log_n),
                       2 * v.s * v.s == v.D],
            lambda v: 4 * v.error <= (v.h + v.c * v.log_n) * v.D,
            uses=("response curvature bound", "entropy rate"), axioms=(TAYLOR,),
        ),
    )


def _within(x: smt.Number, bound: smt.Number) -> tuple[smt.Formula, smt.Formula]:
    return x <= bound, -x <= bound


def _moving() -> tuple[
    symbolic.Moments, symbolic.Expression, dict[symbolic.Expression, symbolic.Expression]
]:
    """(moments, V, how everything moves): W moves by G = W', and G by F = W''."""
    m = symbolic.Moments("L W G F d")
    moves = {m["L"]: m["d"] - m.expect(m["d"]), m["W"]: m["G"], m["G"]: m["F"]}
    return m, m.expect(m["W"] - m["L"]), moves


def _slope() -> symbolic.Expression:
    m, value, moves = _moving()
    u = m["d"] - m.expect(m["d"])
    expected = m.expect(-u * m["L"]) + m.expect(u * m["W"]) + m.expect(m["G"])
    return m.derivative(value, m["d"], moves) - expected


def _curvature() -> symbolic.Expression:
    m, value, moves = _moving()
    second = m.derivative(m.derivative(value, m["d"], moves), m["d"], moves)
    u = m["d"] - m.expect(m["d"])
    entropy = -m.expect(m["L"])
    at_state = -m.expect((1 + m["L"] + entropy) * u**2)
    to_come = m.expect((u**2 - m.expect(u**2)) * m["W"])
    return second - (at_state + to_come + 2 * m.expect(u * m["G"]) + m.expect(m["F"]))


def _centering() -> list[symbolic.Expression]:
    import sympy

    m = symbolic.Moments("W d")
    u, c = m["d"] - m.expect(m["d"]), sympy.Symbol("c")
    square = u**2 - m.expect(u**2)
    return [m.expect(f * m["W"]) - m.expect(f * (m["W"] - c)) for f in (u, square)]


def _cubic() -> list[symbolic.Expression]:
    import sympy

    k = sympy.Symbol("k")
    c = k * (k**2 + 12 * k - 7) / 6
    return [c - c.subs(k, k - 1) - (k**2 + 7 * k - 6) / 2, c.subs(k, 0)]


_statement = Statement(
    latex=r"$|\mathcal H(z+\Delta z) - \mathcal H(z) - \sum_s d(s)\{-\mathrm{Cov}_s(\log\pi, \Delta z) "
          r"+ \mathrm{Cov}_s(\mathcal H(sa), \Delta z)\}| \le \frac14(h + c_h\log n)"
          r"\max_s\lVert\Delta z_s\rVert_2^2$ with $c_h = h(h^2+12h-7)/6$, for responses of h tokens.",
    margin=_room,
    proof=proof(),
)

response_entropy_expansion = Claim(
    id="extension.response-entropy-expansion",
    source="Extension of Entropy Mechanism, Lemma 1",
    title="Entropy of responses to first order, with an explicit remainder",
    scope="tabular token tree, one logit step of any size, with its remainder; entropy per response",
    statement=_statement,
    instances=trees(SIZE, reward=None, vectors=(STEP,)),
    convergence=Convergence(
        remainder=_remainder, order=2, parameter="step",
        bound=lambda i, size: decidable(response_remainder_bound(size * i.step)),
    ),
    mutants=(
        Mutant(name="the printed rate, without the entropy to come",
               statement=variant(_statement, margin=lambda i: _room(i, rate=_frozen_rate)),
               convergence=Convergence(
                   remainder=lambda i, size: _remainder(i, size, _frozen_rate), order=2)),
        Mutant(name="the smallest step of a state instead of the largest",
               statement=variant(_statement, margin=lambda i: _room(
                   i, bound=lambda step: response_remainder_bound(step, ar.smallest)))),
        Mutant(name="a bound ten times smaller",
               statement=variant(_statement, margin=lambda i: _room(
                   i, bound=lambda step: response_remainder_bound(step) / 10))),
    ),
)
