r"""AEPO, Lemma 4.1: a higher temperature means a higher entropy.

For every z in R^n, not constant, and every 0 < T < T':  H(softmax(z/T)) < H(softmax(z/T')).
Exact: dH(pi^T)/dT = Var_{pi^T}(z) / T^3. It is about the distribution that is sampled from, for
fixed logits; it says nothing about the policy after training.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory.claims.aepo.tempered_reinforce import MEAN_VALUE, SUM_OF_SIGNS
from entropy_theory.verification import (
    Cases,
    Claim,
    Condition,
    Mutant,
    Scalar,
    Statement,
    Step,
    bandit_instances,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import variant
from entropy_theory.verification.formula.limits import has_derivative
from entropy_theory.verification.formula.statement import Range
from entropy_theory.verification.formula.terms import Term


def _slope(i: Any) -> tuple[Term, ...]:
    """dH/dT = Var(z)/T^3."""
    variance = ar.covariance(ar.softmax(i.logits, i.temperature), i.logits, i.logits)
    return (has_derivative(
        lambda t: ar.entropy(i.logits, t), i.temperature, variance / i.temperature**3),)


def _gain(i: Cases) -> Reals:
    return ar.entropy(i.logits, i.temperature * i.factor) - ar.entropy(i.logits, i.temperature)


def _slope_residual(power: int) -> symbolic.Expression:
    """dH/db + b^(power) Var(z) with H = A - b E z, A = log normalizer; zero for power = 1."""
    import sympy

    m = symbolic.Moments("z")
    b, log_normalizer, z = sympy.Symbol("b"), sympy.Symbol("A"), m["z"]
    entropy = log_normalizer - b * m.expect(z)
    slope = m.derivative(entropy, z, {b: sympy.Integer(1), log_normalizer: m.expect(z)})
    return slope + b**power * m.covariance(z, z)


def _written_out(s: symbolic.ExplicitSoftmax) -> Iterable[symbolic.Rational]:
    # H = A - b E z, and dA/db = E z: only the second term needs the written-out sums.
    slope = s.mean(s.z) - s.along_inverse_temperature(s.b * s.mean(s.z))
    yield slope + s.b * s.covariance(s.z, s.z)


def _variance_as_pairs() -> symbolic.Expression:
    import sympy

    m = symbolic.Moments("z")
    one, two = sympy.symbols("z1 z2")
    return m.covariance(m["z"], m["z"]) - m.expect_pairs((one - two) ** 2, {"z": one}, {"z": two}) / 2


def _slope_step(power: int, name: str = "slope") -> Step:
    return symbolic.identity(
        name, "with b = 1/T: dH/db = -b Var(z), that is dH/dT = Var(z)/T^3",
        lambda: _slope_residual(power), uses=("softmax rule",) if power == 1 else (),
        axioms=("dA/db = E z for the log normalizer A; d(1/T)/dT = -1/T^2",),
    )


_statement = Statement(
    latex=r"$H(\pi^{T'}) > H(\pi^{T})$ for $T' > T > 0$; the derivative in $T$ is $\mathrm{Var}(z)/T^3$.",
    margin=_gain,
    relation=">",
    beyond=_slope,
    conditions=(
        Condition(latex="the logits are not all equal",
                  value=lambda i: ar.largest(i.logits) - ar.smallest(i.logits)),
    ),
    proof=(
        symbolic.softmax_rule(),
        _slope_step(1),
        symbolic.explicit("slope, written out", "the same identity for each n", _written_out),
        symbolic.identity("variance as pairs",
                          "Var(z) = (1/2) sum_ij p_i p_j (z_i - z_j)^2", _variance_as_pairs),
        smt.lemma(
            "pair sign", "p_i p_j (z_i - z_j)^2 >= 0, and > 0 if z_i != z_j", "zi zj pi pj",
            lambda v: [v.pi > 0, v.pj > 0],
            lambda v: smt.all_of(
                v.pi * v.pj * (v.zi - v.zj) * (v.zi - v.zj) >= 0,
                smt.implies(v.zi != v.zj, v.pi * v.pj * (v.zi - v.zj) * (v.zi - v.zj) > 0),
            ),
        ),
        smt.lemma(
            "assembly", "dH/dT = V/T^3 > 0, where 2V is a sum of pairs, one of them positive",
            "slope V pairs T",
            lambda v: [v.T > 0, v.pairs == 2 * v.V, v.pairs > 0, v.slope * v.T * v.T * v.T == v.V],
            lambda v: v.slope > 0,
            uses=("slope", "variance as pairs", "pair sign"),
            axioms=(SUM_OF_SIGNS, MEAN_VALUE),
        ),
    ),
)

lemma_4_1 = Claim(
    id="aepo.lemma-4.1",
    source="AEPO, Lemma 4.1",
    title="A higher temperature means a higher entropy",
    scope="one distribution that is sampled from, logits fixed",
    statement=_statement,
    instances=bandit_instances(
        Scalar(name="temperature", low=0.05, high=20.0, grid=(1, Fraction(1, 2), 2)),
        Scalar(name="factor", low=1.05, high=20.0, grid=(2, Fraction(5, 4)),
               range=Range(low=1, open_low=True)),
        correct=False,
    ),
    mutants=(
        Mutant(name="entropy falls with temperature",
               statement=variant(_statement, margin=lambda i: -_gain(i))),
        Mutant(name="entropy rises by at least log(T'/T)",
               statement=variant(
                   _statement, margin=lambda i: ar.entropy(i.logits, i.temperature * i.factor)
                   - ar.entropy(i.logits, i.temperature) - np.log(i.factor))),
        Mutant(name="dH/dT = Var(z)/T^4 in the proof",
               statement=variant(_statement, proof=(_slope_step(2, "wrong slope"),))),
    ),
)
