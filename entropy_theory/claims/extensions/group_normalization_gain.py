r"""Extension: the expected GRPO step is :math:`\kappa(p)` times the gradient of p.

A group has G independent responses with rewards 1 on :math:`A^*` and 0 elsewhere. Its advantages are (R
- mean)/std within the group, or 0 where all rewards are equal. For every policy, :math:`A^*` and
:math:`G \ge 2`, exactly,

.. math::

    \mathbb E[(1/G) \sum_i A_i (\delta_{a_i} - \pi)] = \kappa \nabla p,\quad (\nabla p)_a = \pi_a
    (1_{A^*} - p),

    \kappa = \mathbb E_{k \sim \operatorname{Bin}(G, p)} \sqrt{k/G (1 - k/G)} / (p (1 - p)).

If the deviation divides by :math:`G - 1`, the factor :math:`\sqrt{(G - 1)/G}` comes on top. The
advantages of a group sum to zero, so the baseline :math:`\pi` drops out. Given that k are right, a
right response is a draw of q (pi given right) and a wrong one of :math:`q_W` (pi given wrong). So the
group's mean is :math:`s_k (q - q_W)`, with :math:`s_k` the deviation.

For :math:`G = 2` :math:`\kappa` is 1. For :math:`G \ge 3` it has the bounds

.. math::

    \max(2 (1 - 1/G), \sqrt{G - 1}((1 - p)^{G-2} + p^{G-2})) \le \kappa \le \min(\sqrt{G - 1}, \sqrt{(1
    - 1/G)/(p (1 - p))}).

So :math:`\kappa \to \sqrt{G - 1}` as p tends to 0 or 1, and GRPO's gradient vanishes there no faster
than that of p. By Jensen's inequality, for :math:`G \ge 2` and :math:`0 < p < 1`,

.. math::

    \kappa \ge (G - 1)/\sqrt{G - 1 + (G - 2)(G - 3) p (1 - p)} > 0,

with equality for :math:`G = 2` and 3. So :math:`\kappa` tends to :math:`1/\sqrt{p (1 - p)}` as G grows,
at rate 1/G. It has equal values at p and at :math:`1 - p`. A group of one has no advantage. In a group
of G with k right answers, a right one has the advantage :math:`\sqrt{(G - k)/k}` and a wrong one
:math:`-\sqrt{k/(G - k)}`. A single wrong answer has :math:`-\sqrt{G - 1}`.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.aepo.tempered_reinforce import unit_step
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.functions import operation
from entropy_theory.verification.formula.limits import (
    after,
    at_every_step,
    equal,
    for_every,
    has_derivative,
    implies,
    number_of,
    tends_to,
)

GROUPS = (2, 3, 4)
BOUND_GROUPS = (4, 8, 16, 64)


@operation(lambda right, wrong, group_size, ddof: right.axes)
def group_gain(right: ar.Reals, wrong: ar.Reals, group_size: int, ddof: int) -> ar.Reals:
    """Return kappa from p and 1 - p, with the division by ``p (1 - p)`` done term by term."""
    size, removed = whole(group_size), whole(ddof)
    one, total = 0 * right + ar.constant(1, like=right), 0 * right
    for k in range(1, size):
        deviation = np.sqrt(one * (k * (size - k))) / size
        total = total + math.comb(size, k) * deviation * (
            right ** (k - 1) * wrong ** (size - k - 1))
    return total * np.sqrt(one * (size - removed) / size)


@operation(lambda logits, correct, group_size, ddof: logits.axes)
def expected_group_step(logits: ar.Reals, correct: ar.Mask, group_size: int, ddof: int) -> ar.Reals:
    """The expectation over all n^G groups of (1/G) sum_i A_i (delta_{a_i} - pi), one group at a time."""
    n, size, removed = logits.shape[-1], whole(group_size), whole(ddof)
    policy = ar.softmax(logits)
    groups = np.array(list(itertools.product(range(n), repeat=size)))
    chance = np.prod(policy[..., groups], axis=-1)
    one = ar.constant(1, like=logits)
    reward = np.where(correct[..., groups], one, 0 * one)
    centered = reward - np.sum(reward, axis=-1, keepdims=True) / size
    variance = np.sum(centered * centered, axis=-1, keepdims=True) / (size - removed)
    hits = np.sum(correct[..., groups], axis=-1, keepdims=True)
    mixed = (hits > 0) & (hits < size)
    advantage = np.where(mixed, centered / np.sqrt(np.where(mixed, variance, one)), 0 * one)
    weight = chance[..., None] * advantage / size
    flat = weight.reshape(*weight.shape[:-2], -1)
    drawn = (groups.reshape(-1)[:, None] == np.arange(n)).astype(int)
    return flat @ drawn - np.sum(flat, axis=-1)[..., None] * policy


def gain(right: ar.Reals, wrong: ar.Reals, group_size: int, ddof: int = 0) -> ar.Reals:
    """kappa from p and 1 - p."""
    return group_gain(right, wrong, group_size, ddof)


def enumerated_step(logits: ar.Reals, correct: ar.Mask, group_size: int, ddof: int) -> ar.Reals:
    """The expected step from all groups."""
    return expected_group_step(logits, correct, group_size, ddof)


def whole(value: Any) -> int:
    """A whole number that is the same for all instances."""
    number = np.asarray(value).reshape(-1)[0]
    return int(number) if isinstance(number, (int, float, np.number)) else int(float(number))


def _residual(i: vf.Cases, kappa: Callable[[ar.Reals, ar.Reals, int, int], ar.Reals]) -> ar.Reals:
    """Enumerated step minus kappa grad p, for each G, each ddof and each action."""
    policy = ar.softmax(i.logits)
    right, wrong = ar.total(policy, i.correct), ar.total(policy, ~i.correct)
    gradient = unit_step(i.logits, i.correct)
    return np.concatenate([
        enumerated_step(i.logits, i.correct, size, ddof)
        - ar.per_action(kappa(right, wrong, size, ddof)) * gradient
        for size in GROUPS for ddof in (0, 1)
    ], axis=-1)


def _for_every_size(i: vf.Cases) -> tuple[vf.Term, ...]:
    """Say the same for groups of any number of responses, and p's gradient."""
    policy = ar.softmax(i.logits)
    right, wrong = ar.total(policy, i.correct), ar.total(policy, ~i.correct)
    gradient = unit_step(i.logits, i.correct)

    def same(size: vf.Term, ddof: int) -> vf.Term:
        step = expected_group_step(i.logits, i.correct, size, ddof)
        kappa = group_gain(right, wrong, size, ddof)
        equal = vf.elementwise("equal", step, ar.per_action(kappa) * gradient).all()
        return implies(number_of(size) >= 2, equal)

    return (
        at_every_step(lambda size: same(size, 0)),
        at_every_step(lambda size: same(size, 1)),
        for_every("direction", (vf.ACTIONS,), lambda v: has_derivative(
            lambda t: ar.total(ar.softmax(i.logits + ar.per_action(t) * v), i.correct), 0,
            ar.total(gradient * v))),
    )


