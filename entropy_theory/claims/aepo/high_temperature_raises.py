r"""AEPO, section 4.1: "entropy increases under high-temperature sampling".

Read as it stands: F(T) >= 0 for every T > 1 (in the weak form; F vanishes at a uniform policy). False:
with one correct answer that is the likeliest, F(T) < 0 at every temperature, because then F is
-pi^T(a*)(c_{a*} - C) and c is largest at the likeliest action. Corollary 4.4 speaks of an increase
relative to T = 1, which is not an increase.

Repaired (exact, with w = c - C on A*, S its sum, W the sum of its negative parts, R the range of the
correct logits): F(T) > 0 for T > 1 if F(1) >= 0, or all actions are correct, or T > R W/|S| with
S < 0; apart from the policies with c = C on all of A*, where F is zero. S < 0 is also necessary
(`extension.sign-change-temperature`): the mean of c over A* must be below C.
"""

from __future__ import annotations

from entropy_theory.claims.aepo.sign_change import (
    EXCESS_ON_CORRECT,
    HOT,
    face_identity,
    growth,
    hot_term,
    sum_of_excess,
    weighted_sum,
)
from entropy_theory.claims.aepo.tempered_reinforce import (
    EXP_INCREASES,
    HIGH_TEMPERATURE,
    SUM_OF_SIGNS,
    rate,
)
from entropy_theory.verification import (
    Cases,
    Claim,
    Condition,
    Mutant,
    Statement,
    Step,
    bandit_instances,
    smt,
    symbolic,
)
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant, without


def _rate(i: Cases) -> Reals:
    return rate(i.logits, i.correct, i.temperature)


def likeliest_alone() -> tuple[Step, ...]:
    """c_top > C at the likeliest action of a policy that is not uniform."""

    def mean_gap() -> symbolic.Expression:
        import sympy

        m, top = symbolic.Moments("c"), sympy.Symbol("c_top")
        return top - m.expect(m["c"]) - m.expect(top - m["c"])

    return (
        symbolic.identity("mean gap", "c_top - C = E[c_top - c]", mean_gap),
        smt.lemma(
            "likeliest action",
            "c_a <= c_top for every action, and c_a < c_top for z_a < zb; a policy that is not "
            "uniform has such an action: c_top > C",
            "p z pt zt m",
            lambda v: [v.p > 0, v.zt > v.m, v.zt >= v.z, smt.implies(v.z <= v.zt, v.p <= v.pt)],
            lambda v: smt.all_of(v.p * (v.z - v.m) <= v.pt * (v.zt - v.m),
                                 smt.implies(v.z < v.m, v.p * (v.z - v.m) < v.pt * (v.zt - v.m))),
            uses=("mean gap",),
            axioms=(EXP_INCREASES, SUM_OF_SIGNS, "some z lies below its mean unless all are equal"),
        ),
        smt.lemma(
            "one answer, the likeliest", "F(T) = -pi^T(a*)(c - C) < 0 for every T > 0", "F q c C",
            lambda v: [v.q > 0, v.c > v.C, -v.q * (v.c - v.C) == v.F],
            lambda v: v.F < 0,
            uses=("likeliest action",), axioms=("softmax is positive",),
        ),
    )


_hot = hot_term()
_no_fall = smt.lemma(
    "no fall at T = 1",
    "F(1) >= 0 and T > 1 give F(T) > 0: g(1) <= 0 and g(b) <= g(1) for b < 1, strictly if some "
    "w_a > 0 on A*; if none is, no term of g is positive and one is negative",
    "F1 FT k1 kT g1 gT top",
    lambda v: [v.k1 > 0, v.kT > 0, -v.k1 * v.g1 == v.F1, -v.kT * v.gT == v.FT, v.F1 >= 0,
               v.gT <= v.g1, smt.implies(v.top > 0, v.gT < v.g1), smt.implies(v.top <= 0, v.gT < 0)],
    lambda v: v.FT > 0,
    uses=("rate as a weighted sum", "terms grow", "all correct"), axioms=(SUM_OF_SIGNS,),
)
_by_temperature = smt.lemma(
    "hot enough", "T |S| > R W gives g <= S + R W/T < 0 and F(T) > 0", "FT k g S W R T b",
    lambda v: [v.k > 0, -v.k * v.g == v.FT, v.T > 0, v.b * v.T == 1,
               v.g <= v.S + v.b * v.R * v.W, -v.T * v.S > v.R * v.W],
    lambda v: v.FT > 0,
    uses=("hot term",),
)

_statement = Statement(
    latex=r"Entropy increases under high-temperature sampling: $F(T) \ge 0$ for $T > 1$.",
    margin=_rate,
)

_repaired = Statement(
    latex=r"$F(T) > 0$ for $T > 1$ if $F(1) > 0$, or every action is correct, or "
          r"$\sum_{\mathcal A^*}(c - C) = S < 0$ and $T > R W/|S|$.",
    margin=_rate,
    relation=">",
    conditions=(EXCESS_ON_CORRECT, HOT),
    proof=(
        *growth(),
        weighted_sum(),
        face_identity(),
        _no_fall,
        _hot,
        _by_temperature,
        smt.lemma(
            "assembly", "either hypothesis gives F(T) > 0", "F1 FT k1 kT g1 gT top k g S W R T b",
            lambda v: [v.k1 > 0, v.kT > 0, -v.k1 * v.g1 == v.F1, -v.kT * v.gT == v.FT,
                       v.gT <= v.g1, smt.implies(v.top > 0, v.gT < v.g1),
                       smt.implies(v.top <= 0, v.gT < 0),
                       v.k > 0, -v.k * v.g == v.FT, v.T > 1, v.b * v.T == 1,
                       v.g <= v.S + v.b * v.R * v.W,
                       smt.any_of(v.F1 >= 0, -v.T * v.S > v.R * v.W),
                       _no_fall.instance(F1=v.F1, FT=v.FT, k1=v.k1, kT=v.kT, g1=v.g1, gT=v.gT,
                                         top=v.top),
                       _by_temperature.instance(FT=v.FT, k=v.k, g=v.g, S=v.S, W=v.W, R=v.R, T=v.T,
                                                b=v.b)],
            lambda v: v.FT > 0,
            uses=("no fall at T = 1", "hot enough"),
        ),
    ),
)

high_temperature_raises = Claim(
    id="aepo.high-temperature-raises",
    source="AEPO, section 4.1 (Figure 2), first half, as an absolute statement",
    title="High-temperature sampling raises entropy",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=_statement,
    instances=bandit_instances(HIGH_TEMPERATURE),
    witnesses=({"weights": [1, 2], "correct": [False, True], "temperature": 2},),
    repair=_repaired,
    repair_is="hypothesis",
    repair_note="hypothesis: entropy does not fall at T = 1, or all actions are correct, or T is "
                "above R W/|S|, which exists only if the mean of c over A* is below C",
    negation=likeliest_alone(),
    mutants=(
        Mutant(name="hypothesis dropped: T above 1 is enough",
               statement=without(_repaired, HOT.latex)),
        Mutant(name="a mean of c below C is enough, for every T > 1",
               statement=variant(_repaired, conditions=(
                   Condition(latex="S < 0", value=lambda i: -sum_of_excess(i.logits, i.correct)),
               ))),
        Mutant(name="F(1) < 0 instead of F(1) > 0",
               statement=variant(_repaired, conditions=(
                   Condition(latex="F(1) < 0", value=lambda i: -rate(i.logits, i.correct)),
               ))),
    ),
)

