r"""AEPO, Table 4: a fixed number of positive samples (60 per step to raise entropy, 30 to lower it).

Eq. 1 and Assumption 4.2 average over all tempered samples, so the expected step is P_T (q^T - pi) with
P_T = pi^T(A*), q^T = pi^T( . | A*). With a fixed number of positives it is q^T - pi, up to a constant
(here of one prompt; AEPO fixes the number in a batch), and its entropy rate per unit step

    G(T) = -Cov_pi(z, q^T - pi) = C - E_{q^T} c = F(T)/P_T.

Exact, for every z, A* and T > 0: G has the sign of F; the weight alpha that makes kappa F(1) + alpha G
vanish is P_T times that of F (kappa |F(1)|/F(T)); and where the mean of c under q is not negative (so
where F(1) < 0, which says that it is above C >= 0) both halves of Corollary 4.4 hold at all T:

    G(T) >= G(1) for T > 1,      G(T) <= G(1) for T < 1.

For F itself the low half is only local: P_T may vanish as T -> 0, and the step with it. With one correct
answer G does not depend on T: temperature does nothing at all. G' >= 0 because for b' > b the ratio
r = q^{1/b'}/q^{1/b} increases in z and has mean 1; c is negative below zb and nondecreasing above it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from entropy_theory.claims.aepo.reward_improvement import conditional
from entropy_theory.claims.aepo.tempered_reinforce import (
    EXP_INCREASES,
    SUM_OF_SIGNS,
    TEMPERATURE,
    covariance_is_nonnegative,
    own_covariance,
    rate,
)
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Statement,
    bandit_instances,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.formula.limits import implies
from entropy_theory.verification.formula.terms import Term, definition, elementwise


@definition
def fixed_rate(logits: Reals, correct: Mask, temperature: Reals | None = None) -> Reals:
    """G(T) = -Cov_pi(z, q^T - pi)."""
    probabilities = ar.softmax(logits)
    step = conditional(logits, correct, temperature) - probabilities
    return -ar.covariance(probabilities, logits, step)


@definition
def gain(logits: Reals, correct: Mask, temperature: Reals) -> Reals:
    """G(T) - G(1) = E_q c - E_{q^T} c.

    With c relative to its least value on A*, so that zeros at ties stay.
    """
    own = own_covariance(logits)
    relative = own - ar.smallest(own, correct)[..., None]
    change = conditional(logits, correct) - conditional(logits, correct, temperature)
    return ar.total(change * relative, correct)


@definition
def mean_of_correct(logits: Reals, correct: Mask) -> Reals:
    """E_q c."""
    return ar.total(conditional(logits, correct) * own_covariance(logits), correct)


def _gain(i: Cases) -> Reals:
    return gain(i.logits, i.correct, i.temperature)


def _mean_of_correct(i: Cases) -> Reals:
    return mean_of_correct(i.logits, i.correct)


def _in_full(i: Any) -> tuple[Term, ...]:
    """F = P_T G, the weights, and both halves of the corollary for G where F(1) < 0."""
    share = ar.total(ar.softmax(i.logits, i.temperature), i.correct)
    plain = rate(i.logits, i.correct, i.temperature)
    fixed = fixed_rate(i.logits, i.correct, i.temperature)
    rises = fixed - fixed_rate(i.logits, i.correct)
    return (
        elementwise("equal", plain, share * fixed), share > 0, share <= 1,
        implies(rate(i.logits, i.correct) < 0, (i.temperature - 1) * rises >= 0),
    )


def _conclusions(i: Cases) -> Reals:
    plain = rate(i.logits, i.correct, i.temperature)
    fixed = fixed_rate(i.logits, i.correct, i.temperature)
    return np.stack([
        plain * fixed,
        # E_q c > 0 implies (T - 1)(G(T) - G(1)) >= 0.
        ar.maximum(-_mean_of_correct(i), (i.temperature - 1) * _gain(i)),
        # F(1) < 0 implies E_q c > 0.
        ar.maximum(rate(i.logits, i.correct), _mean_of_correct(i)),
    ], axis=-1)


def _fixed_rate_formula() -> symbolic.Expression:
    import sympy

    # Under pi, with values z, P = pi_a, Q = pi^T_a and A = 1_{A*}; q^T = A Q/P_T, c = P (z - E z).
    m = symbolic.Moments("z P Q", indicators="A")
    z, P, Q, A, mass = m["z"], m["P"], m["Q"], m["A"], sympy.Symbol("P_T")
    own_mean = m.expect(P * (z - m.expect(z)))
    fixed = -m.covariance(z, A * Q / mass - P)
    plain = -(m.expect(A * Q * (z - m.expect(z))) - mass * own_mean)
    return sympy.expand(mass * fixed - plain)


_moves = smt.lemma(
    "hotter by a ratio",
    "with s = q(z >= zb), means R = E[r | z >= zb], K = E[c | z >= zb], M = E[r c | z >= zb], and "
    "parts over z < zb: E r = 1 and E c >= 0 give R >= 1 and E[r c] >= R E c >= E c",
    "s R K M low_r low_c low_rc mean mean2",
    lambda v: [v.s > 0, v.s <= 1, v.R > 0, v.M >= v.R * v.K, v.low_rc >= v.R * v.low_c,
               v.low_r <= (1 - v.s) * v.R, v.s * v.R + v.low_r == 1,
               v.mean == v.s * v.K + v.low_c, v.mean2 == v.s * v.M + v.low_rc, v.mean >= 0],
    lambda v: v.mean2 >= v.mean,
    uses=("above the mean", "below the mean"), axioms=(SUM_OF_SIGNS,),
)

_statement = Statement(
    latex=r"With a fixed number of positives the rate is $G(T) = F(T)/P_T$: it has the sign of $F(T)$, "
          r"needs $P_T$ times the weight $\alpha$, and $\mathbb E_q c > 0$ (which $F(1) < 0$ implies) "
          r"gives $(T - 1)(G(T) - G(1)) \ge 0$ for every $T$.",
    margin=_conclusions,
    beyond=_in_full,
    proof=(
        symbolic.identity("fixed rate", "P_T G(T) = F(T)", _fixed_rate_formula,
                          axioms=("sum_{A*} pi^T_a f_a pi_a = E_pi[1_{A*} pi^T f]",)),
        (_threshold := smt.lemma(
            "same sign, smaller weight",
            "G = F/P_T, P_T in (0, 1]: same sign; kappa F1 + alpha F = 0 = kappa F1 + beta G gives "
            "beta = P_T alpha <= alpha where F > 0 > F1",
            "F G P F1 kappa alpha beta",
            lambda v: [v.P > 0, v.P <= 1, v.P * v.G == v.F, v.kappa > 0,
                       smt.implies(v.F > 0, smt.all_of(v.kappa * v.F1 + v.alpha * v.F == 0,
                                                       v.kappa * v.F1 + v.beta * v.G == 0))],
            lambda v: smt.all_of(
                v.F * v.G >= 0, smt.implies(v.F > 0, v.G > 0), smt.implies(v.F < 0, v.G < 0),
                smt.implies(smt.all_of(v.F > 0, v.F1 < 0),
                            smt.all_of(v.beta == v.P * v.alpha, v.beta <= v.alpha))),
            uses=("fixed rate",),
        )),
        *covariance_is_nonnegative(),
        smt.lemma(
            "a fall is enough", "F(1) = p (C - E_q c) < 0 gives E_q c > C >= 0", "F1 p C one",
            lambda v: [v.p > 0, v.C >= 0, v.p * (v.C - v.one) == v.F1, v.F1 < 0],
            lambda v: v.one > 0,
            uses=("fixed rate", "C is nonnegative"),
        ),
        smt.lemma(
            "above the mean",
            "for z_i, z_j >= zb, c = pi (z - zb) and r are ordered like z: (r_i - r_j)(c_i - c_j) >= 0, "
            "so M >= R K",
            "zi zj pi pj ri rj m",
            lambda v: [v.zi >= v.m, v.zj >= v.m, v.pi > 0, v.pj > 0,
                       smt.implies(v.zi <= v.zj, smt.all_of(v.pi <= v.pj, v.ri <= v.rj)),
                       smt.implies(v.zj <= v.zi, smt.all_of(v.pj <= v.pi, v.rj <= v.ri))],
            lambda v: (v.ri - v.rj) * (v.pi * (v.zi - v.m) - v.pj * (v.zj - v.m)) >= 0,
            uses=("covariance as pairs",), axioms=(EXP_INCREASES, SUM_OF_SIGNS),
        ),
        smt.lemma(
            "below the mean",
            "for z < zb, c < 0 and r is at most each r above zb, so at most their mean R: "
            "r c >= R c",
            "z p r R m",
            lambda v: [v.z < v.m, v.p > 0, v.r <= v.R],
            lambda v: v.r * v.p * (v.z - v.m) >= v.R * v.p * (v.z - v.m),
            axioms=(EXP_INCREASES, "a mean is at least the least of its values"),
        ),
        _moves,
        smt.lemma(
            "assembly",
            "G = C - E c: for T < 1 apply it from q to q^T; for T > 1 from q^T to q if E_{q^T} c >= 0, "
            "and otherwise E_{q^T} c < 0 < E_q c",
            "T one hot C G1 GT F F1 G P kappa alpha beta s R K M low_r low_c low_rc",
            lambda v: [
                v.one > 0, v.C - v.one == v.G1, v.C - v.hot == v.GT,
                # The premises of the ratio lemma; its base is q for T < 1, and q^T for T > 1.
                v.s > 0, v.s <= 1, v.R > 0, v.M >= v.R * v.K, v.low_rc >= v.R * v.low_c,
                v.low_r <= (1 - v.s) * v.R, v.s * v.R + v.low_r == 1,
                smt.implies(v.T < 1, smt.all_of(v.one == v.s * v.K + v.low_c,
                                                v.hot == v.s * v.M + v.low_rc)),
                smt.implies(v.T > 1, smt.all_of(v.hot == v.s * v.K + v.low_c,
                                                v.one == v.s * v.M + v.low_rc)),
                _moves.instance(s=v.s, R=v.R, K=v.K, M=v.M, low_r=v.low_r, low_c=v.low_c,
                                low_rc=v.low_rc, mean=v.one, mean2=v.hot),
                _moves.instance(s=v.s, R=v.R, K=v.K, M=v.M, low_r=v.low_r, low_c=v.low_c,
                                low_rc=v.low_rc, mean=v.hot, mean2=v.one),
                v.P > 0, v.P <= 1, v.P * v.G == v.F, v.kappa > 0,
                smt.implies(v.F > 0, smt.all_of(v.kappa * v.F1 + v.alpha * v.F == 0,
                                                v.kappa * v.F1 + v.beta * v.G == 0)),
                _threshold.instance(F=v.F, G=v.G, P=v.P, F1=v.F1, kappa=v.kappa, alpha=v.alpha,
                                    beta=v.beta),
            ],
            lambda v: smt.all_of(smt.implies(v.T < 1, v.GT <= v.G1),
                                 smt.implies(v.T > 1, v.GT >= v.G1), v.F * v.G >= 0),
            uses=("hotter by a ratio", "same sign, smaller weight", "a fall is enough"),
        ),
    ),
)

fixed_positives = Claim(
    id="aepo.fixed-positives",
    source="AEPO, Table 4 (60 positives when raising, 30 when lowering)",
    title="With a fixed number of positive samples both halves of Corollary 4.4 hold at every T",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=_statement,
    instances=bandit_instances(TEMPERATURE),
    mutants=(
        Mutant(name="F instead of G",
               statement=variant(_statement, margin=lambda i: ar.maximum(
                   rate(i.logits, i.correct), (i.temperature - 1) * (
                       rate(i.logits, i.correct, i.temperature) - rate(i.logits, i.correct))))),
        Mutant(name="hypothesis E_q c > 0 dropped",
               statement=variant(_statement, margin=lambda i: (i.temperature - 1) * _gain(i))),
        Mutant(name="strictly, also with one correct answer",
               statement=variant(_statement, relation=">", margin=lambda i: ar.maximum(
                   -_mean_of_correct(i), np.abs(_gain(i))))),
    ),
)
