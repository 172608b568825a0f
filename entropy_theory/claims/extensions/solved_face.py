r"""The solved face: every action that has probability is right, p = pi(A*) = 1.

GRPO's step vanishes there and AEPO's tempered REINFORCE is dz = eta (q^T - q), q = softmax(z) over the
m right answers. With r_a = q^T_a / q_a, proportional to e^{(1/T - 1) z_a}, three facts carry everything:

- the entropy rate F(T) has the sign of T - 1, unless q is uniform;
- for T > 1 the gap between the likeliest answer and every other falls, for T < 1 it grows;
- for eta <= 2 no step changes the order of the logits, and tied logits stay tied.

For two answers with z_1 - z_2 = D > 0 the whole motion is one number: dD = -eta f_T(D),
f_T(D) = tanh(D/2) - tanh(D/(2T)), positive for T > 1 and negative for T < 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from entropy_theory.claims.aepo.reward_improvement import conditional
from entropy_theory.claims.aepo.tempered_reinforce import (
    MEAN_VALUE,
    SUM_OF_SIGNS,
    monotone_form,
    rate,
    threshold_lemmas,
)
from entropy_theory.verification import Step, smt, symbolic
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Real, Reals
from entropy_theory.verification.formula.terms import Operation, definition, is_term, make

RATIO = "q^T_a / q_a is proportional to e^{(1/T - 1) z_a}: it falls with z_a for T > 1, rises for T < 1"
TANH = "0 <= tanh x <= x for x >= 0, and tanh x < x for x > 0; tanh is increasing"


@definition
def switch_temperature(is_low: Mask, like: Reals) -> Reals:
    """AEPO's switch: 5/4 where the entropy is below its target, 4/5 elsewhere."""
    one = 0 * like + ar.constant(1, like=like)
    return np.where(is_low, 5 * one / 4, 4 * one / 5)


def every_action(logits: Any) -> Any:
    """The mask of A* = all actions."""
    if is_term(logits):
        return make(Operation("constant", detail=True), (), logits.axes, "mask")
    return np.ones(np.shape(logits), dtype=bool)


@definition
def face_rate(logits: Reals, temperature: Reals) -> Reals:
    """F(T) on the solved face."""
    return rate(logits, every_action(logits), temperature)


@definition
def face_step(logits: Reals, temperature: Reals) -> Reals:
    """The step per unit learning rate on the solved face: q^T - q."""
    return ar.softmax(logits, temperature) - ar.softmax(logits)


def _speed(gap: Reals | Real, temperature: Reals | Real) -> Reals:
    hot, cold = np.exp(-gap / temperature), np.exp(-gap)
    # e^{-D/T} - e^{-D} = e^{-D/T} (1 - e^{-D (1 - 1/T)}) with a relative error of rounding only.
    difference = -hot * np.expm1(-gap * (temperature - 1) / temperature)
    return 2 * difference / ((1 + hot) * (1 + cold))


@definition
def speed(gap: Reals | Real, temperature: Reals | Real) -> Reals:
    """f_T(D) = tanh(D/2) - tanh(D/(2T)), by which the gap of two answers falls per unit learning rate.

    Without cancellation at large gaps.
    """
    return _speed(gap, temperature)


@definition
def speeds(gaps: Reals, temperature: Reals) -> Reals:
    """f_T(D) = tanh(D/2) - tanh(D/(2T)) for many gaps D."""
    return _speed(gaps, ar.per_action(temperature))


@definition
def logit_range(logits: Reals) -> Reals:
    """The largest logit minus the smallest."""
    return ar.largest(logits) - ar.smallest(logits)


@definition
def range_on(logits: Reals, chosen: Mask) -> Reals:
    """The largest of the chosen logits minus the smallest of them."""
    return ar.largest(logits, chosen) - ar.smallest(logits, chosen)


