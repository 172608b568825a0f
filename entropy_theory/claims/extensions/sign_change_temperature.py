r"""Extension of AEPO, Theorem 4.3: when a temperature can change the sign of the entropy rate.

F changes sign at most once, at T0, from - to + (`extension.global-tempering`). Exact, for every z in
R^n and correct set A*, with w_a = c_a - C on A*, S its sum, W the sum of its negative parts, R the
range of z on A*, D the distance from the largest z of A* to the nearest one with w_a < 0:

- F(T) > 0 for some T exactly if the mean of c over A* is below C; then for every T > R W/|S|.
- F(T) < 0 for some T exactly if max_{A*} c > C; then wherever W e^{-D/T} < max_{A*} w.
- So T0 is in (0, inf) exactly if mean_{A*} c < C < max_{A*} c.
- |A*| = 1: mean and maximum are the same number, the sign of F is that of C - c at every T, and a
  temperature is no more than a step size.
- All actions correct: T0 = 1, for every policy that is not uniform.

An increase of entropy needs several correct answers, and it is the less likely of them that bring it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from entropy_theory.claims.aepo.high_temperature_raises import likeliest_alone
from entropy_theory.claims.aepo.sign_change import (
    cold_enough,
    cold_terms,
    face_identity,
    growth,
    hot_enough,
    hot_term,
    largest_excess,
    missing_excess,
    sum_of_excess,
    weighted_sum,
)
from entropy_theory.claims.aepo.tempered_reinforce import SUM_OF_SIGNS, TEMPERATURE, rate
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Statement,
    bandit_instances,
    smt,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.formula.limits import for_every, implies
from entropy_theory.verification.formula.terms import Term, definition
from entropy_theory.verification.smt import Lemma


def _rate(i: Cases) -> Reals:
    return rate(i.logits, i.correct, i.temperature)


@definition
def if_positive(premise: Reals, conclusion: Reals) -> Reals:
    """At least zero exactly where the conclusion is, or the premise is not positive."""
    return ar.maximum(-premise, conclusion)


def _face(i: Cases) -> Reals:
    """(T - 1) F(T) where every action is correct; (T - 1)^2 elsewhere."""
    distance = i.temperature - 1
    return np.where(np.all(i.correct, axis=-1), distance * _rate(i), distance * distance)


def _conclusions(i: Cases) -> Reals:
    f, s = _rate(i), sum_of_excess(i.logits, i.correct)
    return np.stack([
        if_positive(f, -s),
        if_positive(hot_enough(i.logits, i.correct, i.temperature), f),
        if_positive(-f, largest_excess(i.logits, i.correct)),
        if_positive(cold_enough(i.logits, i.correct, i.temperature), -f),
        _face(i),
    ], axis=-1)


def _signs(i: Any) -> tuple[Term, ...]:
    """Strictly, and with what happens at some temperature."""
    f, s, most = _rate(i), sum_of_excess(i.logits, i.correct), largest_excess(i.logits, i.correct)
    rises = ~for_every("T", (), lambda t: rate(i.logits, i.correct, t) <= 0, given=lambda t: t > 0)
    falls = ~for_every("T", (), lambda t: rate(i.logits, i.correct, t) >= 0, given=lambda t: t > 0)
    return (
        implies(rises, s < 0), implies(s < 0, rises),
        implies(hot_enough(i.logits, i.correct, i.temperature) > 0, f > 0),
        implies(falls, most > 0), implies(most > 0, falls),
        implies(cold_enough(i.logits, i.correct, i.temperature) > 0, f < 0),
    )


_hot = hot_term()
_top, _cold = cold_terms()
_rises = smt.lemma(
    "F > 0 somewhere, and only if S < 0",
    "F(T) > 0 gives S = g(0) <= g(b) < 0; and T |S| > R W gives g <= S + b R W < 0, so F(T) > 0",
    "F k g S gy ky R W T b",
    lambda v: [v.k > 0, -v.k * v.g == v.F, v.g >= v.S, v.ky > 0, -v.ky * v.gy == v.F, v.T > 0,
               v.b * v.T == 1, v.gy <= v.S + v.b * v.R * v.W],
    lambda v: smt.all_of(smt.implies(v.F > 0, v.S < 0),
                         smt.implies(-v.T * v.S > v.R * v.W, v.F > 0)),
    uses=("rate as a weighted sum", "terms grow", "hot term"), axioms=("e^0 = 1",),
)
_falls = smt.lemma(
    "F < 0 somewhere, and only if max c > C",
    "F(T) < 0 gives g > 0, so that some term e w_a of A* is > 0; and W e^{-D/T} < max w <= w_top "
    "gives g >= w_top - W e^{-D/T} > 0, so F(T) < 0",
    "F k g most top E W",
    lambda v: [v.k > 0, -v.k * v.g == v.F, smt.implies(v.most <= 0, v.g <= 0),
               smt.implies(v.most > 0, v.top >= v.most), v.E > 0, v.W >= 0,
               v.g >= v.top - v.E * v.W],
    lambda v: smt.all_of(smt.implies(v.F < 0, v.most > 0),
                         smt.implies(smt.all_of(v.most > 0, v.most > v.E * v.W), v.F < 0)),
    uses=("rate as a weighted sum", "top of A*", "cold term"), axioms=(SUM_OF_SIGNS,),
)

def _taken(v: smt.Values, lemma: Lemma) -> dict[str, smt.Number]:
    """The variables of a lemma, by name, out of those of another."""
    return {name: getattr(v, name) for name in lemma.variables}


def _cold_point(v: smt.Values) -> smt.Values:
    """The variables of the lemma on F < 0, at the cold temperature of the assembly."""
    return smt.Values(F=v.cold, k=v.kc, g=v.gc, most=v.most, top=v.top, E=v.E, W=v.W)


_statement = Statement(
    latex=r"$F(T) > 0$ for some $T$ iff $\mathrm{mean}_{\mathcal A^*} c < C$, and then for "
          r"$T > RW/|S|$; $F(T) < 0$ for some $T$ iff $\max_{\mathcal A^*} c > C$, and then where "
          r"$W e^{-D/T} < \max_{\mathcal A^*} c - C$. If every action is correct, $T_0 = 1$.",
    margin=_conclusions,
    beyond=_signs,
    proof=(
        *growth(),
        weighted_sum(),
        _hot,
        _rises,
        _top,
        _cold,
        _falls,
        face_identity(),
        *likeliest_alone()[:2],
        smt.lemma(
            "all actions correct",
            "g(1) = 0, and g increases in b (the likeliest action has w > 0), so F(T) has the sign of "
            "T - 1", "F g g1 k b T",
            lambda v: [v.k > 0, -v.k * v.g == v.F, v.g1 == 0, v.T > 0, v.b * v.T == 1,
                       smt.implies(v.b > 1, v.g > v.g1), smt.implies(v.b < 1, v.g < v.g1),
                       smt.implies(v.b == 1, v.g == v.g1)],
            lambda v: smt.all_of(smt.implies(v.T > 1, v.F > 0), smt.implies(v.T < 1, v.F < 0)),
            uses=("rate as a weighted sum", "terms grow", "all correct", "likeliest action"),
        ),
        smt.lemma(
            "one correct answer", "S = max w = w: F(T) > 0 for all T if c < C, F(T) < 0 if c > C",
            "F k g S gy ky R W T b most top E",
            lambda v: [
                # A single action: no range, no negative part beside a positive one.
                v.most == v.S, v.R == 0, v.top == v.most, smt.implies(v.most > 0, v.W == 0),
                v.k > 0, -v.k * v.g == v.F, v.g >= v.S, v.ky > 0, -v.ky * v.gy == v.F, v.T > 0,
                v.b * v.T == 1, v.gy <= v.S + v.b * v.R * v.W, v.E > 0, v.W >= 0,
                smt.implies(v.most <= 0, v.gy <= 0), v.gy >= v.top - v.E * v.W,
                _rises.instance(F=v.F, k=v.k, g=v.g, S=v.S, gy=v.gy, ky=v.ky, R=v.R, W=v.W, T=v.T,
                                b=v.b),
                _falls.instance(F=v.F, k=v.ky, g=v.gy, most=v.most, top=v.top, E=v.E, W=v.W),
            ],
            lambda v: smt.all_of(smt.implies(v.S < 0, v.F > 0), smt.implies(v.S > 0, v.F < 0)),
            uses=("F > 0 somewhere, and only if S < 0", "F < 0 somewhere, and only if max c > C"),
        ),
        smt.lemma(
            "assembly",
            "F takes both signs exactly if mean c < C < max c over A*: F at a hot T, T |S| > R W if "
            "S < 0, and at a cold one, W e^{-D/T} < max w if max w > 0",
            "F k g S gy ky R W T b cold kc gc most top E",
            lambda v: [*_rises.premises(v), _rises.instance(**_taken(v, _rises)),
                       *_falls.premises(_cold_point(v)), _falls.instance(**vars(_cold_point(v))),
                       smt.implies(v.S < 0, -v.T * v.S > v.R * v.W),
                       smt.implies(v.most > 0, v.most > v.E * v.W)],
            lambda v: smt.all_of(
                smt.implies(smt.all_of(v.S < 0, v.most > 0), smt.all_of(v.F > 0, v.cold < 0)),
                smt.implies(smt.all_of(v.F > 0, v.cold < 0), smt.all_of(v.S < 0, v.most > 0))),
            uses=("F > 0 somewhere, and only if S < 0", "F < 0 somewhere, and only if max c > C",
                  "all actions correct", "one correct answer"),
            axioms=("W e^{-D/T} tends to 0 as T does; T |S| exceeds R W for a large T",),
        ),
    ),
)


def _without_range(i: Cases) -> Reals:
    heat = -i.temperature * sum_of_excess(i.logits, i.correct)
    return if_positive(heat - missing_excess(i.logits, i.correct), _rate(i))


sign_change_temperature = Claim(
    id="extension.sign-change-temperature",
    source="Extension of AEPO, Theorem 4.3",
    title="A temperature can change the sign of the entropy rate iff mean c < C < max c over A*",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=_statement,
    instances=bandit_instances(TEMPERATURE),
    mutants=(
        Mutant(name="F(T) > 0 needs F(1) > 0",
               statement=variant(_statement, margin=lambda i: if_positive(
                   _rate(i), rate(i.logits, i.correct)))),
        Mutant(name="the range R dropped from the bound on T0",
               statement=variant(_statement, margin=_without_range)),
        Mutant(name="F(T) < 0 wherever max c > C",
               statement=variant(_statement, margin=lambda i: if_positive(
                   largest_excess(i.logits, i.correct), -_rate(i)))),
        Mutant(name="T0 = 1 for every correct set",
               statement=variant(_statement, margin=lambda i: (i.temperature - 1) * _rate(i))),
    ),
)
