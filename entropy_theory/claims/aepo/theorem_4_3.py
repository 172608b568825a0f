r"""AEPO, Theorem 4.3 (Lemma B.5): how tempered REINFORCE moves entropy.

For every z in R^n, correct set A*, temperature T > 0 and learning rate eta > 0, one expected step
d = eta (1_{A*} pi^T - pi^T(A*) pi) has the first-order entropy change eta F(T),

    F(T) = -sum_{A*} pi^T_a Cov_pi(z, delta_a - pi) = -sum_{A*} pi^T_a (c_a - C).

4.3a, the expansion.  |H(z + d) - H(z) - eta F(T)| <= (1/4)(1 + log n) ||d||^2, upper bound, any eta:
the printed "~" is a first order with this remainder.

4.3b, the sign.  F(1) < 0 implies F'(1) > 0. Exact and strict. The printed proof has gaps: it uses
C >= 0 and the monotonicity of pi in z without saying so, its u is undefined if A_2 is empty, and it
ends with >= 0. The proof here sets z+ = max(zb, max{z_a : z_a >= zb, c_a < C}), over all actions:

    F'(1) = sum_{A*} pi_a (z_a - z+)(c_a - C) + (z+ - zb) |F(1)|,

where no term is negative, and one is positive.
"""

from __future__ import annotations

import numpy as np

