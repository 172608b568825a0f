r"""Extension of Entropy Mechanism, Lemma 1: Adam's step on a reward, where it is the gradient's sign.

Adam's first step is :math:`\eta\, \mathrm{sign}(g)` at any betas, up to eps. So is every step while the
gradient stays as it is, and every step with both betas 0. With rewards 0 and 1 the exact gradient is
:math:`g = \pi (1_{A^*} - p)`, where p is the probability of the right actions. Its sign is 1 at right
actions and -1 at wrong ones, so that up to a shift of all logits

.. math::

    \eta\, \mathrm{sign}(g) = 2 \eta 1_{A^*} = 2 \eta (1_{A^*} - p).

That is a natural-gradient step of twice the rate. It moves right actions alike, whatever their
probabilities. To first order entropy changes by
:math:`-2 \eta \operatorname{Cov}_\pi(\log \pi, 1_{A^*})`. With one right action k this is
:math:`-2 \eta \pi_k (\log \pi_k + H)`: entropy falls where :math:`\pi_k > e^{-H}`. A gradient step
lowers it only where :math:`\pi_k (\log \pi_k + H)` is above its mean, which is at least 0.
"""

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.reweighted_coin import fall, reweighted_step
from entropy_theory.claims.extensions.uncorrected_signal import ONE_RIGHT
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.bandit_policies import SOME_WRONG
from entropy_theory.verification.formula.limits import has_derivative

RATE = vf.Scalar(name="learning_rate", low=1e-3, high=3.0, grid=(1, 2), range=vf.POSITIVE)


@vf.definition
def rewards(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """1 at right actions, 0 at others."""
    one = 0 * logits + ar.constant(1, like=logits)
    return np.where(correct, one, 0 * one)


@vf.definition
def sign_step(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """The sign of the exact gradient, pi (1_{A*} - p)."""
    return ar.sign(reweighted_step(logits, rewards(logits, correct)))


@vf.definition
def natural_step(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """1_{A*} - p."""
    return ar.centered(ar.softmax(logits), rewards(logits, correct))


@vf.definition
def natural_fall(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """Cov_pi(log pi, 1_{A*}): the fall of entropy by the natural step, to first order."""
    return ar.covariance(ar.softmax(logits), logits, rewards(logits, correct))


def _apart(i: vf.Cases, times: int = 2) -> ar.Reals:
    """What log pi gains by the sign's step beyond what it gains by the natural step."""
    rate = ar.per_action(i.learning_rate)
    return ar.log_growth(i.logits, rate * sign_step(i.logits, i.correct)) - ar.log_growth(
        i.logits, times * rate * natural_step(i.logits, i.correct))


LOWERED = vf.Condition(
    latex="the exact gradient step does not raise entropy to first order", relation=">=",
    value=lambda i: fall(i.logits, rewards(i.logits, i.correct)))
NATURALLY_LOWERED = vf.Condition(latex="the sign's step does not", relation=">=",
                                 value=lambda i: natural_fall(i.logits, i.correct))
SOURCE = "Extension of Entropy Mechanism, Lemma 1 (Adam)"

sign_is_natural = vf.Claim(
    id="extension.sign-step",
    source=SOURCE,
    title="Where Adam's step is the gradient's sign, rewards of 0 and 1 make it a natural-gradient step "
          "of twice the rate",
    scope="one tabular state, rewards 0 and 1, exact expectation, a step of any size; Adam with eps 0: "
          "its first step, or both betas 0",
    statement=vf.Statement(
        latex=r"If some action is wrong, $z + \eta\, \mathrm{sign}(\pi (1_{A^*} - p))$ and $z + 2 \eta "
              r"(1_{A^*} - p)$ have the same policy, $p = \pi(A^*)$, $\eta > 0$. The first order of "
              r"entropy along the sign is $-2\, \mathrm{Cov}_\pi(\log\pi, 1_{A^*})$.",
        margin=_apart,
        relation="==",
        conditions=(SOME_WRONG,),
        beyond=lambda i: (has_derivative(
            lambda t: ar.entropy(i.logits + ar.per_action(t) * sign_step(i.logits, i.correct)), 0,
            -2 * natural_fall(i.logits, i.correct)),),
    ),
    instances=vf.bandit_instances(RATE),
    mutants=(
        vf.mutant("of the same rate", margin=lambda i: _apart(i, times=1)),
    ),
)

sign_step_one_right = vf.Claim(
    id="extension.sign-step-one-right",
    source=SOURCE,
    title="With one right action Adam's sign step does not raise entropy where a gradient step does not",
    scope="one tabular state, one right action, rewards 0 and 1, exact expectation, first order; Adam "
          "with eps 0: its first step, or both betas 0",
    statement=vf.Statement(
        latex=r"If one action is right, and the step $\pi (1_{A^*} - p)$ does not raise entropy to first "
              r"order, then its sign does not.",
        margin=lambda i: natural_fall(i.logits, i.correct),
        conditions=(ONE_RIGHT, LOWERED),
    ),
    instances=vf.bandit_instances(),
    mutants=(
        vf.mutant("also with more right actions", conditions=(LOWERED,)),
        vf.mutant("a gradient step does not where the sign's does not",
                  margin=lambda i: fall(i.logits, rewards(i.logits, i.correct)),
                  conditions=(ONE_RIGHT, NATURALLY_LOWERED)),
    ),
)
