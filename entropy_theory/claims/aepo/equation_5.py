r"""AEPO, Eq. 5: the logit step of tempered REINFORCE.

It is for every z in :math:`R^n`, correct set :math:`A^*` and :math:`T > 0`. One expected step of a
tabular policy is :math:`\theta' = \theta + \eta \mathbb E_{a \sim \pi^T}[R(a) \nabla \log \pi(a)]`. It
moves the logits by exactly

.. math::

    dz_{a'} = \eta \sum_{a^* \in A^*} \pi^T(a^*) (\delta_{a' a^*} - \pi(a')) = \eta (1_{A^*} \pi^T -
    \pi^T(A^*) \pi)_{a'}.

The samples are tempered, and the gradient is that of :math:`\pi` at :math:`T = 1`. No importance weight
corrects for this.
"""

from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import LEARNING_RATE, TEMPERATURE, unit_step
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import (
    along,
    for_every,
    has_derivative,
    has_gradient,
)
from entropy_theory.verification.symbolic import equation


def _expected_score(i: vf.Cases, score_temperature: ar.Reals | None = None) -> ar.Reals:
    """sum_a pi^T_a R_a d log pi_a / dz_k, from the Jacobian delta_ak - pi_k, written out."""
    tempered = ar.softmax(i.logits, i.temperature)
    # The transposed Jacobian, so that the sum over a is along the last axis.
    jacobian = ar.identity(i.logits) - ar.softmax(i.logits, score_temperature)[..., :, None]
    hits = np.where(i.correct, tempered, 0 * tempered)
    return ar.total(hits[..., None, :] * jacobian)


def _gradient(i: Any) -> tuple[vf.Term, ...]:
    """The step is the gradient of the expected log-probability of the correct samples."""
    samples = ar.softmax(i.logits, i.temperature)
    step = unit_step(i.logits, i.correct, i.temperature)
    return (has_gradient(
        lambda z: ar.total(samples * ar.log_softmax(z), i.correct), i.logits, step),)


def _residual(i: vf.Cases) -> ar.Reals:
    scale = ar.per_action(i.learning_rate)
    return scale * _expected_score(i) - scale * unit_step(i.logits, i.correct, i.temperature)


def _gradient_of_log_policy(i: Any) -> vf.Term:
    """Along every direction x, log pi has the derivative x - E x."""
    return for_every("direction", (vf.ACTIONS,), lambda x: has_derivative(
        lambda t: ar.log_softmax(along(i.logits, t, x)), 0, ar.centered(ar.softmax(i.logits), x)))


INSTANCES = vf.bandit_instances(TEMPERATURE, LEARNING_RATE)

def _wrong_score(i: vf.Cases) -> ar.Reals:
    scale = ar.per_action(i.learning_rate)
    return scale * (_expected_score(i, i.temperature)
                    - unit_step(i.logits, i.correct, i.temperature))


equation_5 = vf.Claim(
    id="aepo.equation-5",
    source="AEPO, Eq. 5 (Appendix B)",
    reading=vf.Reading(
        "precise",
        r"\eta \cdot \sum_{a^* \in \mathcal{A}^*} [\pi_{\theta_k}^T(a^*|s) \cdot (\delta_{a', a^*} - "
        r"\pi_{\theta_k}(a'|s))]", "Eq. (5), last line, with '=' for its '≈'"),
    title="The logit step of tempered REINFORCE",
    scope="one tabular state, exact expectation, one step",
    statement=vf.Statement(
        latex=r"$\Delta z_{a'} = \eta \sum_{a^*\in\mathcal A^*} \pi^T(a^*)(\delta_{a'a^*} - \pi(a'))$, "
              r"exactly, for a tabular softmax policy.",
        margin=_residual,
        relation="==",
        beyond=_gradient,
    ),
    instances=INSTANCES,
    symbolic=True,
    printed_proof=(
        vf.PrintedStep(as_printed=equation(
            "printed: gradient of log pi", "grad log pi_a = grad z_a - E_pi[grad z]", INSTANCES,
            _gradient_of_log_policy)),
        vf.PrintedStep(as_printed=equation(
            "printed: Eq. 5", "orthonormal logit gradients give the sum", INSTANCES, _residual)),
    ),
    mutants=(
        vf.mutant("gradient taken of the tempered policy", margin=_wrong_score),
    ),
)