@definition
def conditional_entropy(logits: Reals, correct: Mask) -> Reals:
    """H(q), the entropy of the policy on the right answers: log sum e^{z - max z} + E_q[max z - z]."""
    depth = ar.per_action(ar.largest(logits, correct)) - logits
    weights = np.where(correct, np.exp(-depth), 0 * depth)
    return np.log(ar.total(weights)) + ar.mean(conditional(logits, correct), depth)


@definition
def conditional_rate(logits: Reals, correct: Mask, temperature: Reals) -> Reals:
    """F(T) on the face of the right answers."""
    q = conditional(logits, correct)
    excess = ar.centered(q, q * ar.centered(q, logits))
    return -ar.total(conditional(logits, correct, temperature) * excess, correct)


@definition
def two_answer_entropy(gap: Reals | Real) -> Reals:
    """H of two answers whose logits differ by D."""
    weight = np.exp(-gap)
    return np.log1p(weight) + gap * weight / (1 + weight)


def sign_of_rate() -> tuple[*tuple[Step, ...], smt.Lemma]:
    """F(T) has the sign of T - 1 on the face; the last step is called "sign of the rate"."""

    def neutral() -> symbolic.Expression:
        m = symbolic.Moments("c")
        return m.expect(m["c"] - m.expect(m["c"]))

    before: tuple[Step, ...] = (
        *threshold_lemmas(strict=False),
        *monotone_form(),
        symbolic.identity(
            "neutral at T = 1",
            "-F(1) = sum_a q_a (c_a - C) = 0 when A* = all, as C = Cov_q(z, q) = sum_a q_a c_a", neutral),
        smt.lemma(
            "bottom term",
            "the least likely action of a nonuniform q has (z_a - z+)(c_a - C) > 0",
            "z p m zp C",
            lambda v: [v.C >= 0, v.p > 0, v.z < v.m, v.zp >= v.m],
            lambda v: (v.z - v.zp) * (v.p * (v.z - v.m) - v.C) > 0,
            uses=("C is nonnegative",),
            axioms=("the smallest of numbers that are not all equal lies below their mean",),
        ),
        smt.lemma(
            "g increases strictly", "g'(b) > 0: the bottom term is one of its terms, the rest is >= 0",
            "slope rest d w e",
            lambda v: [v.slope == v.rest + v.d * v.w * v.e, v.rest >= 0, v.d * v.w > 0, v.e > 0],
            lambda v: v.slope > 0,
            uses=("g does not decrease", "bottom term"), axioms=("exp is positive", SUM_OF_SIGNS),
        ),
    )
    return (
        *before,
        smt.lemma(
            "sign of the rate", "F(T) > 0 for T > 1, F(T) < 0 for T < 1, F(1) = 0",
            "T F1 FT k1 kT g1 gT",
            lambda v: [
                v.T > 0, v.k1 > 0, v.kT > 0, -v.k1 * v.g1 == v.F1, -v.kT * v.gT == v.FT, v.F1 == 0,
                smt.implies(v.T > 1, v.gT < v.g1), smt.implies(v.T < 1, v.gT > v.g1),
                smt.implies(v.T == 1, v.FT == v.F1),
            ],
            lambda v: smt.all_of(smt.implies(v.T > 1, v.FT > 0), smt.implies(v.T < 1, v.FT < 0),
                                 smt.implies(v.T == 1, v.FT == 0)),
            uses=("rate as a weighted sum", "neutral at T = 1", "g increases strictly"),
            axioms=(MEAN_VALUE + " (strictly positive: it increases)",),
        ),
    )


def at_rate(v: smt.Values) -> smt.Values:
    """The variables of "sign of the rate" in a lemma where F(T) is called F."""
    return smt.Values(T=v.T, F1=v.F1, FT=v.F, k1=v.k1, kT=v.kT, g1=v.g1, gT=v.gT)


