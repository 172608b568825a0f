r"""Extension of AEPO, section 3.1: mean and variance of a sampled group's policy gradient.

A group has G independent responses :math:`a_i` of one state with rewards :math:`r(a_i)`. There are
three advantages :math:`A_i`: the reward itself, the reward less the group's mean (GRPO without the
division, Dr. GRPO), or less the mean of the other members (leave-one-out, RLOO). The estimate is
:math:`g = (1/G) \sum_i A_i (\delta_{a_i} - \pi)`. Take any direction u of the logits, with
:math:`x = u - \mathbb E u`, :math:`y = r - \mathbb E r` and :math:`c = \operatorname{Cov}(r, u)`, the
slope of the expected reward along u. Exactly, and for any rewards,

.. math::

    \mathbb E\langle g, u\rangle = c \text{ without a baseline and leave-one-out},

    \mathbb E\langle g, u\rangle = (1 - 1/G) c \text{ with the group's mean}.

With :math:`u = \nabla H` the expected first-order change of entropy is the exact one times this factor.
A group of one has its reward as mean, and the estimate is 0. The variances of
:math:`\langle g, u\rangle` are

.. math::

    \text{without a baseline}\quad \operatorname{Var}(r x)/G,

    \text{leave-one-out}\quad \operatorname{Var}(y x)/G + (\operatorname{Var} r \operatorname{Var} u +
    c^2)/(G (G - 1)),

    \text{the group's mean}\quad (1 - 1/G)^2 \text{ times the one before}.

In the second line, the first part is the variance under the exact baseline E r. The second is the
cost of estimating the baseline from the other members. Take two answers, one of them right with
probability p, and rewards 1 and 0. Leave-one-out has the lower variance where

.. math::

    p < 2 (G - 2)/(3 G - 5),

and the higher one above that, in every direction. In groups of two it is higher at every p, and above
:math:`p = 2/3` it is higher in groups of every size.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.group_normalization_gain import whole
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.functions import operation
from entropy_theory.verification.formula.limits import (
    at_every_step,
    equal,
    has_derivative,
    implies,
    number_of,
)

SIZES = (2, 3)
TWO_ANSWERS_SIZES = (2, 3, 4)
"""Sizes of the groups that are enumerated, n^G of them."""
REWARD = vf.Vector(name="reward", low=-2.0, high=2.0, grid=(0, 1, -1), range=vf.ANY)
DIRECTION = vf.Vector(name="direction", low=-2.0, high=2.0, grid=(0, 1, -1), range=vf.ANY)
ESTIMATE = (r"From $G$ independent samples $a_i$ with rewards $r_i = r(a_i)$ and advantages $A_i$ let "
            r"$g = \frac1G\sum_i A_i(\delta_{a_i} - \pi)$. ")

INSTANCES = dataclasses.replace(
    vf.bandit_instances(actions=(2, 3), correct=False, vectors=(REWARD, DIRECTION)), large=())

Moment = Callable[[ar.Reals, ar.Reals, ar.Reals, Any], ar.Reals]
"""Takes logits, rewards, u and G, and returns the mean or the variance of <g, u>, [instances]."""


def _moment(name: str, advantages: Callable[[ar.Reals], ar.Reals]) -> Moment:
    """A moment of <g, u> over all n^G groups, from the advantages of rewards [..., groups, G]."""

    def moment(logits: ar.Reals, reward: ar.Reals, direction: ar.Reals, group_size: Any) -> ar.Reals:
        size, policy = whole(group_size), ar.softmax(logits)
        groups = np.array(list(itertools.product(range(logits.shape[-1]), repeat=size)))
        chance = np.prod(policy[..., groups], axis=-1)
        along = ar.centered(policy, direction)[..., groups]
        estimate = np.sum(advantages(reward[..., groups]) * along, axis=-1) / size
        mean = np.sum(chance * estimate, axis=-1)
        if name.startswith("mean"):
            return mean
        return np.sum(chance * (estimate - mean[..., None]) ** 2, axis=-1)

    moment.__name__ = name
    made: Moment = operation(lambda logits, reward, direction, group_size: logits.axes[:-1])(moment)
    return made


def _less_mean(rewards: ar.Reals) -> ar.Reals:
    return rewards - np.sum(rewards, axis=-1, keepdims=True) / rewards.shape[-1]


def _less_others(rewards: ar.Reals) -> ar.Reals:
    return rewards - (np.sum(rewards, axis=-1, keepdims=True) - rewards) / (rewards.shape[-1] - 1)


mean_without_baseline = _moment("mean_along_without_baseline", lambda rewards: rewards)
mean_with_group_mean = _moment("mean_along_with_group_mean", _less_mean)
mean_with_others = _moment("mean_along_with_mean_of_others", _less_others)
variance_without_baseline = _moment("variance_along_without_baseline", lambda rewards: rewards)
variance_with_group_mean = _moment("variance_along_with_group_mean", _less_mean)
variance_with_others = _moment("variance_along_with_mean_of_others", _less_others)


def _slope(i: Any, direction: ar.Reals) -> ar.Reals:
    """Cov(r, u): the slope of the expected reward along u."""
    return ar.covariance(ar.softmax(i.logits), i.reward, direction)


# ---------------------------------------------------------------- means


def _mean_rows(i: vf.Cases, biased: bool = True) -> ar.Reals:
    """Means along u minus what they should be, for a few group sizes."""
    slope = _slope(i, i.direction)
    rows = []
    for size in SIZES:
        rows += [moment(i.logits, i.reward, i.direction, size) - slope
                 for moment in (mean_without_baseline, mean_with_others)]
        rows.append(mean_with_group_mean(i.logits, i.reward, i.direction, size)
                    - (slope - slope / size if biased else slope))
    return np.stack(rows, axis=-1)


def _means_for_every_size(i: Any) -> tuple[vf.Term, ...]:
    """Say the same for groups of any size, and what is estimated: slopes of reward and of entropy."""
    slope = _slope(i, i.direction)
    policy, bend = ar.softmax(i.logits), ar.entropy_gradient(i.logits)
    gradient, rate = policy * ar.centered(policy, i.reward), _slope(i, bend)

    def unbiased(moment: Moment, least: int) -> vf.Term:
        return at_every_step(lambda size: implies(
            number_of(size) >= least, equal(moment(i.logits, i.reward, i.direction, size), slope)))

    def shrunk(direction: ar.Reals, exact: ar.Reals) -> vf.Term:
        return at_every_step(lambda size: implies(number_of(size) >= 1, equal(
            mean_with_group_mean(i.logits, i.reward, direction, size), exact - exact / number_of(size))))

    return (
        unbiased(mean_without_baseline, 1), unbiased(mean_with_others, 2), shrunk(i.direction, slope),
        has_derivative(
            lambda t: ar.mean(ar.softmax(i.logits + ar.per_action(t) * i.direction), i.reward), 0, slope),
        has_derivative(lambda t: ar.entropy(i.logits + ar.per_action(t) * gradient), 0, rate),
        shrunk(bend, rate),
    )


_means = vf.Statement(
    latex=ESTIMATE +
          r"Along every direction $u$ of the logits, without a baseline ($A_i = r_i$), $\mathbb E\langle "
          r"g, u\rangle = \mathrm{Cov}_\pi(r, u)$, the exact slope of $\mathbb E\,r$. The same holds if "
          r"$A_i$ is $r_i$ less the mean of the other members (leave-one-out), $G \ge 2$. If $A_i$ is "
          r"$r_i$ less the group's mean, $\mathbb E\langle g, u\rangle = (1 - \frac1G)\,"
          r"\mathrm{Cov}_\pi(r, u)$. With $u = \nabla H$, the expected first-order change of entropy is "
          r"the exact one times the same factor.",
    margin=_mean_rows,
    relation="==",
    beyond=_means_for_every_size,
)

sampled_group_mean = vf.Claim(
    id="extension.sampled-group-mean",
    source="Extension of AEPO, section 3.1 (a group's advantages)",
    title="Leave-one-out is unbiased; the group's own mean as baseline scales the expected gradient by "
          "1 - 1/G",
    scope="one tabular state, any reward for each action, groups of G independent samples, exact "
          "expectation",
    statement=_means,
    instances=INSTANCES,
    mutants=(
        vf.Mutant(name="a group's own mean leaves no factor",
                  statement=vf.variant(_means, margin=lambda i: _mean_rows(i, biased=False))),
    ),
)

# ---------------------------------------------------------------- variances


def _variances(i: Any, size: Any) -> tuple[ar.Reals, ar.Reals, ar.Reals]:
    """Without a baseline; less the mean reward of the policy; what estimating it from the others adds."""
    policy, slope = ar.softmax(i.logits), _slope(i, i.direction)
    along, deviation = ar.centered(policy, i.direction), ar.centered(policy, i.reward)
    plain, exact, rewards, directions = (ar.covariance(policy, x, x) for x in (
        i.reward * along, deviation * along, i.reward, i.direction))
    return plain / size, exact / size, (rewards * directions + slope * slope) / (size * (size - 1))


def _variance_rows(i: vf.Cases, estimated: bool = True) -> ar.Reals:
    """Variances along u minus what they should be, for a few group sizes."""
    rows = []
    for size in SIZES:
        plain, exact, price = _variances(i, size)
        others = exact + price if estimated else exact
        given = (i.logits, i.reward, i.direction, size)
        rows += [variance_without_baseline(*given) - plain, variance_with_others(*given) - others,
                 variance_with_group_mean(*given) - (size - 1) ** 2 * others / size**2]
    return np.stack(rows, axis=-1)


def _variances_for_every_size(i: Any) -> tuple[vf.Term, ...]:
    """Say the same for groups of any size."""

    def same(moment: Moment, value: Callable[[Any], Any]) -> vf.Term:
        return at_every_step(lambda size: implies(number_of(size) >= 2, equal(
            moment(i.logits, i.reward, i.direction, size), value(number_of(size)))))

    def others(size: Any) -> Any:
        _, exact, price = _variances(i, size)
        return exact + price

    return (
        same(variance_without_baseline, lambda size: _variances(i, size)[0]),
        same(variance_with_others, others),
        same(variance_with_group_mean, lambda size: (1 - 1 / size) * (1 - 1 / size) * others(size)),
    )


_spreads = vf.Statement(
    latex=ESTIMATE +
          r"Let $G \ge 2$ and, for a direction $u$ of the logits, $x = u - \mathbb E u$ and $y = r - "
          r"\mathbb E r$. Without a baseline ($A_i = r_i$), $\langle g, u\rangle$ has the variance "
          r"$\mathrm{Var}(r x)/G$. If $A_i$ is $r_i$ less the mean of the other members (leave-one-out), "
          r"it has $V = \mathrm{Var}(y x)/G + (\mathrm{Var}(r)\,\mathrm{Var}(u) + \mathrm{Cov}(r, u)^2)/"
          r"(G(G-1))$. If $A_i$ is $r_i$ less the group's mean, it has $(1-\frac1G)^2\,V$.",
    margin=_variance_rows,
    relation="==",
    beyond=_variances_for_every_size,
)

sampled_group_variance = vf.Claim(
    id="extension.sampled-group-variance",
    source="Extension of AEPO, section 3.1 (a group's advantages)",
    title="The variance of a group's policy gradient without a baseline, leave-one-out and with the "
          "group's mean",
    scope="one tabular state, any reward for each action, G >= 2 independent samples, any direction",
    statement=_spreads,
    instances=INSTANCES,
    mutants=(
        vf.Mutant(name="a baseline estimated from the others costs nothing",
                  statement=vf.variant(_spreads, margin=lambda i: _variance_rows(i, estimated=False))),
    ),
)

# ---------------------------------------------------------------- two answers


@vf.definition
def _right_wrong_gap(direction: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """u at the right answer minus u at the wrong one."""
    return ar.total(direction, correct) - ar.total(direction, ~correct)


def _rewards(i: Any) -> ar.Reals:
    """1 for a right answer, else 0."""
    one = 0 * i.logits + ar.constant(1, like=i.logits)
    return np.where(i.correct, one, 0 * one)


def _lowered(i: Any, size: Any) -> tuple[ar.Reals, ar.Reals]:
    """The variances without a baseline and leave-one-out."""
    given = (i.logits, _rewards(i), i.direction, size)
    return variance_without_baseline(*given), variance_with_others(*given)


def _reduction(i: Any, size: Any) -> ar.Reals:
    """``p^2 (1 - p) (u_right - u_wrong)^2 (2 (G - 2) - (3 G - 5) p)/(G (G - 1))``."""
    policy, gap = ar.softmax(i.logits), _right_wrong_gap(i.direction, i.correct)
    right, wrong = ar.total(policy, i.correct), ar.total(policy, ~i.correct)
    return (right * right * wrong * (gap * gap) * (2 * (size - 2) - (3 * size - 5) * right)
            / (size * (size - 1)))


def _two_answers_rows(i: vf.Cases) -> ar.Reals:
    return np.stack([plain - others - _reduction(i, size) for size in TWO_ANSWERS_SIZES
                     for plain, others in (_lowered(i, size),)], axis=-1)


def _two_answers_for_every_size(i: Any) -> tuple[vf.Term, ...]:
    """The claim for groups of any size, and the lower variance on either side of
    ``2 (G - 2)/(3 G - 5)``.
    """
    right, gap = ar.total(ar.softmax(i.logits), i.correct), _right_wrong_gap(i.direction, i.correct)

    def where(premise: Callable[[Any], Any], conclusion: Callable[[Any, Any], Any]) -> vf.Term:
        return at_every_step(lambda size: implies(
            (number_of(size) >= 2) & (gap * gap > 0) & premise(number_of(size)),
            conclusion(*_lowered(i, size))))

    return (
        at_every_step(lambda size: implies(number_of(size) >= 2, equal(
            _lowered(i, size)[0] - _lowered(i, size)[1], _reduction(i, number_of(size))))),
        where(lambda size: right < 2 * (size - 2) / (3 * size - 5), lambda plain, others: others < plain),
        where(lambda size: 2 * (size - 2) / (3 * size - 5) < right, lambda plain, others: plain < others),
    )


_two_answers = vf.Statement(
    latex=ESTIMATE +
          r"Of two answers let one be right, with probability $p$ and reward 1, and the other wrong, "
          r"with reward 0. Along a direction $u$, $u_+$ at the right answer and $u_-$ at the wrong one, "
          r"let $\langle g, u\rangle$ have the variance $V_0$ without a baseline ($A_i = r_i$). Let it "
          r"have $V_1$ if $A_i$ is $r_i$ less the mean of the other members (leave-one-out), $G \ge 2$. "
          r"Then $V_0 - V_1 = p^2(1-p)(u_+ - u_-)^2 (2(G-2) - (3G-5)p)/(G(G-1))$. So if $u_+ \ne u_-$, "
          r"$V_1 < V_0$ where $p < 2(G-2)/(3G-5)$, and $V_1 > V_0$ where $p$ is above that.",
    margin=_two_answers_rows,
    relation="==",
    conditions=(vf.Condition(latex="one of the two is wrong",
                             value=lambda i: ~np.all(i.correct, axis=-1)),),
    beyond=_two_answers_for_every_size,
)

sampled_group_two_answers = vf.Claim(
    id="extension.sampled-group-two-answers",
    source="Extension of AEPO, section 3.1 (a group's advantages)",
    title="With one right and one wrong answer leave-one-out lowers the variance only below "
          "p = 2 (G - 2)/(3 G - 5)",
    scope="one tabular state, two actions, one of them right, rewards 0 and 1, G >= 2 samples",
    statement=_two_answers,
    instances=vf.bandit_instances(actions=(2, 2), vectors=(DIRECTION,)),
    mutants=(
        vf.Mutant(name="a baseline always lowers the variance", statement=vf.variant(
            _two_answers, relation=">=", margin=lambda i: np.stack([
                plain - others for size in TWO_ANSWERS_SIZES
                for plain, others in (_lowered(i, size),)], axis=-1))),
    ),
)
