r"""AEPO, Section 6.1: REINFORCE without temperature has the larger gradient variance. False.

One sample a of :math:`\pi^T` gives the gradient :math:`g = R(a)(e_a - \pi)` with R in {0, 1}. Its total
variance is exactly

.. math::

    V(T) = \sum_{A^*} \pi^T_a (1 - 2 \pi_a + |\pi|^2) - |1_{A^*} \pi^T - P_T \pi|^2.

The statement is :math:`V(1) \ge V(T)` at the temperatures that AEPO uses instead. It is false, since a
higher temperature spreads the samples. With two actions, one of them right, :math:`V(T)` is
:math:`P_T (1 - P_T)` times a constant. There *every* :math:`T > 1` has at least the variance of
:math:`T = 1`.

Repair: it is true on a solved state for :math:`T \le 1`. There :math:`V(T) = 1 - |q^T|^2` with
:math:`q^T` the tempered policy, which never falls as T rises. So :math:`T_{\text{low}}` has at most the
variance of :math:`T = 1`, and :math:`T_{\text{high}}` at least.
"""

from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import TEMPERATURE, unit_step
from entropy_theory.verification import arithmetic as ar

ALL_RIGHT = vf.Condition(latex="every action is correct (the state is solved)",
                         value=lambda i: np.all(i.correct, axis=-1))


@vf.definition
def variance(logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals | None = None) -> ar.Reals:
    """V(T): total variance of one sample's gradient."""
    pi, tempered = ar.softmax(logits), ar.softmax(logits, temperature)
    lengths = 1 - 2 * pi + ar.per_action(ar.total(pi * pi))
    mean = unit_step(logits, correct, temperature)
    return ar.total(tempered * lengths, correct) - ar.total(mean * mean)


def _untempered_is_larger(i: vf.Cases) -> ar.Reals:
    return variance(i.logits, i.correct) - variance(i.logits, i.correct, i.temperature)


def _spread(i: vf.Cases) -> ar.Reals:
    """(T - 1)(|q|^2 - |q^T|^2)."""
    q, hot = ar.softmax(i.logits), ar.softmax(i.logits, i.temperature)
    return (i.temperature - 1) * ar.total((q - hot) * (q + hot))


def _it_is_the_variance(i: Any) -> tuple[vf.Term, ...]:
    """``V(T) = 1 - |q^T|^2`` on the face, and so ``(T - 1)(V(T) - V(1)) >= 0``."""
    hot, here = ar.softmax(i.logits, i.temperature), variance(i.logits, i.correct, i.temperature)
    return (np.equal(here, 1 - ar.total(hot * hot)),
            (i.temperature - 1) * (here - variance(i.logits, i.correct)) >= 0)


untempered_variance = vf.Claim(
    id="aepo.untempered-variance",
    source="AEPO, Section 6.1",
    reading=vf.Reading(
        "inferred",
        "the variance of REINFORCE gradients, when unregularized by distribution adjustment, further "
        "degrades optimization performance", "Section 6.1, which does not say that it is larger"),
    title="Untempered REINFORCE has the larger gradient variance",
    scope="one tabular state, one sample, total variance of the gradient",
    statement=vf.Statement(
        latex=r"One-sample REINFORCE has its larger variance at $T = 1$: $V(1) \ge V(T)$.",
        margin=_untempered_is_larger,
    ),
    instances=vf.bandit_instances(TEMPERATURE, actions=(2, 6)),
    repair=vf.Statement(
        latex=r"On a solved state $V(1) \ge V(T)$ for $T \le 1$, and $V(1) \le V(T)$ for $T \ge 1$: "
              r"there $V(T) = 1 - \|q^T\|^2$.",
        margin=_spread,
        conditions=(ALL_RIGHT,),
        beyond=_it_is_the_variance,
    ),
    repair_note=r"on a solved state and for $T \le 1$; for $T \ge 1$ the opposite holds there",
    mutants=(
        vf.mutant("off the face too the variance rises with T", conditions=(),
                  margin=lambda i: -(i.temperature - 1) * _untempered_is_larger(i)),
    ),
)