def top_gap_law() -> tuple[*tuple[Step, ...], smt.Lemma]:
    """The gap of the likeliest answer: the last step is called "top gap"."""
    side = smt.lemma(
        "top ratio", "r_1 < 1 for T > 1 and r_1 > 1 for T < 1, as the q-mean of r is 1", "q r R",
        lambda v: [v.q > 0, v.q < 1, v.q * v.r + (1 - v.q) * v.R == 1],
        lambda v: smt.all_of(smt.implies(v.r < v.R, v.r < 1), smt.implies(v.r > v.R, v.r > 1)),
        axioms=(RATIO, "sum q^T = sum q = 1; R is the mean ratio of the other answers"),
    )
    return (
        side,
        smt.lemma(
            "top gap",
            "dz_1 - dz_a = eta (q_1 (r_1 - 1) - q_a (r_a - 1)) is < 0 for T > 1 and > 0 for T < 1, for "
            "the likeliest answer 1 and every a below it",
            "eta q1 qa r1 ra R hot cold",
            lambda v: [
                v.eta > 0, v.q1 < 1, v.qa > 0, v.q1 >= v.qa, v.r1 > 0, v.ra > 0,
                v.q1 * v.r1 + (1 - v.q1) * v.R == 1, side.instance(q=v.q1, r=v.r1, R=v.R),
                # hot = 1 for T > 1, cold = 1 for T < 1; no other answer is above the likeliest.
                v.hot + v.cold == 1, v.hot * v.cold == 0,
                smt.implies(v.hot == 1, smt.all_of(v.r1 < v.ra, v.r1 < v.R)),
                smt.implies(v.cold == 1, smt.all_of(v.r1 > v.ra, v.r1 > v.R)),
            ],
            lambda v: smt.all_of(
                smt.implies(v.hot == 1,
                            v.eta * (v.q1 * (v.r1 - 1) - v.qa * (v.ra - 1)) < 0),
                smt.implies(v.cold == 1,
                            v.eta * (v.q1 * (v.r1 - 1) - v.qa * (v.ra - 1)) > 0),
            ),
            uses=("top ratio",), axioms=(RATIO,),
        ),
    )


def order_is_kept() -> tuple[Step, ...]:
    """No overshoot for eta <= 2, ties kept; the last step is called "order is kept"."""

    def half_angle() -> symbolic.Expression:
        import sympy

        x, low = sympy.symbols("x q_j", positive=True)
        # x = e^{(z_i - z_j)/2}, so q_i = x^2 q_j and tanh((z_i - z_j)/2) = (x - 1/x)/(x + 1/x).
        return (x * x * low - low) - (x * x * low + low) * (x - 1 / x) / (x + 1 / x)

    return (
        symbolic.identity("difference of probabilities",
                          "q_i - q_j = (q_i + q_j) tanh((z_i - z_j)/2)", half_angle),
        smt.lemma(
            "order is kept",
            "z_i >= z_j gives z_i' >= z_j', z_i > z_j gives z_i' > z_j', z_i = z_j gives equality; "
            "for every T and eta <= 2",
            "eta D t s u sT change",
            lambda v: [
                v.eta > 0, v.eta <= 2, v.D >= 0, v.s > 0, v.s <= 1, v.sT > 0, v.sT <= 1,
                v.t >= 0, v.u >= 0, 2 * v.t <= v.D, smt.implies(v.D > 0, 2 * v.t < v.D),
                smt.implies(v.D == 0, smt.all_of(v.t == 0, v.u == 0)),
                v.change == v.eta * (v.sT * v.u - v.s * v.t),
            ],
            lambda v: smt.all_of(v.D + v.change >= 0, smt.implies(v.D > 0, v.D + v.change > 0),
                                 smt.implies(v.D == 0, v.D + v.change == 0)),
            uses=("difference of probabilities",), axioms=(TANH,),
        ),
    )


def speed_limit() -> smt.Lemma:
    """|f_T(D)| <= (1/2) max(T - 1, 1/T - 1) for two answers."""
    return smt.lemma(
        "speed limit",
        "tanh a - tanh b <= (rho - 1)/2 for a = rho b, rho >= 1: rho = T for T > 1, 1/T for T < 1",
        "a b rho c f",
        lambda v: [v.b >= 0, v.rho >= 1, v.a == v.rho * v.b, v.c >= 1 + v.b * v.b / 2,
                   v.f >= 0, v.f * v.c * v.c <= v.a - v.b],
        lambda v: 2 * v.f <= v.rho - 1,
        axioms=("tanh is increasing and concave on x >= 0 with slope 1/cosh^2: "
                "0 <= tanh a - tanh b <= (a - b)/cosh^2 b for a >= b >= 0", "cosh x >= 1 + x^2/2"),
    )