from entropy_theory.claims.aepo.equation_6 import equation_6
from entropy_theory.claims.aepo.expansion import remainder_steps
from entropy_theory.claims.aepo.tempered_reinforce import (
    ENTROPY_FALLS,
    EXP_INCREASES,
    LEARNING_RATE,
    TEMPERATURE,
    rate,
    remainder_bound,
    scaled_slope,
    slope_at_one,
    unit_step,
)
from entropy_theory.verification import (
    Cases,
    Claim,
    Mutant,
    PrintedStep,
    Statement,
    Step,
    bandit_instances,
    smt,
    symbolic,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Ball, Reals
from entropy_theory.verification.claim import Convergence, variant, without
from entropy_theory.verification.formula.limits import has_derivative

# ---------------------------------------------------------------- 4.3a: the expansion


def error_of_first_order(i: Cases, sign: int = 1, share: int = 1) -> Reals:
    """bound / share - |H(z + d) - H(z) - sign eta F(T)|."""
    step = ar.per_action(i.learning_rate) * unit_step(i.logits, i.correct, i.temperature)
    first_order = i.learning_rate * rate(i.logits, i.correct, i.temperature)
    error = np.abs(ar.entropy_change(i.logits, step) - sign * first_order)
    return remainder_bound(step) / share - error


def _wrong_covariance(i: Cases) -> Reals:
    """The error of `error_of_first_order`, with c and C taken under pi^T instead of pi."""
    step = ar.per_action(i.learning_rate) * unit_step(i.logits, i.correct, i.temperature)
    tempered = ar.softmax(i.logits, i.temperature)
    own = tempered * ar.centered(tempered, i.logits)
    wrong = -ar.total(tempered * ar.centered(tempered, own), i.correct)
    error = np.abs(ar.entropy_change(i.logits, step) - i.learning_rate * wrong)
    return remainder_bound(step) - error


def _remainder(i: Cases, size: Ball, sign: int = 1) -> Reals:
    step = unit_step(i.logits, i.correct, i.temperature)
    first_order = sign * rate(i.logits, i.correct, i.temperature)
    return ar.entropy_change(i.logits, size * step) - size * first_order


def _bound(i: Cases, size: Ball) -> Reals:
    return remainder_bound(size * unit_step(i.logits, i.correct, i.temperature))


def _step_covariance() -> symbolic.Expression:
    """-Cov(z, A Q - P_T P) = F, with P, Q the functions pi, pi^T of the action and A = 1_{A*}."""
    import sympy

    m = symbolic.Moments("z P Q", indicators="A")
    z, p, q, a, mass = m["z"], m["P"], m["Q"], m["A"], sympy.Symbol("P_T")
    along_step = -m.covariance(z, a * q - mass * p)
    # sum_{A*} pi^T_a c_a = E_pi[A Q (z - E z)], because c_a = pi_a (z_a - E z).
    rate_of_entropy = -(m.expect(a * q * (z - m.expect(z))) - mass * m.covariance(z, p))
    return along_step - rate_of_entropy


_step_covariance_step = symbolic.identity(
    "rate", "-Cov(z, 1_{A*} pi^T - pi^T(A*) pi) = -sum_{A*} pi^T_a (c_a - C) = F(T)",
    _step_covariance, axioms=("sum_{A*} pi^T_a f_a pi_a = E_pi[1_{A*} pi^T f]",),
)


def expansion_proof() -> tuple[Step, ...]:
    """The remainder bound for any step, applied to this one; T enters only through the step."""
    return (
        *remainder_steps(),
        _step_covariance_step,
        smt.lemma(
            "assembly", "|H(z + d) - H(z) - eta F(T)| <= (1/4)(1 + log n) ||d||^2",
            "change covariance rate eta log_n N",
            lambda v: [
                v.eta > 0, -v.covariance == v.eta * v.rate,
                4 * (v.change + v.covariance) <= (1 + v.log_n) * v.N,
                -4 * (v.change + v.covariance) <= (1 + v.log_n) * v.N,
            ],
            lambda v: smt.all_of(
                4 * (v.change - v.eta * v.rate) <= (1 + v.log_n) * v.N,
                -4 * (v.change - v.eta * v.rate) <= (1 + v.log_n) * v.N,
            ),
            uses=("remainder", "rate"),
        ),
    )


_expansion = Statement(
    latex=r"$H(\theta_{k+1}) - H(\theta_k) \approx \Delta H_k(T) = \eta F(T)$: the error is at most "
          r"$\frac14(1+\log n)\,\lVert\Delta z\rVert_2^2$.",
    margin=error_of_first_order,
    beyond=lambda i: (has_derivative(
        lambda eta: ar.entropy(
            i.logits + ar.per_action(eta) * unit_step(i.logits, i.correct, i.temperature)),
        0, rate(i.logits, i.correct, i.temperature)),),
    proof=expansion_proof(),
)

theorem_4_3a = Claim(
    id="aepo.theorem-4.3a",
    source="AEPO, Theorem 4.3, first part (Lemma B.5)",
    title="First-order entropy change of tempered REINFORCE",
    scope="one tabular state, exact expectation, one step, with its remainder",
    statement=_expansion,
    instances=bandit_instances(TEMPERATURE, LEARNING_RATE),
    convergence=Convergence(remainder=_remainder, bound=_bound, order=2),
    printed_proof=(
        *equation_6.printed_proof,
        PrintedStep(as_printed=symbolic.identity(
            "printed: Eq. 5 into Eq. 6", "gives Delta H_k(T)", _step_covariance)),
    ),
    mutants=(
        Mutant(name="sign of F flipped",
               statement=variant(_expansion, margin=lambda i: error_of_first_order(i, sign=-1)),
               convergence=Convergence(remainder=lambda i, h: _remainder(i, h, -1), order=2)),
        Mutant(name="a bound ten times smaller",
               statement=variant(_expansion, margin=lambda i: error_of_first_order(i, share=10))),
        Mutant(name="covariance under pi^T",
               statement=variant(_expansion, margin=_wrong_covariance)),
    ),
)

# ---------------------------------------------------------------- 4.3b: the sign


_sign = Statement(
    latex=r"$\Delta H_k'(T)|_{T=1} > 0$ if $\Delta H_k(T)|_{T=1} < 0$.",
    margin=lambda i: scaled_slope(i.logits, i.correct),
    relation=">",
    beyond=lambda i: (slope_at_one(i),),
    conditions=(ENTROPY_FALLS,),
)


def _gap(
    name: str, statement: str, variables: str, premises: smt.Premises, conclusion: smt.Conclusion,
    missing: smt.Premises, unsaid: str,
) -> PrintedStep:
    """An inference of the printed proof, and the same with the premise that it leaves unsaid."""
    return PrintedStep(
        as_printed=smt.lemma(f"printed: {name}", statement, variables, premises, conclusion),
        completed=smt.lemma(f"completed: {name}", f"{statement}, given {unsaid}", variables,
                            lambda v: [*premises(v), *missing(v)], conclusion),
    )


_printed = (
    _gap("A1", "z_a < zb gives Cov(z, delta_a - pi) < 0", "z m p C",
         lambda v: [v.p > 0, v.z < v.m],
         lambda v: v.p * (v.z - v.m) - v.C < 0,
         lambda v: [v.C >= 0], "C >= 0 (Chebyshev)"),
    _gap("u of an empty A2", "u - zb >= 0", "u m",
         lambda v: [], lambda v: v.u - v.m >= 0,
         lambda v: [v.u == v.m], "the convention u = zb where A2 is empty"),
    _gap("A3", "c_a >= C > c_u, both above zb, give z_a >= u", "z u m p pu C",
         lambda v: [v.p > 0, v.pu > 0, v.z >= v.m, v.u >= v.m,
                    v.p * (v.z - v.m) >= v.C, v.pu * (v.u - v.m) < v.C],
         lambda v: v.z >= v.u,
         lambda v: [smt.implies(v.z < v.u, v.p <= v.pu)], EXP_INCREASES),
    _gap("last line", "F'(1) >= (u - zb) |F(1)| gives F'(1) > 0", "slope S G u m",
         lambda v: [v.slope == v.S + (v.u - v.m) * v.G, v.S >= 0, v.G > 0, v.u >= v.m],
         lambda v: v.slope > 0,
         lambda v: [smt.implies(v.u == v.m, v.S > 0)], "that S > 0 where u = zb"),
)

theorem_4_3b = Claim(
    id="aepo.theorem-4.3b",
    source="AEPO, Theorem 4.3, second part (Lemma B.5)",
    title="Where plain REINFORCE lowers entropy, a higher temperature lowers it less",
    scope="one tabular state, exact expectation, first order; derivative in T at T = 1",
    statement=_sign,
    instances=bandit_instances(),
    printed_proof=_printed,
    mutants=(
        Mutant(name="hypothesis F(1) < 0 dropped",
               statement=without(_sign, ENTROPY_FALLS.latex)),
        Mutant(name="F'(1) >= |F(1)|",
               statement=variant(_sign, relation=">=",
                                 margin=lambda i: scaled_slope(i.logits, i.correct)
                                 + rate(i.logits, i.correct))),
        Mutant(name="sign of F'(1) flipped",
               statement=variant(_sign, margin=lambda i: -scaled_slope(i.logits, i.correct))),
    ),
)
