r"""Where F(T) changes sign: bounds on T0 from the numbers w_a = c_a - C on A* alone, and lemmas.

With b = 1/T and any reference y, F(T) = -k g(b), g(b) = sum_{A*} e^{b (z_a - y)} w_a, k > 0.
Let S = sum_{A*} w, W = sum of |w_a| over A* where w_a < 0, R the range of z on A*, and D the distance
from the largest z of A* down to the nearest one with w_a < 0. Then

    F(T) > 0 where T |S| > R W and S < 0,      F(T) < 0 where W e^{-D/T} < max_{A*} w,

and these are the only two ways: F(T) > 0 needs S < 0, and F(T) < 0 needs max_{A*} w > 0. So

    D / log(W / max_{A*} w)  <=  T0  <=  R W / |S|.
"""

from __future__ import annotations

import numpy as np

from entropy_theory.claims.aepo.tempered_reinforce import (
    EXP_INCREASES,
    SUM_OF_SIGNS,
    excess,
    rate,
    threshold_lemmas,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification import smt, symbolic
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.claim import Condition, Step
from entropy_theory.verification.formula.terms import definition
from entropy_theory.verification.smt import Lemma

EXP_BOUNDS = "1 - x <= e^{-x} <= 1 for x >= 0"


@definition
def sum_of_excess(logits: Reals, correct: Mask) -> Reals:
    """S, below zero exactly where the mean of c over A* is below C."""
    return ar.total(excess(logits), correct)


@definition
def missing_excess(logits: Reals, correct: Mask) -> Reals:
    """W, the sum of C - c over the actions of A* with c below C."""
    above = excess(logits)
    return ar.total(ar.maximum(-above, 0 * above), correct)


@definition
def largest_excess(logits: Reals, correct: Mask) -> Reals:
    """max_{A*} c - C."""
    return ar.largest(excess(logits), correct)


@definition
def hot_enough(logits: Reals, correct: Mask, temperature: Reals) -> Reals:
    """T |S| - R W, where S < 0.

    F(T) > 0 where it is positive.
    """
    span = ar.largest(logits, correct) - ar.smallest(logits, correct)
    return -temperature * sum_of_excess(logits, correct) - span * missing_excess(logits, correct)


@definition
def distance(logits: Reals, correct: Mask) -> Reals:
    """D, from the largest correct logit down to the nearest one with c below C."""
    above, lowest = excess(logits), ar.smallest(logits, correct)[..., None]
    below = np.where(correct & ar.less(above, 0 * above), logits, lowest)
    return ar.largest(logits, correct) - ar.largest(below)


@definition
def cold_enough(logits: Reals, correct: Mask, temperature: Reals) -> Reals:
    """max_{A*} w - W e^{-D/T}.

    F(T) < 0 where it is positive.
    """
    return largest_excess(logits, correct) - missing_excess(logits, correct) * np.exp(
        -distance(logits, correct) / temperature)


@definition
def all_correct(correct: Mask) -> Reals:
    """1 where every action is correct, else -1."""
    return np.where(np.all(correct, axis=-1), 1, -1)


EXCESS_ON_CORRECT = Condition(
    latex="c differs from C somewhere on A*",
    value=lambda i: ar.largest(np.abs(excess(i.logits)), i.correct),
)
# The proofs cover F(1) = 0 as well, a hypothesis whose truth neither floats nor balls can decide.
HOT = Condition(
    latex=r"F(1) > 0, or every action is correct, or T > R W/|S| with S < 0",
    value=lambda i: ar.maximum(
        ar.maximum(rate(i.logits, i.correct), hot_enough(i.logits, i.correct, i.temperature)),
        all_correct(i.correct)),
)
COLD = Condition(
    latex=r"F(1) < 0, or every action is correct, or W e^{-D/T} < max c - C over A*",
    value=lambda i: ar.maximum(
        ar.maximum(-rate(i.logits, i.correct), cold_enough(i.logits, i.correct, i.temperature)),
        all_correct(i.correct)),
)

# ---------------------------------------------------------------- lemmas


def weighted_sum() -> Step:
    """F = -k g for any reference."""

    def term() -> symbolic.Expression:
        import sympy

        b, z, y, w, normalizer = sympy.symbols("b z y w Z", positive=True)
        factor = sympy.exp(b * y) / normalizer
        return sympy.exp(b * z) / normalizer * w - factor * sympy.exp(b * (z - y)) * w

    return symbolic.identity(
        "rate as a weighted sum",
        "F(T) = -k g(b), g(b) = sum_{A*} e^{b(z_a - y)} w_a, k = e^{by}/Z > 0, b = 1/T, any y", term,
        axioms=("exp is positive",),
    )


def order() -> tuple[tuple[Step, ...], Lemma, Lemma]:
    """(z_a - z+)(c_a - C) >= 0, and z_a > z+ where c_a > C: all steps, then these two."""
    lemmas = threshold_lemmas(strict=False)
    threshold = lemmas[-1]
    assert isinstance(threshold, Lemma)
    above = smt.lemma(
        "above the threshold", "c_a > C puts z_a above z+", "z p zw pw m zp C",
        lambda v: [
            v.C >= 0, v.p > 0, v.pw > 0,
            smt.any_of(v.zp == v.m,
                       smt.all_of(v.zp == v.zw, v.zw >= v.m, v.pw * (v.zw - v.m) < v.C)),
            smt.implies(v.z <= v.zw, v.p <= v.pw), v.p * (v.z - v.m) > v.C,
        ],
        lambda v: v.z > v.zp,
        uses=("C is nonnegative",), axioms=(EXP_INCREASES,),
    )
    return (*lemmas, above), threshold, above


def growth() -> tuple[Step, ...]:
    """g, taken from the reference z+, does not decrease in b; it increases if some w_a > 0 on A*."""
    lemmas, threshold, above = order()
    terms = smt.lemma(
        "terms grow",
        "for b' > b, e' = e r with r = e^{(b' - b)(z_a - z+)}: the term e' w_a is at least e w_a, and "
        "larger if w_a > 0; summed over A*, g(b') >= g(b)",
        "z p zw pw m zp C e r",
        lambda v: [
            v.C >= 0, v.p > 0, v.pw > 0, v.zp >= v.m,
            smt.implies(smt.all_of(v.z >= v.m, v.p * (v.z - v.m) < v.C), v.z <= v.zp),
            smt.any_of(v.zp == v.m,
                       smt.all_of(v.zp == v.zw, v.zw >= v.m, v.pw * (v.zw - v.m) < v.C)),
            smt.implies(v.z <= v.zw, v.p <= v.pw), smt.implies(v.z < v.zw, v.p <= v.pw),
            v.e > 0, v.r > 0, smt.implies(v.z > v.zp, v.r > 1), smt.implies(v.z < v.zp, v.r < 1),
            smt.implies(v.z == v.zp, v.r == 1),
            threshold.instance(z=v.z, p=v.p, zw=v.zw, pw=v.pw, m=v.m, zp=v.zp, C=v.C),
            above.instance(z=v.z, p=v.p, zw=v.zw, pw=v.pw, m=v.m, zp=v.zp, C=v.C),
        ],
        lambda v: smt.all_of(
            v.e * v.r * (v.p * (v.z - v.m) - v.C) >= v.e * (v.p * (v.z - v.m) - v.C),
            smt.implies(v.p * (v.z - v.m) > v.C,
                        v.e * v.r * (v.p * (v.z - v.m) - v.C) > v.e * (v.p * (v.z - v.m) - v.C)),
        ),
        uses=("threshold", "above the threshold"),
        axioms=("exp is positive and increasing, e^0 = 1", SUM_OF_SIGNS),
    )
    return (*lemmas, terms)


def hot_term() -> Lemma:
    """g(b) <= S + b R W, from the largest z of A* as the reference."""
    return smt.lemma(
        "hot term",
        "e^{-x} w <= w + b R |w|_-, x = b (max z - z_a) in [0, bR]; summed over A*: g <= S + b R W",
        "e x top w miss",
        lambda v: [v.x >= 0, v.x <= v.top, v.e >= 1 - v.x, v.e <= 1, v.miss >= 0, v.miss >= -v.w],
        lambda v: v.e * v.w <= v.w + v.top * v.miss,
        uses=("rate as a weighted sum",), axioms=(EXP_BOUNDS, SUM_OF_SIGNS),
    )


def cold_terms() -> tuple[Lemma, Lemma]:
    """The largest w of A* sits at its largest z, and g(b) >= max w - e^{-bD} W."""
    return (
        smt.lemma(
            "top of A*", "if c_a > C for some a of A*, then c_top >= c_a at its largest z",
            "pa za pt zt m C",
            lambda v: [v.C >= 0, v.pa > 0, v.pa * (v.za - v.m) > v.C, v.zt >= v.za,
                       smt.implies(v.za <= v.zt, v.pa <= v.pt)],
            lambda v: v.pt * (v.zt - v.m) >= v.pa * (v.za - v.m),
            uses=("C is nonnegative",), axioms=(EXP_INCREASES,),
        ),
        smt.lemma(
            "cold term",
            "e^{-x} w >= -E |w|_-, x = b (max z - z_a), E = e^{-bD}; summed over A*, the term of the "
            "largest z kept as it is (e^0 w_top): g >= w_top - E W",
            "e E w miss",
            lambda v: [v.e > 0, v.E > 0, smt.implies(v.w < 0, v.e <= v.E), v.miss >= 0,
                       v.miss >= -v.w],
            lambda v: v.e * v.w >= -v.E * v.miss,
            uses=("rate as a weighted sum",), axioms=("exp is positive and increasing, e^0 = 1",
                                                      SUM_OF_SIGNS),
        ),
    )


def face_identity() -> Step:
    """F(1) = 0 where every action is correct."""

    def residual() -> symbolic.Expression:
        m = symbolic.Moments("c")
        return m.expect(m["c"] - m.expect(m["c"]))

    return symbolic.identity("all correct", "sum_a pi_a (c_a - C) = 0: F(1) = 0 if A* is everything",
                             residual)
