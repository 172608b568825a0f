r"""AEPO, section 4.2: tempered REINFORCE as "a unidirectional signal toward higher-quality
behavior".

The reward is :math:`p = \pi(A^*)`. The statement is :math:`p' \ge p` after an expected step, at every
temperature and learning rate. The expected step :math:`d = 1_{A^*} \pi^T - P_T \pi` with
:math:`P_T = \pi^T(A^*)` moves p at the rate :math:`\langle \nabla p, d\rangle`. With :math:`q^T` and q
the policies :math:`\pi^T` and :math:`\pi` given :math:`A^*`,

.. math::

    \langle \nabla p, d\rangle = p P_T \{ (1 - p)(\langle q, q^T\rangle - p \langle q, q\rangle) +
    \sum_{\text{wrong}} \pi^2 \}.

As printed it is false. The samples are not drawn from the policy that is improved. For :math:`T > 1`
the likeliest right answers can lose more than the others gain, and the reward falls, already to first
order. At :math:`T = 6/5` this takes a policy that is nearly done, such as (1, 6, 53) with
:math:`A^* = \{2, 3\}`.

The repair is exact for any learning rate. If some action is wrong, p rises strictly under either of two
conditions: :math:`T \le 1`, or :math:`p |A^*| \sum_{A^*} q^2 \le 1`. The second holds at every T if
there is one right answer, or the right answers are equally likely, or :math:`p \le 1/|A^*|`.

In the step the wrong logits all fall. The mean of d over :math:`A^*`, :math:`\mathbb E_q d = P_T
(\langle q, q^T\rangle - p \langle q, q\rangle)`, is not negative. By Chebyshev's sum inequality,
:math:`\langle q, q^T\rangle \ge \langle q, q\rangle` for :math:`T \le 1`, and
:math:`\langle q, q^T\rangle \ge 1/|A^*|` for every T. Jensen's inequality then gives
:math:`\mathbb E_q e^{\eta d} \ge 1`. In the long run :math:`p \to 1` at any temperatures above a
positive bound (`extension.entropy-ceiling`), so the fall is transient.
"""

from fractions import Fraction
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import LEARNING_RATE, unit_step
from entropy_theory.verification import arithmetic as ar

TEMPERATURES = vf.Scalar(
    name="temperature", low=0.05, high=20.0, grid=(10, 4, 2, Fraction(1, 2), Fraction(6, 5)),
    range=vf.POSITIVE
)


@vf.definition
def conditional(logits: ar.Reals, chosen: ar.Mask, temperature: ar.Reals | None = None) -> ar.Reals:
    """pi^T given that the action is one of the chosen; zero elsewhere."""
    depth = logits - ar.largest(logits, chosen)[..., None]
    if temperature is not None:
        depth = depth / ar.per_action(temperature)
    exponentials = np.where(chosen, np.exp(depth), 0 * depth)
    return exponentials / ar.total(exponentials)[..., None]


@vf.definition
def reward(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """p, the probability of a right answer."""
    return ar.total(ar.softmax(logits), correct)


def reward_rate(logits: ar.Reals, correct: ar.Mask, temperature: ar.Reals) -> ar.Reals:
    """<grad p, d> = Cov_pi(1_{A*}, d): first-order change of the reward per unit learning rate."""
    one = 0 * logits + ar.constant(1, like=logits)
    hit = np.where(correct, one, 0 * one)
    return ar.covariance(ar.softmax(logits), hit, unit_step(logits, correct, temperature))


@vf.definition
def mean_growth(logits: ar.Reals, chosen: ar.Mask, step: ar.Reals) -> ar.Reals:
    """E_q e^d - 1, with q the policy on the chosen actions: by how much their weight grows."""
    return ar.total(conditional(logits, chosen) * np.expm1(step))


def log_odds_change(i: vf.Cases) -> ar.Reals:
    """Change of ``log(p/(1 - p))`` in one step of any size:
    ``log E_q e^{eta d} - log E_W e^{eta d}``.
    """
    step = ar.per_action(i.learning_rate) * unit_step(i.logits, i.correct, i.temperature)
    return (np.log1p(mean_growth(i.logits, i.correct, step))
            - np.log1p(mean_growth(i.logits, ~i.correct, step)))


@vf.definition
def sum_of_squares(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """The sum of q^2 over the right answers."""
    return ar.total(conditional(logits, correct) ** 2)


def _concentration(i: vf.Cases) -> ar.Reals:
    """1 - p |A*| sum_{A*} q^2."""
    one = 0 * i.logits + ar.constant(1, like=i.logits)
    return 1 - (reward(i.logits, i.correct) * ar.total(one, i.correct)
                * sum_of_squares(i.logits, i.correct))


def _reward_rises(i: Any) -> tuple[vf.Term, ...]:
    step = ar.per_action(i.learning_rate) * unit_step(i.logits, i.correct, i.temperature)
    return (reward(i.logits, i.correct) < reward(i.logits + step, i.correct),)


KEEPS_ANSWERS = vf.Condition(
    latex=r"$T \le 1$, or $p\,|A^*| \sum_{A^*} q^2 \le 1$",
    value=lambda i: ar.maximum(1 - i.temperature, _concentration(i)), relation=">=",
)


reward_improvement = vf.Claim(
    id="aepo.reward-improvement",
    source="AEPO, sections 1 and 4.2 (REINFORCE as regularization)",
    reading=vf.Reading(
        "precise",
        "produces an unidirectional optimization signal that guides the policy toward higher-quality "
        "behavior distributions", "Section 4.2"),
    title="REINFORCE on tempered samples improves the reward",
    scope="one tabular state, exact expectation, one step",
    statement=vf.Statement(
        latex=r"A step on tempered samples does not lower the reward: $p' \ge p$, for every $T$ and "
              r"every learning rate.",
        margin=log_odds_change,
        conditions=(vf.SOME_WRONG,),
    ),
    instances=vf.bandit_instances(TEMPERATURES, LEARNING_RATE),
    witnesses=(
        {"weights": [1, 1, 6], "correct": [True, False, True], "temperature": 10, "learning_rate": 1},
        # The smallest for three actions at the paper's own T_high = 6/5.
        {"weights": [1, 6, 53], "correct": [False, True, True], "temperature": Fraction(6, 5),
         "learning_rate": 1},
    ),
    repair=vf.Statement(
        latex=r"If some action is wrong, and $T \le 1$ or $p\,|\mathcal A^*|\sum_{\mathcal A^*} q^2 \le "
              r"1$, then $p' > p$ after the expected step, for every learning rate.",
        margin=log_odds_change,
        relation=">",
        conditions=(vf.SOME_WRONG, KEEPS_ANSWERS),
        beyond=_reward_rises,
    ),
    repair_is="hypothesis",
    repair_note=r"hypothesis $T \le 1$, or $p\,|A^*| \sum q^2 \le 1$ (one right answer; equally likely "
                r"ones; $p \le 1/|A^*|$); then for every learning rate",
    mutants=(
        vf.mutant("p <= 9/10 instead of p |A*| sum q^2 <= 1",
                  conditions=(
                      vf.SOME_WRONG,
                      vf.Condition(latex="p <= 9/10", value=lambda i: 9 - 10 * ar.total(
                          ar.softmax(i.logits), i.correct)),
                  )),
    ),
)
