r"""AEPO, Eq. 6: the gradient of entropy along a logit step is minus a covariance.

For every z in :math:`R^n` and every direction dz,

.. math::

    \langle \nabla_z H, dz\rangle = -\sum_{a'} dz_{a'} \pi_{a'} (\log \pi_{a'} - \mathbb E \log \pi) =
    -\operatorname{Cov}_\pi(dz, \log \pi) = -\operatorname{Cov}_\pi(dz, z).

It is exact. The paper passes through two log-ratio forms that hold only to first order, and the
gradient itself makes them unnecessary. In its last line z_k(a|s) should be :math:`z_k(s, a)`. Theorem
4.3a bounds the distance from the entropy after a finite step.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import along, has_derivative
from entropy_theory.verification.symbolic import equation


def _chain(i: vf.Cases) -> tuple[ar.Reals, ar.Reals, ar.Reals]:
    """The three forms of Eq. 6: by action, with log pi, with z."""
    probabilities, log_probabilities = ar.softmax(i.logits), ar.log_softmax(i.logits)
    mean = ar.mean(probabilities, log_probabilities)[..., None]
    by_action = -ar.total(i.step * probabilities * (log_probabilities - mean))
    return (
        by_action,
        -ar.covariance(probabilities, i.step, log_probabilities),
        -ar.covariance(probabilities, i.step, i.logits),
    )


def _residuals(i: vf.Cases) -> ar.Reals:
    by_action, with_log, with_logits = _chain(i)
    return np.stack([by_action - with_log, with_log - with_logits], axis=-1)


def _gradient(i: Any) -> tuple[vf.Term, ...]:
    """Along the step entropy has the derivative -Cov_pi(dz, z)."""
    slope = -ar.covariance(ar.softmax(i.logits), i.step, i.logits)
    return (has_derivative(lambda t: ar.entropy(i.logits + ar.per_action(t) * i.step), 0, slope),)


INSTANCES = vf.bandit_instances(correct=False, step=True)


def _printed(name: str, statement: str, left_minus_right: Callable[[Any], Any]) -> vf.PrintedStep:
    return vf.PrintedStep(as_printed=equation(f"printed: {name}", statement, INSTANCES, left_minus_right))


def _by_scores(i: Any) -> vf.Term:
    """Along the step entropy has the derivative -E[(dz - E dz) log pi]."""
    probabilities = ar.softmax(i.logits)
    score = ar.centered(probabilities, i.step)
    slope = -ar.mean(probabilities, score * ar.log_softmax(i.logits))
    return has_derivative(lambda t: ar.entropy(along(i.logits, t, i.step)), 0, slope)


def _unweighted(i: vf.Cases) -> ar.Reals:
    by_action, _, _ = _chain(i)
    n = i.logits.shape[-1]
    uniform = 0 * i.logits + ar.constant(1, like=i.logits) / n
    return by_action + ar.covariance(uniform, i.step, i.logits)


equation_6 = vf.Claim(
    id="aepo.equation-6",
    source="AEPO, Eq. 6 (Appendix B)",
    reading=vf.Reading(
        "precise", r"- \text{Cov}_{\pi_{\theta_k}} (\Delta z_k(s, a), \log \pi_{\theta_k}(a|s))",
        "Eq. (6), the line before the last"),
    title="The gradient of entropy along a step is minus a covariance",
    scope="one softmax policy, any direction of the logits, derivative",
    statement=vf.Statement(
        latex=r"$\langle\nabla_z H, \Delta z\rangle = -\mathrm{Cov}_\pi(\Delta z, \log\pi) "
              r"= -\mathrm{Cov}_\pi(\Delta z, z)$, exactly.",
        margin=_residuals,
        relation="==",
        beyond=_gradient,
    ),
    instances=INSTANCES,
    symbolic=True,
    printed_proof=(
        _printed("gradient of H", "grad H = -E[grad log pi log pi]", _by_scores),
        _printed("as a covariance", "the sum over actions is Cov(dz, log pi)",
                 lambda i: _chain(i)[0] - _chain(i)[1]),
        _printed("Eq. 6", "Cov(dz, log pi) = Cov(dz, z)", lambda i: _chain(i)[1] - _chain(i)[2]),
    ),
    mutants=(
        vf.mutant("covariance under the uniform distribution", margin=_unweighted),
    ),
)
