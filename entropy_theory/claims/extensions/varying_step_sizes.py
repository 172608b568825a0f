r"""Extension of AEPO: the right answers are learned if and only if the step sizes have no finite
sum.

The setting is one state with :math:`m = |A^*| < n` and exact expected steps of AEPO's update as in
`extension.entropy-ceiling`. Each step has its own learning rate :math:`\eta_k \ge 0`. Temperatures are
bounded below, and GRPO weights are :math:`\kappa_k \ge 0`. The policy gradient of the expected reward
is the case :math:`\kappa_k = 0` and :math:`T_k = 1`. Let :math:`w_k = \eta_k (1 + \kappa_k)`.

- A step sets the logits of a right and of a wrong answer at most :math:`w_k` further apart. So
  :math:`1 - p` falls at most by the factor :math:`e^{-w_k}`: :math:`1 - p_k \ge (1 - p_0) \exp(-(w_0 +
  \dots + w_{k-1}))`.
- The gap :math:`\Phi` grows by at least :math:`c w_k (1 - p_k)`, and
  :math:`1 - p \le ((n - m)/m) e^{-\Phi}`. So if the :math:`w_k` have no finite sum, :math:`1 - p_k`
  tends to 0.

The second point has two cases. If :math:`\Phi` does not stay bounded, it is clear. Otherwise
:math:`1 - p_k + \Phi_k/c`, which never falls, converges, as :math:`\Phi_k` does. So :math:`1 - p_k`
converges too, and a positive limit would make :math:`\Phi` grow for ever.

Hence :math:`p_k \to 1` if and only if the sum of the :math:`w_k` is infinite, and then
:math:`\limsup H_k \le \log m`. Step sizes need no upper bound. With bounded weights a schedule such as
:math:`\eta_k = 1/k^2` stops short of the maximum.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import LEARNING_RATE, TEMPERATURE
from entropy_theory.claims.extensions.entropy_ceiling import after_step, count
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula import limits

Path = Callable[[vf.Term], vf.Term]


@vf.definition
def wrong_mass(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """1 - p, the probability of the wrong actions."""
    return ar.total(ar.softmax(logits), ~correct)


def total_of(sizes: Path, count: vf.Term) -> vf.Term:
    """The sum of the first step sizes."""
    total: vf.Term = limits.run(lambda k, so_far: so_far + sizes(k), vf.constant(0), count)
    return total


def has_no_finite_sum(sizes: Path) -> vf.Term:
    """No number bounds the sums of the step sizes."""
    return limits.for_every("bound", (), lambda bound: ~limits.at_every_step(
        lambda k: total_of(sizes, k) <= bound))


def for_any_schedules(i: Any, proposition: Callable[[Path, Path], vf.Term]) -> vf.Term:
    """It holds for every run k -> z_k and its step sizes k -> w_k.

    Temperatures are bounded below by a positive number; learning rates and GRPO's weights are not
    negative.
    """

    def of(temperatures: vf.Term, weights: vf.Term, rates: vf.Term) -> vf.Term:
        def step(k: vf.Term, z: vf.Term) -> vf.Term:
            return after_step(z, i.correct, limits.entry(temperatures, k), limits.entry(weights, k),
                              limits.entry(rates, k))

        return proposition(lambda k: limits.run(step, i.logits, k),
                           lambda k: limits.entry(rates, k) * (1 + limits.entry(weights, k)))

    def not_negative(schedule: vf.Term) -> vf.Term:
        return limits.at_every_step(lambda k: limits.entry(schedule, k) >= 0)

    return limits.for_every("lowest", (), lambda lowest: limits.for_every(
        "temperatures", (limits.STEPS,), lambda temperatures: limits.for_every(
            "weights", (limits.STEPS,), lambda weights: limits.for_every(
                "rates", (limits.STEPS,), lambda rates: of(temperatures, weights, rates),
                given=not_negative), given=not_negative),
        given=lambda temperatures: limits.at_every_step(
            lambda k: limits.entry(temperatures, k) >= lowest)),
        given=lambda lowest: lowest > 0)


def _exactly_if_endless(i: Any) -> tuple[vf.Term, ...]:
    def learned(path: Path) -> vf.Term:
        return limits.tends_to(lambda k: ar.total(ar.softmax(path(k)), i.correct), 1)

    return (
        for_any_schedules(i, lambda path, sizes: limits.at_every_step(
            lambda k: wrong_mass(i.logits, i.correct) * np.exp(-total_of(sizes, k))
            <= wrong_mass(path(k), i.correct))),
        for_any_schedules(i, lambda path, sizes: limits.implies(
            has_no_finite_sum(sizes),
            learned(path) & limits.limsup_at_most(
                lambda k: ar.entropy(path(k)), np.log(count(i.logits, i.correct))))),
        for_any_schedules(i, lambda path, sizes: limits.implies(
            learned(path), has_no_finite_sum(sizes))),
    )


def _spent(i: vf.Cases) -> ar.Reals:
    """w_0 + w_1."""
    return (i.learning_rate + i.second_learning_rate) * (1 + i.grpo_weight)


def _room(i: vf.Cases, spent: Callable[[vf.Cases], ar.Reals] = _spent) -> ar.Reals:
    """``1 - p_2``, after steps of two sizes, minus ``(1 - p_0) e^{-(w_0 + w_1)}``."""
    path = after_step(i.logits, i.correct, i.temperature, i.grpo_weight, i.learning_rate)
    path = after_step(path, i.correct, i.temperature, i.grpo_weight, i.second_learning_rate)
    return wrong_mass(path, i.correct) - wrong_mass(i.logits, i.correct) * np.exp(-spent(i))


_statement = vf.Statement(
    latex=r"Take exact expected steps of AEPO's update with $\alpha = 1$, any learning rates $\eta_k "
          r"\ge 0$, temperatures $T_k \ge T_{low} > 0$ and GRPO weights $\kappa_k \ge 0$. Let $w_k = "
          r"\eta_k(1 + \kappa_k)$ be their sizes and $p_k$ the probability of a right answer. Then $1 - "
          r"p_k \ge (1 - p_0)\,e^{-(w_0 + \dots + w_{k-1})}$, and $p_k \to 1$ if and only if $\sum_k "
          r"w_k = \infty$. In that case $\limsup_k H(\pi_k) \le \log|\mathcal A^*|$.",
    margin=_room,
    conditions=(vf.SOME_WRONG,),
    beyond=_exactly_if_endless,
)

varying_step_sizes = vf.Claim(
    id="extension.varying-step-sizes",
    source="Extension of AEPO (exact expected dynamics of one tabular state)",
    title="With varying step sizes the right answers are learned if and only if the sizes have no finite "
          "sum (one tabular state)",
    scope="one tabular state, exact expectation, every later step and the limit; policy gradient (GRPO "
          "weight 0, T = 1) among the updates",
    statement=_statement,
    instances=vf.bandit_instances(
        TEMPERATURE, LEARNING_RATE,
        vf.Scalar(name="second_learning_rate", low=2.0**-6, high=32.0, grid=(1, Fraction(1, 4)),
                  range=vf.POSITIVE),
        vf.Scalar(name="grpo_weight", low=0.01, high=10.0, grid=(1,), range=vf.Range(low=0)),
        actions=(2, 6),
    ),
    witnesses=({"weights": [1, 2, 3], "correct": [True, False, False], "temperature": 1,
                "learning_rate": 1, "second_learning_rate": Fraction(1, 2), "grpo_weight": 0},),
    mutants=(
        vf.Mutant(name="half of the step sizes suffice", statement=vf.variant(
            _statement, margin=lambda i: _room(i, spent=lambda i: _spent(i) / 2))),
    ),
)
