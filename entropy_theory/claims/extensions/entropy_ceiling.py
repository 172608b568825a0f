r"""Extension: tempered REINFORCE cannot hold entropy above :math:`\log|A^*|` at temperatures above a
bound.

The setting is one state with n actions, :math:`m = |A^*| < n` of them right. The steps are exact
expected steps of AEPO's update, with any temperatures :math:`T_k` in
:math:`[T_{\text{low}}, T_{\text{high}}]`, any :math:`\eta, \alpha > 0` and any GRPO weights
:math:`\kappa_k \ge 0`:

.. math::

    dz = \eta (\kappa \pi (1_{A^*} - p) + \alpha (1_{A^*} \pi^T - P_T \pi)),\quad p = \pi(A^*), P_T =
    \pi^T(A^*).

Let :math:`\Phi = \operatorname{mean}_{A^*} z - \max_{\text{wrong}} z`. Then :math:`\Phi` never
decreases, and :math:`1 - p \le ((n - m)/m) e^{-\Phi}`. With
:math:`e = ((n - m)/m) e^{-\Phi_0} \le (n - m)/n` every later entropy is at most the ceiling

.. math::

    \log m + h(e) + e \log((n - m)/m),\quad h(e) = -e \log e - (1 - e) \log(1 - e).

The number of steps with :math:`1 - p_k \ge e` is finite for every :math:`e > 0`, so
:math:`\limsup H_k \le \log m`. The scope is one tabular state. With shared parameters other states can
push wrong logits up.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import LEARNING_RATE, TEMPERATURE, unit_step
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula import limits
from entropy_theory.verification.formula.limits import STEPS as STEPS_OF_A_RUN

STEPS = 2


@vf.definition
def aepo_step(
    logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals, grpo_weight: ar.Reals
) -> ar.Reals:
    """The exact expected AEPO step per unit learning rate, with alpha = 1."""
    grpo = ar.per_action(grpo_weight) * unit_step(logits, correct)
    return grpo + unit_step(logits, correct, temperature)


@vf.definition
def after_step(
    logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals, grpo_weight: ar.Reals,
    learning_rate: ar.Reals,
) -> ar.Reals:
    """Logits after an exact expected AEPO step."""
    return logits + ar.per_action(learning_rate) * aepo_step(logits, correct, temperature, grpo_weight)


@vf.definition
def count(logits: ar.Reals, chosen: ar.Mask) -> ar.Reals:
    """How many actions a set has."""
    return ar.total(0 * logits + ar.constant(1, like=logits), chosen)


@vf.definition
def gap(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """Phi: mean logit of the correct actions minus the largest wrong one."""
    return ar.total(logits, correct) / count(logits, correct) - ar.largest(logits, ~correct)


@vf.definition
def log_wrong_bound(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """log e, with e = ((n - m)/m) e^{-Phi}, which the wrong actions' probability does not exceed."""
    return np.log(count(logits, ~correct) / count(logits, correct)) - gap(logits, correct)


@vf.definition
def widest_entropy(
    right: ar.Reals, wrong: ar.Reals, log_e: ar.Reals, without_spread: bool = False
) -> ar.Reals:
    """The largest entropy at probability e of the wrong actions: log m + h(e) + e log((n - m)/m)."""
    e = np.exp(log_e)
    spread = 0 if without_spread else e * np.log(wrong / right)
    return np.log(right) - e * log_e - (1 - e) * np.log1p(-e) + spread


@vf.definition
def ceiling(logits: ar.Reals, correct: ar.Mask, without_spread: bool = False) -> ar.Reals:
    """Upper bound on the entropy of this policy and of all that follow it."""
    n, m, wrong = logits.shape[-1], count(logits, correct), count(logits, ~correct)
    log_e = log_wrong_bound(logits, correct)
    # The bound increases in e only up to (n - m)/n, where it reaches log n.
    return np.where(ar.less(np.exp(log_e), wrong / n),
                    widest_entropy(m, wrong, log_e, without_spread), ar.log_of(n, like=logits))


