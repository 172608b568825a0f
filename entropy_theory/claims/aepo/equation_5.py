r"""AEPO, Eq. 5: the logit step of tempered REINFORCE.

For every z in R^n, correct set A* and T > 0, one expected step
theta' = theta + eta E_{a ~ pi^T}[R(a) grad log pi(a)] of a tabular policy moves the logits by exactly

    dz_a' = eta sum_{a* in A*} pi^T(a*) (delta_{a' a*} - pi(a')) = eta (1_{A*} pi^T - pi^T(A*) pi)_a'.

The samples are tempered, the gradient is that of pi at T = 1: there is no importance correction.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from entropy_theory.claims.aepo.tempered_reinforce import LEARNING_RATE, TEMPERATURE, unit_step
from entropy_theory.verification import Cases, Claim, Mutant, Statement, bandit_instances, symbolic
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import PrintedStep, variant
from entropy_theory.verification.formula.limits import has_gradient
from entropy_theory.verification.formula.terms import Term


def _expected_score(i: Cases, score_temperature: Reals | None = None) -> Reals:
    """sum_a pi^T_a R_a d log pi_a / dz_k, from the Jacobian delta_ak - pi_k, written out."""
    tempered = ar.softmax(i.logits, i.temperature)
    # The transposed Jacobian, so that the sum over a is along the last axis.
    jacobian = ar.identity(i.logits) - ar.softmax(i.logits, score_temperature)[..., :, None]
    hits = np.where(i.correct, tempered, 0 * tempered)
    return ar.total(hits[..., None, :] * jacobian)


def _gradient(i: Any) -> tuple[Term, ...]:
    """The step is the gradient of the expected log-probability of the correct samples."""
    samples = ar.softmax(i.logits, i.temperature)
    step = unit_step(i.logits, i.correct, i.temperature)
    return (has_gradient(
        lambda z: ar.total(samples * ar.log_softmax(z), i.correct), i.logits, step),)


def _residual(i: Cases) -> Reals:
    scale = ar.per_action(i.learning_rate)
    return scale * _expected_score(i) - scale * unit_step(i.logits, i.correct, i.temperature)


def _jacobian() -> symbolic.Expression:
    import sympy

    # log pi = z - A along the direction e_k, whose values over actions are the indicator of k.
    m = symbolic.Moments("", indicators="k")
    z, log_normalizer = sympy.symbols("z A")
    moved = m.derivative(z - log_normalizer, m["k"], {z: m["k"], log_normalizer: m.expect(m["k"])})
    return moved - (m["k"] - m.expect(m["k"]))


def _sum_over_correct() -> symbolic.Expression:
    import sympy

    m = symbolic.Moments("", indicators="A k")
    p_k = sympy.Symbol("pi_k")
    return m.expect(m["A"] * (m["k"] - p_k)) - (m.expect(m["A"] * m["k"]) - p_k * m.expect(m["A"]))


_statement = Statement(
    latex=r"$\Delta z_{a'} = \eta \sum_{a^*\in\mathcal A^*} \pi^T(a^*)(\delta_{a'a^*} - \pi(a'))$, "
          r"exactly, for a tabular softmax policy.",
    margin=_residual,
    relation="==",
    beyond=_gradient,
)


def _wrong_score(i: Cases) -> Reals:
    scale = ar.per_action(i.learning_rate)
    return scale * (_expected_score(i, i.temperature)
                    - unit_step(i.logits, i.correct, i.temperature))


def _without_baseline(i: Cases) -> Reals:
    tempered = ar.softmax(i.logits, i.temperature)
    return _expected_score(i) - np.where(i.correct, tempered, 0 * tempered)


equation_5 = Claim(
    id="aepo.equation-5",
    source="AEPO, Eq. 5 (Appendix B)",
    title="The logit step of tempered REINFORCE",
    scope="one tabular state, exact expectation, one step",
    statement=_statement,
    instances=bandit_instances(TEMPERATURE, LEARNING_RATE),
    printed_proof=(
        PrintedStep(as_printed=symbolic.identity(
            "printed: gradient of log pi", "grad log pi_a = grad z_a - E_pi[grad z]", _jacobian)),
        PrintedStep(as_printed=symbolic.identity(
            "printed: Eq. 5", "orthonormal logit gradients give the sum", _sum_over_correct)),
    ),
    mutants=(
        Mutant(name="gradient taken of the tempered policy",
               statement=variant(_statement, margin=_wrong_score)),
        Mutant(name="the term - pi^T(A*) pi is dropped",
               statement=variant(_statement, margin=_without_baseline)),
    ),
)
