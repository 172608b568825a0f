r"""AEPO, section 4.1: "and decreases under low-temperature sampling".

Read as it stands: F(T) <= 0 for every T < 1 (in the weak form). False: with one correct answer that
is the less likely of two, F(T) = pi^T(a*)(C - c_{a*}) > 0 at every temperature, low ones included. A
policy that has not yet found the answer gains entropy from it at any T.

Repaired (exact, with w = c - C on A*, W the sum of its negative parts, D the distance from the largest
correct logit to the nearest correct one with w < 0): F(T) < 0 for T < 1 if F(1) <= 0, or all actions
are correct, or W e^{-D/T} < max_{A*} w; apart from the policies with c = C on all of A*. The last
condition holds for all small T exactly if max_{A*} c > C; so it does if the likeliest action is
correct and the policy is not uniform.
"""

from __future__ import annotations

from fractions import Fraction

from entropy_theory.claims.aepo.sign_change import (
    COLD,
    EXCESS_ON_CORRECT,
    cold_terms,
    face_identity,
    growth,
    largest_excess,
    weighted_sum,
)
from entropy_theory.claims.aepo.tempered_reinforce import (
    LOW_TEMPERATURE,
    SUM_OF_SIGNS,
    covariance_is_nonnegative,
    rate,
)
from entropy_theory.verification import (
    Cases,
    Claim,
    Condition,
    Mutant,
    Statement,
    bandit_instances,
    smt,
)
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant, without


def _fall(i: Cases) -> Reals:
    """-F(T)."""
    return -rate(i.logits, i.correct, i.temperature)


_top, _cold = cold_terms()
_falls_already = smt.lemma(
    "no rise at T = 1",
    "F(1) <= 0 and T < 1 give F(T) < 0: g(1) >= 0 and g(b) >= g(1) for b > 1, strictly if some "
    "w_a > 0 on A*; there is one, or else g(1) < 0",
    "F1 FT k1 kT g1 gT top",
    lambda v: [v.k1 > 0, v.kT > 0, -v.k1 * v.g1 == v.F1, -v.kT * v.gT == v.FT, v.F1 <= 0,
               v.gT >= v.g1, smt.implies(v.top > 0, v.gT > v.g1), smt.implies(v.top <= 0, v.g1 < 0)],
    lambda v: v.FT < 0,
    uses=("rate as a weighted sum", "terms grow", "all correct"), axioms=(SUM_OF_SIGNS,),
)
_by_temperature = smt.lemma(
    "cold enough", "W e^{-D/T} < max w <= w_top gives g >= w_top - W e^{-D/T} > 0 and F(T) < 0",
    "FT k g most top E W",
    lambda v: [v.k > 0, -v.k * v.g == v.FT, v.E > 0, v.W >= 0, v.g >= v.top - v.E * v.W,
               smt.implies(v.most > 0, v.most <= v.top), v.most > v.E * v.W],
    lambda v: v.FT < 0,
    uses=("cold term", "top of A*"),
)

_statement = Statement(
    latex=r"Entropy decreases under low-temperature sampling: $F(T) \le 0$ for $T < 1$.",
    margin=_fall,
)

_repaired = Statement(
    latex=r"$F(T) < 0$ for $T < 1$ if $F(1) < 0$, or every action is correct, or "
          r"$W e^{-D/T} < \max_{\mathcal A^*} c - C$.",
    margin=_fall,
    relation=">",
    conditions=(EXCESS_ON_CORRECT, COLD),
    proof=(
        *growth(),
        weighted_sum(),
        face_identity(),
        _falls_already,
        _top,
        _cold,
        _by_temperature,
        smt.lemma(
            "assembly", "either hypothesis gives F(T) < 0",
            "F1 FT k1 kT g1 gT some k g most top E W",
            lambda v: [v.k1 > 0, v.kT > 0, -v.k1 * v.g1 == v.F1, -v.kT * v.gT == v.FT,
                       v.gT >= v.g1, smt.implies(v.some > 0, v.gT > v.g1),
                       smt.implies(v.some <= 0, v.g1 < 0),
                       v.k > 0, -v.k * v.g == v.FT, v.E > 0, v.W >= 0, v.g >= v.top - v.E * v.W,
                       smt.implies(v.most > 0, v.most <= v.top),
                       smt.any_of(v.F1 <= 0, v.most > v.E * v.W),
                       _falls_already.instance(F1=v.F1, FT=v.FT, k1=v.k1, kT=v.kT, g1=v.g1,
                                               gT=v.gT, top=v.some),
                       _by_temperature.instance(FT=v.FT, k=v.k, g=v.g, most=v.most, top=v.top,
                                                E=v.E, W=v.W)],
            lambda v: v.FT < 0,
            uses=("no rise at T = 1", "cold enough"),
        ),
    ),
)

low_temperature_lowers = Claim(
    id="aepo.low-temperature-lowers",
    source="AEPO, section 4.1 (Figure 2), second half, as an absolute statement",
    title="Low-temperature sampling lowers entropy",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=_statement,
    instances=bandit_instances(LOW_TEMPERATURE),
    witnesses=({"weights": [1, 2], "correct": [True, False], "temperature": Fraction(1, 2)},),
    repair=_repaired,
    repair_is="hypothesis",
    repair_note="hypothesis: entropy does not rise at T = 1, or all actions are correct, or T is low "
                "enough and max c > C over A* (as it is where the likeliest action is correct)",
    negation=(
        *covariance_is_nonnegative(),
        smt.lemma(
            "one answer, below the mean",
            "if the one correct action has z < zb, then c < 0 <= C and F(T) = -pi^T(a*)(c - C) > 0 "
            "for every T > 0", "F q p z m C",
            lambda v: [v.q > 0, v.p > 0, v.z < v.m, v.C >= 0,
                       -v.q * (v.p * (v.z - v.m) - v.C) == v.F],
            lambda v: v.F > 0,
            uses=("C is nonnegative",), axioms=("softmax is positive",),
        ),
    ),
    mutants=(
        Mutant(name="hypothesis dropped: T below 1 is enough",
               statement=without(_repaired, COLD.latex)),
        Mutant(name="max c > C over A* is enough, for every T < 1",
               statement=variant(_repaired, conditions=(
                   Condition(latex="max c > C", value=lambda i: largest_excess(i.logits, i.correct)),
               ))),
        Mutant(name="F(1) > 0 instead of F(1) < 0",
               statement=variant(_repaired, conditions=(
                   Condition(latex="F(1) > 0", value=lambda i: rate(i.logits, i.correct)),
               ))),
    ),
)
