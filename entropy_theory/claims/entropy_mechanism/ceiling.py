r"""Entropy Mechanism: performance saturates when entropy is used up, at the ceiling :math:`R = b - a`,
:math:`H = 0`.

It is read for one prompt under the exact policy gradient. The law through two early policies announces
a ceiling at :math:`H = 0`. The run should stay below it, judged after two more steps of eight times the
size. The ceiling should also be a performance (at most 1). Both have a slack of 5 points.

It fails in both directions. The law's slope at :math:`H = 0` is -a, while the exact curve of one right
answer ends flat, :math:`dR/de^H \to 0`. Fitted to the first 15 % of the gain, the law announces 3.64
for :math:`n = 2` and 0.19 for :math:`n = 100{,}000`. The truth is 1 for all n. With :math:`m > 1` right
answers, performance 1 is compatible with every entropy from 0 to log m.

The repair is exact and tight. At zero entropy each prompt is either all right or all wrong:

.. math::

    \min(R, 1 - R) \le H / (2 \log 2).

Averaged over prompts, performance at zero entropy is the share of prompts that have settled on a
right answer. It can be any number from 0 to 1, and an early stretch of the curve does not contain
it.
"""

from dataclasses import dataclass

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.entropy_mechanism.one_right_answer import (
    failure,
    gradient_step,
    performance,
    perplexity,
)
from entropy_theory.performance_law import law
from entropy_theory.verification import arithmetic as ar

LEARNING_RATE = vf.Scalar(name="learning_rate", low=0.05, high=8.0, grid=(1, 4), range=vf.POSITIVE)
LATER_STEPS = 2
LATER_SPEED = 8
"""Learning rate of the later steps in units of the first one's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stretch:
    """The first two policies of a run and its performance some steps later."""

    x0: ar.Reals
    x1: ar.Reals
    r0: ar.Reals
    r1: ar.Reals
    later: ar.Reals


def _stretch(i: vf.Cases) -> _Stretch:
    path = [i.logits]
    for speed in (1, *(LATER_SPEED,) * LATER_STEPS):
        step = gradient_step(path[-1], i.correct)
        path.append(path[-1] + speed * ar.per_action(i.learning_rate) * step)
    return _Stretch(
        x0=perplexity(path[0]), x1=perplexity(path[1]), r0=performance(path[0], i.correct),
        r1=performance(path[1], i.correct), later=performance(path[-1], i.correct))


def _misses(i: vf.Cases) -> ar.Reals:
    """``(x0 - x1)(c + 1/20 - R later)`` and ``(x0 - x1)(1 + 1/20 - c)``, with c the announced
    ceiling.
    """
    s = _stretch(i)
    fall = s.x0 - s.x1
    ceiling = s.r1 * fall + (s.r1 - s.r0) * (s.x1 - 1)  # times the fall
    slack = fall / 20
    return np.stack([ceiling + slack - s.later * fall, fall + slack - ceiling], axis=-1)


def _smaller_share(i: vf.Cases) -> ar.Reals:
    return ar.minimum(performance(i.logits, i.correct), failure(i.logits, i.correct))


# ------------------------------------------------------------------ early fits

EARLY = 0.15


def early_ceilings() -> dict[int, float]:
    """b - a fitted to the first 15 % of the gain from 1/n to 1 on the exact curve, by n; truth is 1."""
    found = {}
    for n in (2, 3, 5, 10, 100, 1000, 100_000):
        right = np.linspace(1 / n, 1 / n + EARLY * (1 - 1 / n), 301)
        found[n] = law.fit(law.one_right_answer_entropy(right, n), right).ceiling
    return found


def _early_fits() -> tuple[bool, str]:
    found = early_ceilings()
    shown = found[2] > 3.5 and found[100_000] < 0.2 and all(abs(c - 1) > 0.4 for c in found.values())
    return shown, ", ".join(f"n = {n}: {c:.2f}" for n, c in found.items())


def _fall(i: vf.Cases) -> ar.Reals:
    step = ar.per_action(i.learning_rate) * gradient_step(i.logits, i.correct)
    return -ar.entropy_change(i.logits, step)


_entropy_falls = vf.Condition(latex="entropy falls from the first policy to the second", value=_fall)

ceiling = vf.Claim(
    id="entropy-mechanism.ceiling",
    source="Entropy Mechanism, the ceiling at H = 0",
    reading=vf.Reading(
        "inferred", r"The ceiling of RL is pre-determined ($\mathcal{H} = 0, R = -a + b$)",
        "slide 'What does this function implicate?', of a law over many prompts; one prompt and the "
        "early policies are ours"),
    title="Performance saturates at b - a when entropy reaches zero",
    scope="one tabular state, exact expectation, along 3 steps; the repair for any policy",
    statement=vf.Statement(
        latex=r"Performance saturates at $b - a$, the value at $\mathcal H = 0$ of the law through two "
              r"early policies of an exact run: $R \le b - a$ later on (after two steps of eight times "
              r"the size) and $b - a \le 1$, within 0.05.",
        margin=_misses,
        conditions=(_entropy_falls,),
    ),
    repair=vf.Statement(
        latex=r"At entropy $\mathcal H$ a prompt is nearly all right or all wrong: "
              r"$\min(R, 1 - R) \le \mathcal H/(2\log 2)$.",
        # H - 2 log 2 min(R, 1 - R).
        margin=lambda i: ar.entropy(i.logits) - 2 * ar.log_of(2, like=i.logits) * _smaller_share(i),
    ),
    repair_note="zero entropy makes each prompt right or wrong; which, the law does not say",
    instances=vf.bandit_instances(LEARNING_RATE, actions=(2, 5)),
    witnesses=(
        # A ceiling of 2.55 from two equal answers; one of 0.74 among 20 answers, which the run passes.
        {"weights": [1, 1], "correct": [True, False], "learning_rate": 1},
        {"weights": [8] + [1] * 19, "correct": [True] + [False] * 19, "learning_rate": 1},
    ),
    experiments=(
        vf.experiment("early fits", "fitted to the first 15 % of the gain on exact curves of one right "
                      "answer, every b - a for n from 2 to 100,000 is off the true 1 by more than 0.4",
                      _early_fits),
    ),
    mutants=(
        vf.mutant("success means low entropy (H <= 2 (1 - R))",
                  margin=lambda i: 2 * failure(i.logits, i.correct) - ar.entropy(i.logits)),
    ),
)
