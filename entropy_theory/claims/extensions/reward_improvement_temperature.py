r"""Extension of AEPO, section 4.2: up to which temperature tempered REINFORCE improves the reward.

It is exact to first order, for any z in :math:`R^n` and :math:`A^*`. As in `aepo.reward-improvement`,
:math:`p = \pi(A^*)`, q and :math:`q^T` are :math:`\pi` and :math:`\pi^T` given :math:`A^*`, and
:math:`d = 1_{A^*} \pi^T - P_T \pi` is the step. The rate of the reward per correct tempered sample,

.. math::

    \langle \nabla p, q^T - \pi\rangle = \langle \nabla p, d\rangle/P_T = p \{(1 - p)(\langle q,
    q^T\rangle - p \langle q, q\rangle) + \sum_{\text{wrong}} \pi^2\},

does not increase with T. At :math:`T \le 1` it is at least :math:`p (1 - p)^2 \langle q, q\rangle + p
\sum_{\text{wrong}} \pi^2 > 0`. So there is a :math:`T_R` in (1, inf] such that the step raises p, to
first order, exactly for :math:`T < T_R`. It is infinite exactly if :math:`(1 - p)/|A^*| +
\sum_{\text{wrong}} \pi^2 \ge p (1 - p) \langle q, q\rangle`. These two are theorems beside the
statement's, in its proof file.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.reward_improvement import conditional, reward, sum_of_squares
from entropy_theory.claims.aepo.tempered_reinforce import TEMPERATURE, unit_step
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import has_derivative


@vf.definition
def sample_rate(logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals) -> ar.Reals:
    """<grad p, q^T - pi> = Cov_pi(1_{A*}, q^T - pi), per correct tempered sample."""
    probabilities = ar.softmax(logits)
    one = 0 * logits + ar.constant(1, like=logits)
    hit = np.where(correct, one, 0 * one)
    return ar.covariance(probabilities, hit, conditional(logits, correct, temperature) - probabilities)


def _loss(i: vf.Cases) -> ar.Reals:
    """Rate at T minus rate at the higher T', divided by p (1 - p)."""
    q = conditional(i.logits, i.correct)
    change = (conditional(i.logits, i.correct, i.temperature)
              - conditional(i.logits, i.correct, i.temperature * i.factor))
    return ar.total((q - ar.smallest(q, i.correct)[..., None]) * change, i.correct)


def _least_when_cold(i: vf.Cases) -> ar.Reals:
    """Rate at min(T, 1) less ``p (1 - p)^2 <q, q>``."""
    right, wrong = reward(i.logits, i.correct), reward(i.logits, ~i.correct)
    least = right * wrong**2 * sum_of_squares(i.logits, i.correct)
    return sample_rate(i.logits, i.correct, ar.minimum(i.temperature, 0 * i.temperature + 1)) - least


def _derivative_and_fall(i: Any) -> tuple[vf.Term, ...]:
    step = unit_step(i.logits, i.correct, i.temperature)
    here = sample_rate(i.logits, i.correct, i.temperature)
    return (
        has_derivative(lambda t: reward(i.logits + ar.per_action(t) * step, i.correct), 0,
                       ar.total(ar.softmax(i.logits, i.temperature), i.correct) * here),
        here >= sample_rate(i.logits, i.correct, i.temperature * i.factor),
    )


reward_improvement_temperature = vf.Claim(
    id="extension.reward-improvement-temperature",
    source="Extension of AEPO, section 4.2",
    title="Tempered REINFORCE: the reward's gain per right sample never rises with temperature, and is "
          "positive up to T = 1",
    scope="one tabular state, exact expectation, first order in the learning rate",
    statement=vf.Statement(
        latex=r"$\langle\nabla p, q^T - \pi\rangle$, which times $P_T$ is the derivative of the reward "
              r"along the step, does not increase with $T$, and is at least $p(1-p)^2\langle q, "
              r"q\rangle$ for $T \le 1$.",
        margin=lambda i: np.stack([_loss(i), _least_when_cold(i)], axis=-1),
        conditions=(vf.SOME_WRONG,),
        beyond=_derivative_and_fall,
    ),
    instances=vf.bandit_instances(
        TEMPERATURE,
        vf.Scalar(name="factor", low=1.05, high=20.0, grid=(2, Fraction(5, 4)), range=vf.Range(low=1)),
    ),
    # Floats see the fall as the part that depends on T; these are put to balls, which see it as stated.
    witnesses=(
        {"weights": [1, 1, 8], "correct": [True, False, True], "temperature": 2, "factor": 2},
        {"weights": [1, 2, 5, 5], "correct": [True, True, False, True], "temperature": Fraction(1, 2),
         "factor": 4},
    ),
    mutants=(
        vf.mutant("the rate is positive at every T",
                  margin=lambda i: sample_rate(i.logits, i.correct, i.temperature)),
    ),
)