def towards_target() -> tuple[smt.Lemma, smt.Lemma]:
    """Two answers under the switch: "speed limit", and resting on it "towards the target"."""
    limit = speed_limit()

    def bounded(v: smt.Values) -> smt.Values:
        # rho = T_high where the gap is to fall, 1/T_low where it is to grow; both are 5/4.
        return smt.Values(a=v.a, b=v.b, rho=(0 * v.D + 5) / 4, c=v.c, f=v.f)

    return limit, smt.lemma(
        "towards the target",
        "for two answers D' = D - s above D*, D + s below, 0 <= s <= eta/8 at T = 5/4, 4/5: while "
        "|D - D*| >= eta/8 it falls by s without a change of side, after that it stays <= eta/8",
        "D Dstar s eta f moved a b c",
        lambda v: [
            v.D >= 0, v.Dstar >= 0, v.eta > 0, v.s == v.eta * v.f,
            limit.instance(**vars(bounded(v))), *limit.premises(bounded(v)),
            smt.implies(v.Dstar < v.D, v.moved == v.D - v.s),
            smt.implies(v.Dstar >= v.D, v.moved == v.D + v.s),
        ],
        lambda v: smt.all_of(
            v.s >= 0, 8 * v.s <= v.eta,
            smt.implies(8 * (v.D - v.Dstar) >= v.eta,
                        smt.all_of(v.moved >= v.Dstar, v.moved == v.D - v.s)),
            smt.implies(8 * (v.Dstar - v.D) >= v.eta,
                        smt.all_of(v.moved <= v.Dstar, v.moved == v.D + v.s)),
            smt.implies(smt.all_of(8 * (v.D - v.Dstar) <= v.eta, 8 * (v.Dstar - v.D) <= v.eta),
                        smt.all_of(8 * (v.moved - v.Dstar) <= v.eta,
                                   8 * (v.Dstar - v.moved) <= v.eta)),
        ),
        uses=("order is kept", "speed limit"),
        axioms=("D = |z_1 - z_2| moves by -eta (tanh(D/2) - tanh(D/(2T))), and H falls as D grows",),
    )


def entropy_per_gap() -> tuple[Step, ...]:
    """|H(D) - H(D')| <= |D - D'|/4 for two answers; the last step is called "entropy per gap"."""

    def slope() -> symbolic.Expression:
        import sympy

        gap = sympy.Symbol("D", positive=True)
        weight = sympy.exp(-gap)
        entropy = sympy.log(1 + weight) + gap * weight / (1 + weight)
        return sympy.diff(entropy, gap) + gap * weight / (1 + weight) ** 2

    def as_cosh() -> symbolic.Expression:
        import sympy

        x = sympy.Symbol("x", positive=True)  # e^{D/2}
        return x**-2 / (1 + x**-2) ** 2 - 1 / (4 * ((x + 1 / x) / 2) ** 2)

    return (
        symbolic.identity("entropy slope in the gap", "dH/dD = -D q_1 q_2", slope),
        symbolic.identity("as a hyperbolic cosine", "q_1 q_2 = 1/(4 cosh^2(D/2))", as_cosh),
        smt.lemma(
            "entropy per gap", "|dH/dD| = D/(4 cosh^2(D/2)) <= 1/4", "D c slope",
            lambda v: [v.D >= 0, v.c >= 1 + v.D * v.D / 8, 4 * v.c * v.c * v.slope == v.D],
            lambda v: smt.all_of(v.slope >= 0, 4 * v.slope <= 1),
            uses=("entropy slope in the gap", "as a hyperbolic cosine"),
            axioms=("cosh x >= 1 + x^2/2",),
        ),
    )
