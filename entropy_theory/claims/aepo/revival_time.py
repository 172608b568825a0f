r"""AEPO, Section 4.1: high temperature counteracts a collapse. True, after a time like :math:`e^{D/T}`.

On the solved face all m answers are right. With :math:`q = \operatorname{softmax}(z)` and
:math:`q^T = \operatorname{softmax}(z/T)` the step is :math:`dz = \eta (q^T - q)` with :math:`T > 1` and
:math:`\eta \le 2`. Let D be the gap between the logits of the likeliest answer and the next, and
:math:`V = e^{D/T}`. At every step and for any m,

.. math::

    z_1 - z_a \text{ falls by at most } 2 \eta (m - 1) / V,\quad \text{ so } V \text{ falls by at most }
    2 \eta (m - 1)/T.

For :math:`m = 2` it also falls by at least :math:`\eta c(D)/(T + \eta)`. Here :math:`c(D) = 2 (1 -
e^{-D(1 - 1/T)}) / ((1 + e^{-D/T})(1 + e^{-D}))`, which increases with D. So the number N of steps from
the gap D down to :math:`D_N` obeys

.. math::

    T/(2 \eta) (e^{D/T} - e^{D_N/T}) \le N \le (T + \eta)/(\eta c(D_N)) (e^{D/T} - e^{D_N/T}).

A policy that collapsed does revive, after a time exponential in its log-odds over
:math:`T_{\text{high}}`.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import HIGH_TEMPERATURE
from entropy_theory.claims.extensions.long_runs import constant, entropies, steps_to
from entropy_theory.claims.extensions.solved_face import (
    face_step,
    speed,
    speeds,
    two_answer_entropy,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula import limits


def slowness(gap: ar.Reals | ar.Real, temperature: ar.Reals | ar.Real) -> ar.Reals:
    """c(D) = f_T(D) e^{D/T}."""
    return speed(gap, temperature) * np.exp(gap / temperature)


@vf.definition
def slownesses(gaps: ar.Reals, temperature: ar.Reals) -> ar.Reals:
    """c(D) = f_T(D) e^{D/T} for many gaps D."""
    return speeds(gaps, temperature) * np.exp(gaps / ar.per_action(temperature))


@vf.definition
def gaps_below_top(logits: ar.Reals) -> ar.Reals:
    """How far each logit is below the largest: gaps D of two answers."""
    return ar.per_action(ar.largest(logits)) - logits


@vf.definition
def after_step(gaps: ar.Reals, temperature: ar.Reals, learning_rate: ar.Reals) -> ar.Reals:
    """D' = D - eta f_T(D), the gap of two right answers after a step."""
    return gaps - ar.per_action(learning_rate) * speeds(gaps, temperature)


@vf.definition
def others_weight(logits: ar.Reals, temperature: ar.Reals) -> ar.Reals:
    """W, the sum of e^{-(z_1 - z_a)/T} over all answers a but the likeliest, 1."""
    depth = gaps_below_top(logits) / ar.per_action(temperature)
    return ar.total(np.exp(-depth)) - 1


def _slowest(i: vf.Cases) -> ar.Reals:
    """2 W minus the fall of z_a - z_b per unit learning rate, for all pairs."""
    step = face_step(i.logits, i.temperature)
    fall = step[..., None, :] - step[..., :, None]
    limit = 2 * others_weight(i.logits, i.temperature)
    return limit[..., None, None] - fall


def _both_bounds(i: vf.Cases) -> list[ar.Reals]:
    """Room in both bounds on one step of two answers, divided by e^{D/T}."""
    temperature, rate = ar.per_action(i.temperature), ar.per_action(i.learning_rate)
    gaps = gaps_below_top(i.logits)
    scale, moved = np.exp(-gaps / temperature), after_step(gaps, i.temperature, i.learning_rate)
    loss = -np.expm1(-(gaps - moved) / temperature)
    least = rate * slownesses(moved, i.temperature) / (temperature + rate)
    return [2 * rate / temperature * scale - loss, loss - least * scale]


