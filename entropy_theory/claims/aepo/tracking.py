r"""AEPO, introduction: AEPO can approximate arbitrary functions of time. False: it has a speed
limit.

"Even theoretically capable of approximating" names neither a rate nor an error. Arbitrary functions
include steps, and we give eight update steps to follow one. Any other number fails too, at a
smaller learning rate.

The setting is one state and exact expected steps with GRPO of weight :math:`\kappa` and
:math:`\alpha = 1`. Whatever the temperatures,

.. math::

    |\log H_{k+1} - \log H_k| \le 2 \eta (\kappa + 1).

So at a given learning rate AEPO cannot follow a faster function, such as a jump. At no learning rate
can it follow a value above :math:`\log|A^*|` (`extension.entropy-ceiling`). The bound holds for every
softmax policy: along a logit step of range rho, :math:`|dH/ds| = |\operatorname{Cov}(\log \pi, dz)| \le
\rho H`.

The repair is on the solved face with two answers, for :math:`T = 1.25/0.8` and :math:`\eta \le 2`. The
target's log-odds :math:`D^*` move per step by at most :math:`\delta`. With
:math:`s_k = \eta |f_T(D_k)|`, the step that temperature allows at :math:`D_k`, the error
:math:`e_k = |D_k - D^*_k|` obeys

.. math::

    e_{k+1} \le \max(e_k - s_k, \eta/8) + \delta.

So a target below log 2 that is slower than :math:`s_k` is followed within
:math:`\max(e_0, \eta/8 + \delta)`, and the entropy within a quarter of that.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.entropy_ceiling import after_step, ceiling
from entropy_theory.claims.extensions.long_runs import entropies, switch
from entropy_theory.claims.extensions.solved_face import (
    logit_range,
    speed,
    switch_temperature,
    two_answer_entropy,
)
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import for_every

STEPS = 8
TEMPERATURE = vf.Scalar(name="temperature", low=0.05, high=20.0, grid=(Fraction(5, 4), Fraction(4, 5)),
                        range=vf.POSITIVE)
TARGET_GAP = vf.Scalar(name="target_gap", low=0.05, high=6.0, grid=(1, 2),
                       range=vf.POSITIVE)
LEARNING_RATE = vf.Scalar(name="learning_rate", low=0.01, high=2.0, grid=(Fraction(1, 100), 1),
                          range=vf.POSITIVE)
GRPO_WEIGHT = vf.Scalar(name="grpo_weight", low=0.01, high=4.0, grid=(1,), range=vf.POSITIVE)
DRIFT = vf.Scalar(name="drift", low=0.001, high=0.5, grid=(Fraction(1, 10),), range=vf.POSITIVE)


def _reach(i: vf.Cases) -> ar.Reals:
    """Room between 0.9 and 1.1 of the target and what eight steps can reach from here."""
    now, target = ar.entropy(i.logits), two_answer_entropy(i.target_gap)
    most = np.exp(2 * STEPS * i.learning_rate * (i.grpo_weight + 1))
    highest = ar.minimum(most * now, ceiling(i.logits, i.correct))
    return np.stack([highest - 9 * target / 10, 11 * target / 10 - now / most], axis=-1)


def _speed_limit(i: vf.Cases) -> list[ar.Reals]:
    """``e^rho H - H'`` and ``e^rho H' - H``, with ``rho = 2 eta (kappa + 1)``."""
    now = ar.entropy(i.logits)
    then = ar.entropy(after_step(i.logits, i.correct, i.temperature, i.grpo_weight, i.learning_rate))
    most = np.exp(2 * i.learning_rate * (i.grpo_weight + 1))
    return [most * now - then, most * then - now]


@vf.definition
def switched_speed(gap: ar.Reals, target_gap: ar.Reals) -> ar.Reals:
    """f_T(D) at the temperature of the switch."""
    is_low = ar.less(two_answer_entropy(gap), two_answer_entropy(target_gap))
    return speed(gap, switch_temperature(is_low, gap))


def _tracking(i: vf.Cases, drift: int = 1) -> ar.Reals:
    """max(e - s, eta/8) + drift * delta - e'."""
    # Two right answers whose logits differ by the range of the instance's.
    gap, target = logit_range(i.logits), i.target_gap
    move = i.learning_rate * switched_speed(gap, target)
    bound = ar.maximum(np.abs(gap - target) - np.abs(move), i.learning_rate / 8)
    # The target moves away by delta, the worse of its two directions: delta stands on both sides.
    return bound - np.abs(gap - move - target) + (drift - 1) * i.drift


