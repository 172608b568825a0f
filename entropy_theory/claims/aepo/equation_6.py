r"""AEPO, Eq. 6: the gradient of entropy along a logit step is minus a covariance.

For every z in R^n and every direction dz:

    <grad_z H, dz> = -sum_a' dz_a' pi_a' (log pi_a' - E log pi) = -Cov_pi(dz, log pi) = -Cov_pi(dz, z).

Exact. The paper passes through two log-ratio forms that hold only to first order; the gradient
itself makes them unnecessary. (In its last line z_k(a|s) should read z_k(s, a).) How far the entropy
after a finite step is from this is Theorem 4.3a.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from entropy_theory.verification import Cases, Claim, Mutant, Statement, bandit_instances, symbolic
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Reals
from entropy_theory.verification.claim import PrintedStep, variant
from entropy_theory.verification.formula.limits import has_derivative
from entropy_theory.verification.formula.terms import Term


def _chain(i: Cases) -> tuple[Reals, Reals, Reals]:
    """The three forms of Eq. 6: by action, with log pi, with z."""
    probabilities, log_probabilities = ar.softmax(i.logits), ar.log_softmax(i.logits)
    mean = ar.mean(probabilities, log_probabilities)[..., None]
    by_action = -ar.total(i.step * probabilities * (log_probabilities - mean))
    return (
        by_action,
        -ar.covariance(probabilities, i.step, log_probabilities),
        -ar.covariance(probabilities, i.step, i.logits),
    )


def _residuals(i: Cases) -> Reals:
    by_action, with_log, with_logits = _chain(i)
    return np.stack([by_action - with_log, with_log - with_logits], axis=-1)


def _gradient(i: Any) -> tuple[Term, ...]:
    """Along the step entropy has the derivative -Cov_pi(dz, z)."""
    slope = -ar.covariance(ar.softmax(i.logits), i.step, i.logits)
    return (has_derivative(lambda t: ar.entropy(i.logits + ar.per_action(t) * i.step), 0, slope),)


def _log_probability_or_logit() -> symbolic.Expression:
    import sympy

    # log pi = z - A, and the constant A has no covariance.
    m = symbolic.Moments("z x")
    log_normalizer = sympy.Symbol("A")
    return m.covariance(m["z"] - log_normalizer, m["x"]) - m.covariance(m["z"], m["x"])


def _by_action() -> symbolic.Expression:
    m = symbolic.Moments("L x")
    log_p, x = m["L"], m["x"]
    return m.expect(x * (log_p - m.expect(log_p))) - m.covariance(x, log_p)


_statement = Statement(
    latex=r"$\langle\nabla_z H, \Delta z\rangle = -\mathrm{Cov}_\pi(\Delta z, \log\pi) "
          r"= -\mathrm{Cov}_\pi(\Delta z, z)$, exactly.",
    margin=_residuals,
    relation="==",
    beyond=_gradient,
)


def _wrong_sign(i: Cases) -> Reals:
    by_action, _, with_logits = _chain(i)
    return by_action + with_logits


def _unweighted(i: Cases) -> Reals:
    by_action, _, _ = _chain(i)
    n = i.logits.shape[-1]
    uniform = 0 * i.logits + ar.constant(1, like=i.logits) / n
    return by_action + ar.covariance(uniform, i.step, i.logits)


equation_6 = Claim(
    id="aepo.equation-6",
    source="AEPO, Eq. 6 (Appendix B)",
    title="The gradient of entropy along a step is minus a covariance",
    scope="one softmax policy, any direction of the logits, derivative",
    statement=_statement,
    instances=bandit_instances(correct=False, step=True),
    printed_proof=(
        PrintedStep(as_printed=symbolic.identity(
            "printed: gradient of H", "grad H = -E[grad log pi log pi]",
            symbolic.entropy_slope_residual)),
        PrintedStep(as_printed=symbolic.identity(
            "printed: as a covariance", "the sum over actions is Cov(dz, log pi)", _by_action)),
        PrintedStep(as_printed=symbolic.identity(
            "printed: Eq. 6", "Cov(dz, log pi) = Cov(dz, z)", _log_probability_or_logit)),
    ),
    mutants=(
        Mutant(name="plus instead of minus", statement=variant(_statement, margin=_wrong_sign)),
        Mutant(name="covariance under the uniform distribution",
               statement=variant(_statement, margin=_unweighted)),
    ),
)
