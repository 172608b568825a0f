r"""Extension: the effect on the reward of an entropy held by the diverse bonus.

At one state with 0/1 rewards, g is the gradient of the reward :math:`p = \pi(A^*)` and h that of the
entropy. The step of the bonus on the entropy among right answers is b (`extension.diverse-bonus`). Hold
the entropy to first order by the bonus's coefficient,

.. math::

    \text{step } = g + c b,\quad c = -\langle h, g\rangle/\langle h, b\rangle.

The reward then moves at the rate :math:`G/\langle h, b\rangle` with :math:`G = |g|^2 \langle h,
b\rangle - \langle h, g\rangle \langle g, b\rangle`. Let q be :math:`\pi` given a right answer, v be
:math:`\pi` given a wrong one, :math:`u = \log q + H(q)` and :math:`w = \log v + H(v)`. Then G is never
negative:

.. math::

    G = p^3 (1 - p)^2 \{ p X + p \sum v^2 \sum q^2 u^2 + (1 - p) \sum q^2 u \sum v^2 w \},

    X = \sum q^2 \sum q^2 u^2 - (\sum q^2 u)^2 \ge 0 \quad\text{(Cauchy-Schwarz)}.

Here :math:`\sum q^2 u = \operatorname{Cov}_q(q, \log q) \ge 0`, and so for v. So the sign of
:math:`\langle h, b\rangle` decides. Where a unit of the bonus raises the full entropy, the reward never
falls while the entropy is held. It rises at every policy that has a wrong answer, so this hold rests
only where all answers are right. The bonus can lower the full entropy where wrong answers are likelier
than right ones. There the same hold never raises the reward.

Several prompts under one coefficient are held on the mean alone, and the reward can fall. The bonus
pays at one prompt, in reward, for the entropy that learning costs at another. The least number of
answers is two and three. The bonus raises entropy only where two right answers differ, and costs only
beside a wrong one. An example with :math:`c = 15` has one right of (2, 1) and two right of (1, 9, 16),
the right ones first. With more answers smaller coefficients are enough, such as 1.2 with twenty at each
prompt. With a coefficient for each prompt, the first statement holds for every prompt.
"""

from typing import Any, TypeAlias

import numpy as np

from entropy_theory import policy
from entropy_theory import verification as vf
from entropy_theory.claims.extensions.diverse_bonus import SOURCE, diverse_step, right_mass
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.limits import equal, has_derivative, implies


