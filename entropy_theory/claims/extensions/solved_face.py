r"""The solved face: every action that has probability is right, :math:`p = \pi(A^*) = 1`.

GRPO's step vanishes there. AEPO's tempered REINFORCE is :math:`dz = \eta (q^T - q)`, with
:math:`q = \operatorname{softmax}(z)` over the m right answers. The ratio :math:`q^T_a / q_a` is
proportional to :math:`e^{(1/T - 1) z_a}`. Everything follows from three facts.

- The entropy rate :math:`F(T)` has the sign of :math:`T - 1`, unless q is uniform.
- For :math:`T > 1` the gap between the likeliest answer and every other falls. For :math:`T < 1` it
  grows.
- For :math:`\eta \le 2` no step changes the order of the logits, and tied logits stay tied.

For two answers with :math:`z_1 - z_2 = D > 0` the whole motion is one number,
:math:`dD = -\eta f_T(D)`. Here :math:`f_T(D) = \tanh(D/2) - \tanh(D/(2T))`, which is positive for
:math:`T > 1` and negative for :math:`T < 1`.
"""

from typing import Any

import numpy as np

from entropy_theory.claims.aepo.reward_improvement import conditional
from entropy_theory.claims.aepo.tempered_reinforce import rate
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.arithmetic import Mask, Real, Reals
from entropy_theory.verification.formula.definitions import definition
from entropy_theory.verification.formula.terms import Operation, is_term, make


@definition
def switch_temperature(is_low: Mask, like: Reals) -> Reals:
    """AEPO's switch: 5/4 where the entropy is below its target, 4/5 elsewhere."""
    one = 0 * like + ar.constant(1, like=like)
    return np.where(is_low, 5 * one / 4, 4 * one / 5)


def every_action(logits: Any) -> Any:
    """The mask of A* = all actions."""
    if is_term(logits):
        return make(Operation("constant", detail=True), (), logits.axes, "mask")
    return np.ones(np.shape(logits), dtype=bool)


@definition
def face_rate(logits: Reals, temperature: Reals) -> Reals:
    """F(T) on the solved face."""
    return rate(logits, every_action(logits), temperature)


@definition
def face_step(logits: Reals, temperature: Reals) -> Reals:
    """The step per unit learning rate on the solved face: q^T - q."""
    return ar.softmax(logits, temperature) - ar.softmax(logits)


def _speed(gap: Reals | Real, temperature: Reals | Real) -> Reals:
    hot, cold = np.exp(-gap / temperature), np.exp(-gap)
    # e^{-D/T} - e^{-D} = e^{-D/T} (1 - e^{-D (1 - 1/T)}) with a relative error of rounding only.
    difference = -hot * np.expm1(-gap * (temperature - 1) / temperature)
    return 2 * difference / ((1 + hot) * (1 + cold))


@definition
def speed(gap: Reals | Real, temperature: Reals | Real) -> Reals:
    """f_T(D) = tanh(D/2) - tanh(D/(2T)), by which the gap of two answers falls per unit learning rate.

    Without cancellation at large gaps.
    """
    return _speed(gap, temperature)


@definition
def speeds(gaps: Reals, temperature: Reals) -> Reals:
    """f_T(D) = tanh(D/2) - tanh(D/(2T)) for many gaps D."""
    return _speed(gaps, ar.per_action(temperature))


@definition
def logit_range(logits: Reals) -> Reals:
    """The largest logit minus the smallest."""
    return ar.largest(logits) - ar.smallest(logits)


@definition
def range_on(logits: Reals, chosen: Mask) -> Reals:
    """The largest of the chosen logits minus the smallest of them."""
    return ar.largest(logits, chosen) - ar.smallest(logits, chosen)


@definition
def conditional_entropy(logits: Reals, correct: Mask) -> Reals:
    """H(q), the entropy of the policy on the right answers: log sum e^{z - max z} + E_q[max z - z]."""
    depth = ar.per_action(ar.largest(logits, correct)) - logits
    weights = np.where(correct, np.exp(-depth), 0 * depth)
    return np.log(ar.total(weights)) + ar.mean(conditional(logits, correct), depth)


@definition
def conditional_rate(logits: Reals, correct: Mask, temperature: Reals) -> Reals:
    """F(T) on the face of the right answers."""
    q = conditional(logits, correct)
    excess = ar.centered(q, q * ar.centered(q, logits))
    return -ar.total(conditional(logits, correct, temperature) * excess, correct)


@definition
def two_answer_entropy(gap: Reals | Real) -> Reals:
    """H of two answers whose logits differ by D."""
    weight = np.exp(-gap)
    return np.log1p(weight) + gap * weight / (1 + weight)