group_normalization_gain = vf.Claim(
    id="extension.group-normalization-gain",
    source="Extension of AEPO, section 3.1 (GRPO's advantage)",
    title="The expected GRPO step is kappa(p) times the gradient of the reward",
    scope="one tabular state, groups of G independent samples, exact expectation",
    statement=vf.Statement(
        latex=r"$\mathbb E\big[\frac1G\sum_i \hat A_i(\delta_{a_i} - \pi)\big] = \kappa\nabla p$ with "
              r"$\kappa = \mathbb E_{k\sim\mathrm{Bin}(G,p)}\sqrt{\frac kG(1-\frac kG)}/(p(1-p))$, times "
              r"$\sqrt{(G-1)/G}$ for the deviation over $G - 1$; for every $G \ge 2$.",
        margin=lambda i: _residual(i, gain),
        relation="==",
        beyond=_for_every_size,
    ),
    # Groups are enumerated, n^G of them.
    instances=dataclasses.replace(vf.bandit_instances(actions=(2, 3)), large=()),
    mutants=(
        vf.mutant("kappa = 1/sqrt(p (1 - p)), as if the group were infinite",
                  margin=lambda i: _residual(
                      i, lambda right, wrong, size, ddof: 1 / np.sqrt(right * wrong)),
                  conditions=(vf.SOME_WRONG,)),
    ),
)

# ---------------------------------------------------------------- bounds


def _room(i: vf.Cases) -> ar.Reals:
    policy = ar.softmax(i.logits)
    right, wrong = ar.total(policy, i.correct), ar.total(policy, ~i.correct)
    rows = []
    for size in BOUND_GROUPS:
        kappa, one = gain(right, wrong, size), 0 * right + ar.constant(1, like=right)
        root = np.sqrt(one * (size - 1))
        rows += [
            kappa - (2 * one - 2 * one / size),
            kappa - root * (wrong ** (size - 2) + right ** (size - 2)),
            root - kappa,
            # kappa^2 p (1 - p) <= 1 - 1/G
            one - one / size - kappa * kappa * right * wrong,
        ]
    return np.stack(rows, axis=-1)


def _bounds_for_every_size(i: vf.Cases) -> tuple[vf.Term, ...]:
    """Say the same for groups of any number of responses from three on."""
    policy = ar.softmax(i.logits)
    right, wrong = ar.total(policy, i.correct), ar.total(policy, ~i.correct)

    def within(group_size: vf.Term) -> vf.Term:
        kappa, size = group_gain(right, wrong, group_size, 0), number_of(group_size)
        root = np.sqrt(size - 1)
        # wrong^(G - 2) + right^(G - 2)
        ends = np.exp((size - 2) * np.log(wrong)) + np.exp((size - 2) * np.log(right))
        return implies(size >= 3, (2 - 2 / size <= kappa) & (root * ends <= kappa) & (kappa <= root)
                       & (kappa * kappa * right * wrong <= 1 - 1 / size))

    return (at_every_step(within),)