def _any_number_of_steps(i: Any) -> tuple[vf.Term, ...]:
    """Both bounds on the number N of steps from D to D_N."""
    temperature, rate = ar.per_action(i.temperature), ar.per_action(i.learning_rate)
    start = gaps_below_top(i.logits)

    def both(count: vf.Term) -> vf.Term:
        steps = ar.per_action(limits.number_of(count))
        here = limits.run(lambda j, d: after_step(d, i.temperature, i.learning_rate), start, count)
        fall = np.exp(start / temperature) - np.exp(here / temperature)
        slow = rate * slownesses(here, i.temperature)
        return np.all((here >= 0) & (temperature / (2 * rate) * fall <= steps)
                      & (steps * slow <= (temperature + rate) * fall), axis=-1)

    return (limits.at_every_step(both),)


def _known_times() -> tuple[bool, str]:
    """Steps from gaps 4, 6, 8 up to H = 0.35 at T = 1.25, eta = 0.5."""
    found, shown = [], True
    for gap, known in ((4.0, 59), (6.0, 252), (8.0, 1043)):
        path = entropies((gap, 0.0), (True, True), constant(1.25), steps=known + 1)
        steps = steps_to(path, 0.35)
        last = _gap_of(path[steps - 1])
        fall = np.exp(gap / 1.25) - np.exp(last / 1.25)
        low = 1.25 / (2 * 0.5) * fall
        high = 1.75 / (0.5 * float(slowness(np.float64(last), np.float64(1.25)))) * fall
        shown = shown and steps == known and low <= steps - 1 <= high
        found.append(f"D={gap:.0f}: {steps} (bounds {low:.0f} to {high:.0f}; e^(D/T) = "
                     f"{np.exp(gap / 1.25):.0f})")
    return shown, "steps to H >= 0.35 at T = 1.25, eta = 0.5: " + ", ".join(found)


def _gap_of(entropy: float) -> float:
    low, high = 0.0, 60.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if two_answer_entropy(np.float64(middle)) > entropy else (low, middle)
    return low


revival_time = vf.Claim(
    id="aepo.revival-time",
    source="AEPO, Section 4.1 (collapse can be counteracted) and Figure 2",
    reading=vf.Reading(
        "inferred",
        "if the policy entropy begins to collapse during training, we can counteract this downward "
        "trend", "Section 4.1, which gives no time"),
    title="The gap of two right answers closes in a time like exp(D/T) (solved tabular state)",
    scope="one tabular state on which every action is right, exact expectation, one step; every step "
          "of the gap of two answers",
    statement=vf.Statement(
        latex="On the solved face, for $T > 1$: a step moves no difference of two logits by more than "
              r"$2\eta W$, $W = \sum_a e^{-(z_1 - z_a)/T} - 1$. The gap of two answers follows $D' = D - "
              r"\eta f_T(D)$; for $\eta \le 2$ the number $N$ of steps from the gap $D$ to $D_N$ obeys "
              r"$\frac{T}{2\eta}(e^{D/T} - e^{D_N/T}) \le N$ and $N\,\eta\,c(D_N) \le (T+\eta)(e^{D/T} - "
              r"e^{D_N/T})$, $c(D) = f_T(D)\,e^{D/T}$.",
        margin=lambda i: np.stack([_slowest(i), *_both_bounds(i)], axis=-1),
        beyond=_any_number_of_steps,
    ),
    instances=vf.bandit_instances(
        HIGH_TEMPERATURE,
        vf.Scalar(name="learning_rate", low=0.01, high=2.0, grid=(1, Fraction(1, 2), 2),
                  range=vf.Range(low=0, open_low=True, high=2)),
        actions=(2, 6), correct=False,
    ),
    experiments=(vf.experiment("times from gaps 4, 6 and 8", "exact runs revive within the bounds",
                               _known_times),),
    mutants=(
        vf.mutant("revival below T = 1 too", margin=lambda i: np.stack(_both_bounds(i), axis=-1),
                  instances=vf.bandit_instances(
                      vf.Scalar(name="temperature", low=0.6, high=0.95, grid=(Fraction(3, 4),),
                                range=vf.POSITIVE),
                      vf.Scalar(name="learning_rate", low=0.01, high=2.0, grid=(1,), range=vf.POSITIVE),
                      actions=(2, 6), correct=False)),
    ),
)