def _follows_slow_targets(i: Any) -> tuple[vf.Term, ...]:
    """Whatever target follows, at most delta away: e' <= max(e - s, eta/8) + delta."""
    gap, target = logit_range(i.logits), i.target_gap
    move = i.learning_rate * switched_speed(gap, target)
    bound = ar.maximum(np.abs(gap - target) - np.abs(move), i.learning_rate / 8)
    return (for_every(
        "next_target", (), lambda following: np.abs(gap - move - following) <= bound + i.drift,
        given=lambda following: np.abs(following - target) <= i.drift),)


def _follows() -> tuple[bool, str]:
    start = np.log([6.0, 4.0, 0.02, 0.02])
    right = (1, 1, 0, 0)

    def worst(target: Callable[[int], float], since: int = 60, jump: int = 400) -> float:
        path = entropies(start, right, switch(target), steps=400)
        return max(abs(h - target(k)) for k, h in enumerate(path[:400])
                   if k >= since and not jump <= k < jump + 60)

    errors = {
        "step .2 to .5 (60 steps after it)": worst(lambda k: 0.2 if k < 200 else 0.5, jump=200),
        "ramp .2 to .6": worst(lambda k: 0.2 + 0.001 * k),
        "sine .4 +- .15, period 200": worst(lambda k: 0.4 + 0.15 * float(np.sin(np.pi * k / 100))),
    }
    fast = worst(lambda k: 0.4 + 0.15 * float(np.sin(np.pi * k / 4)))
    above = worst(lambda k: 1.0)
    found = [f"{name}: {error:.3f}" for name, error in errors.items()]
    shown = max(errors.values()) < 0.035 and fast > 0.1 and above > 0.25
    return shown, (f"largest error, eta 0.5, two right answers of four: {', '.join(found)}; sine "
                   f"of period 8: {fast:.3f}; constant 1.0, above log 2: {above:.3f}")


tracking = vf.Claim(
    id="aepo.tracking",
    source="AEPO, Section 1 (approximating arbitrary functions)",
    reading=vf.Reading(
        "inferred", "is even theoretically capable of approximating arbitrary functions",
        "Section 1; the eight steps and the 10 % are ours"),
    title="Entropy can follow a step function within eight steps (one tabular state)",
    scope="one tabular state, exact expectation, along 8 steps; the repair for one step, of a solved "
          "state with two answers",
    statement=vf.Statement(
        latex=r"From every start some temperatures bring the entropy within 10 % of any value below "
              r"$\log 2$ in eight steps (as a step function asks for); judged by two bounds on what "
              r"they reach: a factor $e^{2\eta(\kappa + 1)}$ per step, and the ceiling of all later "
              r"entropies.",
        margin=_reach,
        conditions=(vf.SOME_WRONG,),
    ),
    instances=vf.bandit_instances(TEMPERATURE, TARGET_GAP, LEARNING_RATE, GRPO_WEIGHT, DRIFT,
                                  actions=(2, 5)),
    repair=vf.Statement(
        latex=r"$|\log H_{k+1} - \log H_k| \le 2\eta(\kappa + 1)$ at any temperature ($\alpha = 1$). "
              r"For the gap $D' = D - \eta f_T(D)$ of two right answers, $T = 1.25$ or $0.8$ by the "
              r"switch, and a target gap $D^*$ that moves by at most $\delta$: $e_{k+1} \le \max(e_k - "
              r"s_k, \frac\eta8) + \delta$, $e = |D - D^*|$, $s_k = \eta|f_T(D_k)|$.",
        margin=lambda i: np.stack([*_speed_limit(i), _tracking(i)], axis=-1),
        beyond=_follows_slow_targets,
    ),
    repair_note=r"one step changes $\log H$ by at most $2\eta(\kappa + 1)$; on a solved state with two "
                "answers it bounds how far a moving target is missed",
    experiments=(vf.experiment(
        "step, ramp, sine",
        "slow targets below log 2 are followed, a fast sine and a target above log 2 are not",
        _follows),),
    mutants=(
        vf.mutant("the error does not feel the target's motion", margin=lambda i: _tracking(i, drift=0)),
    ),
)