group_normalization_bounds = vf.Claim(
    id="extension.group-normalization-bounds",
    source="Extension of AEPO, section 3.1 (GRPO's advantage)",
    title="GRPO's gain lies between 2 (1 - 1/G) and sqrt(G - 1)",
    scope="one prompt, groups of G independent responses, exact expectation",
    statement=vf.Statement(
        latex=r"For $G \ge 3$: $\max\big(2(1-\frac1G), \sqrt{G-1}\,((1-p)^{G-2}+p^{G-2})\big) \le \kappa "
              r"\le \min\big(\sqrt{G-1}, \sqrt{(1-\frac1G)/(p(1-p))}\big)$.",
        margin=_room,
        conditions=(vf.SOME_WRONG,),
        beyond=_bounds_for_every_size,
    ),
    instances=vf.bandit_instances(actions=(2, 4)),
)

# ---------------------------------------------------------------- large groups


def _least(right: Any, wrong: Any, size: Any) -> Any:
    """``(G - 1)/sqrt(G - 1 + (G - 2)(G - 3) p (1 - p))``."""
    return (size - 1) / np.sqrt(size - 1 + (size - 2) * (size - 3) * right * wrong)


def _room_above_least(i: vf.Cases) -> ar.Reals:
    policy = ar.softmax(i.logits)
    right, wrong = ar.total(policy, i.correct), ar.total(policy, ~i.correct)
    return np.stack([gain(right, wrong, size) - _least(right, wrong, size)
                     for size in BOUND_GROUPS], axis=-1)


def _room_above_limit(i: vf.Cases) -> ar.Reals:
    policy = ar.softmax(i.logits)
    right, wrong = ar.total(policy, i.correct), ar.total(policy, ~i.correct)
    return np.stack([gain(right, wrong, size) - 1 / np.sqrt(right * wrong)
                     for size in BOUND_GROUPS], axis=-1)


def _large_groups(i: vf.Cases) -> tuple[vf.Term, ...]:
    """Say the same for groups of any size, which sign kappa has, and what becomes of it as they grow."""
    policy = ar.softmax(i.logits)
    right, wrong = ar.total(policy, i.correct), ar.total(policy, ~i.correct)
    root = np.sqrt(right * wrong)

    def always(proposition: Callable[[Any, Any], Any]) -> vf.Term:
        return at_every_step(lambda k: implies(
            number_of(k) >= 2, proposition(group_gain(right, wrong, k, 0), k)))

    return (
        always(lambda kappa, k: _least(right, wrong, number_of(k)) <= kappa),
        always(lambda kappa, _: kappa > 0),
        always(lambda kappa, k: equal(kappa, group_gain(wrong, right, k, 0))),
        always(lambda kappa, _: kappa <= 1 / root),
        always(lambda kappa, k: 1 / root - kappa <= 1 / (2 * (number_of(k) - 1) * right * wrong * root)),
        tends_to(lambda k: group_gain(right, wrong, after(k), 0), 1 / root),
        equal(expected_group_step(i.logits, i.correct, 1, 0), 0).all(),
    )


_limit = vf.Statement(
    latex=r"Let $\kappa = \mathbb E_{k\sim\mathrm{Bin}(G,p)}\sqrt{\frac kG(1-\frac kG)}/(p(1-p))$, the "
          r"factor of $\nabla p$ in the expected GRPO step where deviations divide by $G$. For $G \ge 2$ "
          r"and $0 < p < 1$, $\kappa \ge (G-1)/\sqrt{G-1+(G-2)(G-3)p(1-p)} > 0$, and $\kappa$ is the "
          r"same at $p$ and $1-p$. Also $0 \le 1/\sqrt{p(1-p)} - \kappa \le 1/(2(G-1)(p(1-p))^{3/2})$, "
          r"so that $\kappa \to 1/\sqrt{p(1-p)}$ as $G \to \infty$. A group of one, whose advantage is "
          r"set to $0$, has the expected step $0$.",
    margin=_room_above_least,
    conditions=(vf.SOME_WRONG,),
    beyond=_large_groups,
)

group_normalization_limit = vf.Claim(
    id="extension.group-normalization-limit",
    source="Extension of AEPO, section 3.1 (GRPO's advantage)",
    title="GRPO's gain is the same at p and 1 - p, and tends to 1/sqrt(p (1 - p)) in large groups",
    scope="one tabular state, groups of G independent samples, rewards 0 and 1, deviations that divide "
          "by G, exact expectation",
    statement=_limit,
    instances=vf.bandit_instances(actions=(2, 4)),
    mutants=(
        vf.Mutant(name="kappa = 1/sqrt(p (1 - p)) at least, as if the group were infinite",
                  statement=vf.variant(_limit, margin=_room_above_limit)),
    ),
)