@vf.definition
def right_gradient(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """g, the gradient of p: pi_a (1 - p) at right answers, -pi_a p at wrong ones."""
    p, wrong = right_mass(logits, correct), right_mass(logits, ~correct)
    return ar.softmax(logits) * np.where(correct, ar.per_action(wrong), -ar.per_action(p))


@vf.definition
def learning(logits: ar.Reals, correct: ar.Mask) -> ar.Real:
    """|g|^2, the reward's rate along its gradient."""
    g = right_gradient(logits, correct)
    return ar.total(g * g)


@vf.definition
def entropy_of_learning(logits: ar.Reals, correct: ar.Mask) -> ar.Real:
    """<h, g>, the entropy's rate along the reward's gradient."""
    return ar.total(ar.entropy_gradient(logits) * right_gradient(logits, correct))


@vf.definition
def entropy_of_bonus(logits: ar.Reals, correct: ar.Mask) -> ar.Real:
    """<h, b>, what a unit of the bonus adds to the full entropy."""
    return ar.total(ar.entropy_gradient(logits) * diverse_step(logits, correct))


@vf.definition
def reward_of_bonus(logits: ar.Reals, correct: ar.Mask) -> ar.Real:
    """<g, b>, what a unit of the bonus adds to the reward: a price, never positive."""
    return ar.total(right_gradient(logits, correct) * diverse_step(logits, correct))


@vf.definition
def held_gain(logits: ar.Reals, correct: ar.Mask) -> ar.Real:
    """G = |g|^2 <h, b> - <h, g> <g, b>: the reward's rate while the entropy is held, times <h, b>."""
    return (learning(logits, correct) * entropy_of_bonus(logits, correct)
            - entropy_of_learning(logits, correct) * reward_of_bonus(logits, correct))


@vf.definition
def held_step(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """The reward's gradient and as much of the bonus as keeps the entropy to first order."""
    needed = -entropy_of_learning(logits, correct) / entropy_of_bonus(logits, correct)
    return right_gradient(logits, correct) + ar.per_action(needed) * diverse_step(logits, correct)


# ------------------------------------------------------------------ one prompt


def _along_the_hold(i: Any) -> tuple[vf.Term, ...]:
    """The rates of entropy and reward along the step, and the rest points of the reward."""
    z, right = i.logits, i.correct
    step, bonus = held_step(z, right), entropy_of_bonus(z, right)

    def moved(t: vf.Term) -> vf.Term:
        return z + ar.per_action(t) * step

    able = bonus * bonus > 0
    rate = held_gain(z, right) / bonus
    return (
        implies(able, has_derivative(lambda t: ar.entropy(moved(t)), 0, 0)),
        implies(able, has_derivative(lambda t: right_mass(moved(t), right), 0, rate)),
        implies((bonus > 0) & equal(rate, 0), np.all(right, axis=-1)),
    )


level_set_diverse_bonus = vf.Claim(
    id="extension.level-set-diverse-bonus",
    source=SOURCE,
    title="Along a level set of entropy held by the diverse bonus, which raises it, reward never falls",
    scope="one tabular state, 0/1 rewards, plain gradient, first order",
    statement=vf.Statement(
        latex=r"Let $g=\nabla p$, $h=\nabla\mathcal H$ and $b_a=\pi_a x_a$ the diverse bonus. $\lVert "
              r"g\rVert^2\langle h,b\rangle - \langle h,g\rangle\langle g,b\rangle \ge 0$; over "
              r"$\langle h,b\rangle$ it is the reward's rate along $g+cb$ with $\langle "
              r"h,g+cb\rangle=0$. Where the bonus raises entropy the reward never falls, and it rises "
              r"unless all answers are right.",
        margin=lambda i: held_gain(i.logits, i.correct),
        beyond=_along_the_hold,
    ),
    instances=vf.bandit_instances(),
    mutants=(
        vf.mutant("also where the bonus lowers the entropy", beyond=None,
                  margin=lambda i: entropy_of_bonus(i.logits, i.correct)
                  * held_gain(i.logits, i.correct)),
    ),
)

# ------------------------------------------------------------------ two prompts, one coefficient

OTHER = vf.Vector(name="other", low=-4.0, high=4.0, grid=(0, 3, -3), range=vf.ANY)
"""The logits of another prompt, whose right answers are the same."""

BONUS_RAISES_ENTROPY = vf.Condition(
    latex=r"$\langle h_1,b_1\rangle+\langle h_2,b_2\rangle > 0$",
    value=lambda i: entropy_of_bonus(i.logits, i.correct) + entropy_of_bonus(i.other, i.correct),
)


def _joint_gain(i: vf.Cases) -> ar.Reals:
    """The reward's rate over both prompts while their mean entropy is held, times sum <h, b>."""
    learned, cost, raised, price = (
        rate(i.logits, i.correct) + rate(i.other, i.correct)
        for rate in (learning, entropy_of_learning, entropy_of_bonus, reward_of_bonus))
    return learned * raised - cost * price


def _gain_of_the_sharper(i: vf.Cases) -> ar.Reals:
    """One prompt's learning and price against what the bonus does to the other's entropy."""
    return (learning(i.logits, i.correct) * entropy_of_bonus(i.other, i.correct)
            - entropy_of_learning(i.logits, i.correct) * reward_of_bonus(i.other, i.correct))


Prompts: TypeAlias = tuple[tuple[tuple[int, ...], int], ...]
"""Weights of a prompt's answers, and how many of them, the first ones, are right; for each prompt."""

FEWEST: Prompts = (((2, 1), 1), ((1, 9, 16), 2))
TWENTY: Prompts = (((100, *[1] * 19), 1), ((30, *[1] * 11, *[6] * 8), 12))


def held_together(prompts: Prompts) -> tuple[float, float, float]:
    """(what a unit of the bonus adds to the sum of entropies, c, the reward's rate over sum |g|^2)."""
    rates = np.zeros(4)
    for weights, count in prompts:
        p, right = np.array(weights) / sum(weights), np.arange(len(weights)) < count
        q = np.where(right, p, 0) / p[right].sum()
        g, h = p * (right - p[right].sum()), -p * (np.log(p) + policy.entropy(np.log(p)))
        b = p * np.where(right, q @ np.log(p) - np.log(p), 0)
        rates += [g @ g, h @ g, h @ b, g @ b]
    learned, cost, raised, price = map(float, rates)
    return raised, -cost / raised, 1 - cost * price / raised / learned


def _falls(prompts: Prompts, coefficient_below: float) -> tuple[bool, str]:
    raised, coefficient, share = held_together(prompts)
    return raised > 1e-5 and 0 < coefficient < coefficient_below and share < -0.05, (
        f"c = {coefficient:.2f}, a unit of the bonus adds {raised:.4f} nats, the reward's rate is "
        f"{share:.3f} times |g|^2")


level_set_one_coefficient = vf.Claim(
    id="extension.level-set-one-coefficient",
    source=SOURCE,
    title="Held by one coefficient of the diverse bonus over several prompts, reward never falls",
    scope="two tabular states with the same right answers, 0/1 rewards, plain gradient, first order",
    statement=vf.Statement(
        latex=r"Two prompts, one coefficient $c$ with $\sum_m\langle h_m,g_m+cb_m\rangle=0$: the mean "
              r"reward does not fall to first order.",
        margin=_joint_gain,
        conditions=(BONUS_RAISES_ENTROPY,),
    ),
    instances=vf.bandit_instances(actions=(2, 4), vectors=(OTHER,)),
    repair=vf.Statement(
        latex=r"$\lVert g_m\rVert^2\langle h_m,b_m\rangle - "
              r"\langle h_m,g_m\rangle\langle g_m,b_m\rangle \ge 0$ at each of the two prompts: by "
              r"extension.level-set-diverse-bonus, what the reward gains where a coefficient of its own "
              r"holds the prompt's entropy, times $\langle h_m,b_m\rangle$.",
        margin=lambda i: (
            np.stack([held_gain(i.logits, i.correct), held_gain(i.other, i.correct)], axis=-1)),
    ),
    repair_note="with a coefficient for each prompt the gain of each, times what the bonus adds to its "
                "entropy, is not below 0",
    experiments=(
        vf.experiment("the fewest answers", "with one right answer of 2:1 and two right of 1:9:16, a "
                      "coefficient below 16 holds the mean entropy, and the reward falls",
                      lambda: _falls(FEWEST, 16)),
        vf.experiment("a usual coefficient", "twenty answers at each prompt: so it does for one of 1.25",
                      lambda: _falls(TWENTY, 1.25)),
    ),
    mutants=(
        vf.mutant("the learning of one against the price at the other", margin=_gain_of_the_sharper),
    ),
)
