r"""Extension of AEPO, section 4.2: up to which temperature tempered REINFORCE improves the reward.

First order, exact, any z in R^n and A*: the rate of the reward per correct tempered sample,

    <grad p, q^T - pi> = <grad p, d>/P_T = p {(1 - p)(<q, q^T> - p <q, q>) + sum_{wrong} pi^2},

does not increase with T. At T <= 1 it is at least p (1 - p)^2 <q, q> + p sum_{wrong} pi^2 > 0. So there
is a T_R in (1, inf] such that the step raises p, to first order, exactly for T < T_R; and T_R = inf
exactly if (1 - p)/|A*| + sum_{wrong} pi^2 >= p (1 - p) <q, q>.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from entropy_theory.claims.aepo.reward_improvement import (
    SOME_WRONG,
    conditional,
    ratio_covariance,
    reward_formula,
    similar_order,
)
from entropy_theory.claims.aepo.tempered_reinforce import EXP_INCREASES, TEMPERATURE
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    Scalar,
    Statement,
    bandit_instances,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant


def _rate(i: Cases, temperature: Reals) -> Reals:
    """<grad p, q^T - pi> = Cov_pi(1_{A*}, q^T - pi)."""
    probabilities = ar.softmax(i.logits)
    one = 0 * i.logits + ar.constant(1, like=i.logits)
    hit = np.where(i.correct, one, 0 * one)
    direction = conditional(i.logits, i.correct, temperature) - probabilities
    return ar.covariance(probabilities, hit, direction)


def _loss(i: Cases) -> Reals:
    """Rate at T minus rate at the higher T'; in floats from the part that depends on T."""
    hotter = i.temperature * i.factor
    if ar.is_exact(i.logits):
        return _rate(i, i.temperature) - _rate(i, hotter)
    q = conditional(i.logits, i.correct)
    change = conditional(i.logits, i.correct, i.temperature) - conditional(
        i.logits, i.correct, hotter)
    probabilities = ar.softmax(i.logits)
    # change sums to zero, so that q may be taken relative to any number: exact zeros at ties.
    relative = q - ar.smallest(q, i.correct)[..., None]
    return (ar.total(probabilities, i.correct) * ar.total(probabilities, ~i.correct)
            * ar.total(relative * change, i.correct))


def _least_when_cold(i: Cases, power: int = 2) -> Reals:
    """Rate at T - p (1 - p)^2 <q, q> where T <= 1; (T - 1)^2 elsewhere."""
    probabilities = ar.softmax(i.logits)
    right, wrong = ar.total(probabilities, i.correct), ar.total(probabilities, ~i.correct)
    least = right * wrong**power * ar.total(conditional(i.logits, i.correct) ** 2)
    gap = i.temperature - 1
    return np.where(ar.less(0 * gap, gap), gap * gap, _rate(i, i.temperature) - least)


_statement = Statement(
    latex=r"$\langle\nabla p, q^T - \pi\rangle$ does not increase with $T$, and is at least "
          r"$p(1-p)^2\langle q, q\rangle$ for $T \le 1$: reward rises exactly for $T < T_R$, "
          r"$1 < T_R \le \infty$.",
    margin=lambda i: np.stack([_loss(i), _least_when_cold(i)], axis=-1),
    conditions=(SOME_WRONG,),
    proof=(
        *similar_order(),
        reward_formula(),
        symbolic.identity(
            "one temperature against another",
            "<q, q^T> - <q, q^{T'}> = Cov(q^T/q^{T'}, q) under q^{T'}; for T < T' the ratio is "
            "proportional to e^{(1/T - 1/T') z}, and increases with z like q", ratio_covariance,
        ),
        (_falls := smt.lemma(
            "rate does not increase", "r(T) - r(T') = p (1 - p) (<q, q^T> - <q, q^{T'}>) >= 0",
            "r r2 p N V G G2 cov",
            lambda v: [v.p > 0, v.p < 1, v.r == v.p * ((1 - v.p) * (v.G - v.p * v.N) + v.V),
                       v.r2 == v.p * ((1 - v.p) * (v.G2 - v.p * v.N) + v.V),
                       v.cov == v.G - v.G2, v.cov >= 0],
            lambda v: v.r >= v.r2,
            uses=("reward rate", "one temperature against another", "pair sign"),
            axioms=(EXP_INCREASES,),
        )),
        smt.lemma(
            "assembly", "at T <= 1, r(T) >= r(1) >= p (1 - p)^2 <q, q>, as <q, q^1> = <q, q>",
            "r r1 p N V G cov",
            lambda v: [v.p > 0, v.p < 1, v.N > 0, v.V >= 0, v.cov >= 0, v.cov == v.G - v.N,
                       v.r == v.p * ((1 - v.p) * (v.G - v.p * v.N) + v.V),
                       v.r1 == v.p * ((1 - v.p) * (v.N - v.p * v.N) + v.V),
                       _falls.instance(r=v.r, r2=v.r1, p=v.p, N=v.N, V=v.V, G=v.G, G2=v.N,
                                       cov=v.cov)],
            lambda v: smt.all_of(v.r >= v.p * (1 - v.p) * (1 - v.p) * v.N, v.r > 0),
            uses=("rate does not increase",), axioms=("the rate is continuous in T, so T_R > 1",),
        ),
    ),
)

reward_improvement_temperature = Claim(
    id="extension.reward-improvement-temperature",
    source="Extension of AEPO, section 4.2",
    title="Tempered REINFORCE improves the reward up to one temperature above 1",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=_statement,
    instances=bandit_instances(
        TEMPERATURE, Scalar(name="factor", low=1.05, high=20.0, grid=(2, Fraction(5, 4)))
    ),
    # Floats see the fall as the part that depends on T; these are put to balls, which see it as stated.
    witnesses=(
        {"weights": [1, 1, 8], "correct": [True, False, True], "temperature": 2, "factor": 2},
        {"weights": [1, 2, 5, 5], "correct": [True, True, False, True], "temperature": Fraction(1, 2),
         "factor": 4},
    ),
    mutants=(
        Mutant(name="the rate rises with T", statement=variant(_statement, margin=lambda i: -_loss(i))),
        Mutant(name="the rate is positive at every T", statement=variant(
            _statement, margin=lambda i: _rate(i, i.temperature))),
        Mutant(name="p (1 - p)<q, q> in the cold bound, one factor 1 - p dropped",
               statement=variant(_statement, margin=lambda i: _least_when_cold(i, 1))),
    ),
)