def for_any_run(
    i: Any, proposition: Callable[[Callable[[vf.Term], vf.Term]], vf.Term]
) -> vf.Term:
    """It holds for the run k -> z_k from the instance's logits, whatever the schedules.

    Temperatures are bounded below by a positive number, GRPO's weights are not negative.
    """

    def of(temperatures: vf.Term, weights: vf.Term) -> vf.Term:
        def step(k: vf.Term, z: vf.Term) -> vf.Term:
            return after_step(z, i.correct, limits.entry(temperatures, k), limits.entry(weights, k),
                              i.learning_rate)

        return proposition(lambda k: limits.run(step, i.logits, k))

    return limits.for_every("lowest", (), lambda lowest: limits.for_every(
        "temperatures", (STEPS_OF_A_RUN,), lambda temperatures: limits.for_every(
            "weights", (STEPS_OF_A_RUN,), lambda weights: of(temperatures, weights),
            given=lambda weights: limits.at_every_step(lambda k: limits.entry(weights, k) >= 0)),
        given=lambda temperatures: limits.at_every_step(
            lambda k: limits.entry(temperatures, k) >= lowest)),
        given=lambda lowest: lowest > 0)


def _in_the_long_run(i: Any) -> tuple[vf.Term, ...]:
    def holds(path: Callable[[vf.Term], vf.Term]) -> vf.Term:
        return (limits.at_every_step(lambda k: ar.entropy(path(k)) <= ceiling(i.logits, i.correct))
                & limits.tends_to(lambda k: ar.total(ar.softmax(path(k)), i.correct), 1)
                & limits.limsup_at_most(lambda k: ar.entropy(path(k)),
                                        np.log(count(i.logits, i.correct))))

    return (for_any_run(i, holds),)


def _path(i: vf.Cases) -> list[ar.Reals]:
    """Logits along a run whose temperature alternates between two values."""
    path = [i.logits]
    for k in range(STEPS):
        temperature = i.second_temperature if k % 2 else i.temperature
        path.append(after_step(path[-1], i.correct, temperature, i.grpo_weight, i.learning_rate))
    return path


def _room(i: vf.Cases) -> ar.Reals:
    """The ceiling of the start minus the entropy, at the start and after each step."""
    bound = ceiling(i.logits, i.correct)
    return np.stack([bound - ar.entropy(z) for z in _path(i)], axis=-1)


entropy_ceiling = vf.Claim(
    id="extension.entropy-ceiling",
    source="Extension of AEPO (exact expected dynamics of one tabular state)",
    title="Tempered REINFORCE cannot hold entropy above log |A*| (one tabular state)",
    scope="one tabular state, exact expectation, every later step and the limit",
    statement=vf.Statement(
        latex=r"Every entropy from step 0 on is at most $\log m + h(e) + e\log\frac{n-m}{m}$ with $e = "
              r"\frac{n-m}{m}e^{-\Phi_0}$ (or $\log n$ if $e > \frac{n-m}n$), and $p_k \to 1$, "
              r"$\limsup_k H(\pi_k) \le \log|\mathcal A^*|$; for any temperatures bounded below and any "
              r"GRPO weights.",
        margin=_room,
        conditions=(vf.SOME_WRONG,),
        beyond=_in_the_long_run,
    ),
    instances=vf.bandit_instances(
        TEMPERATURE, LEARNING_RATE,
        vf.Scalar(name="second_temperature", low=0.05, high=20.0, grid=(Fraction(1, 2), 3),
                  range=vf.POSITIVE),
        vf.Scalar(name="grpo_weight", low=0.01, high=10.0, grid=(1,), range=vf.POSITIVE),
        actions=(2, 6),
    ),
    mutants=(
        vf.mutant("entropy never exceeds log m",
                  margin=lambda i: np.log(count(i.logits, i.correct)) - ar.entropy(_path(i)[-1])),
    ),
)
