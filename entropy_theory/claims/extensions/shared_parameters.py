r"""Extension: policy gradient where the prompts' logits share parameters.

There are N prompts of n actions. The logits are linear in d parameters :math:`\theta`,
:math:`z_q(\theta) = z_q + F_q \theta`, as in a network's last layer. J is the mean over prompts of the
expected reward, with rewards in [0, 1]. Along any direction v with :math:`x_q = F_q v`,

.. math::

    J' = \operatorname{mean}_q \operatorname{Cov}(r_q, x_q),\quad J'' = \operatorname{mean}_q
    \mathbb E[(r_q - V_q)(x_q - \mathbb E x_q)^2],\quad |J''| \le \max |x_{qa}|^2.

So J'' is at most :math:`b^2 |v|^2` in size if no row of the features is longer than b. Two facts follow
for exact steps of policy gradient with :math:`\eta_k b^2 \le 1`.

- J never falls: :math:`J(\theta_{k+1}) \ge J(\theta_k) + \eta_k/2 |g_k|^2`. So the sum of
  :math:`\eta_k |g_k|^2` is at most 2.
- :math:`|g_{k+1}| \ge (1 - \eta_k b^2) |g_k|`, so that :math:`g_k \to 0` if the :math:`\eta_k` have no
  finite sum.

Only a gradient of zero is promised. `extension.conflicting-prompts` ends at one where the reward is
below 1 and entropy is left. But let some direction v raise, at every prompt q, each right logit over
each wrong one by at least :math:`s_q > 0`. Such prompts are "separable". One-hot features, where
prompts share nothing, are so. Then :math:`\langle g, v\rangle \ge \operatorname{mean}_q s_q p_q (1 -
p_q)`, with two consequences.

- Every :math:`p_q (1 - p_q)` tends to 0: each prompt ends solved or lost.
- None is lost if J starts above :math:`1 - 1/N`. Then :math:`J \to 1` and
  :math:`\limsup \sum_q H_q \le \sum_q \log |A^*_q|`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from entropy_theory import verification as vf
from entropy_theory.claims.extensions.varying_step_sizes import has_no_finite_sum
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.drawn_fields import sample_logits
from entropy_theory.verification.formula import limits
from entropy_theory.verification.formula.terms import PARAMETERS, PROMPTS
from entropy_theory.verification.instances import drawn_by


@vf.definition
def shared_logits(logits: ar.Reals, features: ar.Reals, theta: ar.Reals) -> ar.Reals:
    """z + F theta: the logits at each prompt."""
    return logits + ar.total(features * theta[..., None, None, :])


@vf.definition
def mean_reward(logits: ar.Reals, features: ar.Reals, theta: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """J: the mean over prompts of the expected reward."""
    policies = ar.softmax(shared_logits(logits, features, theta))
    return ar.total(ar.mean(policies, reward)) / logits.shape[-2]


@vf.definition
def reward_gradient(
    logits: ar.Reals, features: ar.Reals, theta: ar.Reals, reward: ar.Reals
) -> ar.Reals:
    """The gradient of J in the parameters: the mean over prompts of F^T (pi (r - V))."""
    policies = ar.softmax(shared_logits(logits, features, theta))
    push = policies * ar.centered(policies, reward)
    each = ar.last_axis_first(features) * push[..., None, :, :]
    return ar.total(ar.total(each)) / logits.shape[-2]


@vf.definition
def after_gradient_step(
    logits: ar.Reals, features: ar.Reals, theta: ar.Reals, reward: ar.Reals, learning_rate: ar.Reals
) -> ar.Reals:
    """Parameters after an exact step of policy gradient."""
    gradient = reward_gradient(logits, features, theta, reward)
    return theta + ar.per_action(learning_rate) * gradient


@vf.definition
def square(x: ar.Reals) -> ar.Reals:
    """|x|^2."""
    return ar.total(x * x)


def _is_allowed(features: ar.Reals, learning_rate: ar.Reals) -> ar.Mask:
    """Whether eta |F_qa|^2 <= 1 for all prompts and actions."""
    short = learning_rate[..., None, None] * ar.total(features * features) <= 1
    return np.all(np.all(short, axis=-1), axis=-1)


def for_any_rates(i: Any, reward: Any, proposition: Callable[..., vf.Term]) -> vf.Term:
    """It holds for every run k -> theta_k with learning rates from 0 to 1/b^2."""

    def of(rates: vf.Term) -> vf.Term:
        return proposition(lambda k: limits.run(
            lambda j, theta: after_gradient_step(
                i.logits, i.features, theta, reward, limits.entry(rates, j)), i.theta, k),
            lambda k: limits.entry(rates, k))

    def allowed(rates: Any) -> Any:
        short: Any = _is_allowed
        return limits.at_every_step(lambda k: limits.entry(rates, k) >= 0) & limits.at_every_step(
            lambda k: short(i.features, limits.entry(rates, k)))

    return limits.for_every("rates", (limits.STEPS,), of, given=allowed)


# ---------------------------------------------------------------- ascent


def _ascends(i: Any) -> tuple[vf.Term, ...]:
    def reward_at(theta: Any) -> Any:
        return mean_reward(i.logits, i.features, theta, i.reward)

    def slope_at(theta: Any) -> Any:
        return square(reward_gradient(i.logits, i.features, theta, i.reward))

    return (
        limits.has_gradient(reward_at, i.theta,
                            reward_gradient(i.logits, i.features, i.theta, i.reward)),
        for_any_rates(i, i.reward, lambda path, rates: limits.at_every_step(
            lambda k: reward_at(path(k)) + rates(k) / 2 * slope_at(path(k))
            <= reward_at(path(limits.after(k))))),
        for_any_rates(i, i.reward, lambda path, rates: limits.implies(
            has_no_finite_sum(rates), limits.tends_to(lambda k: slope_at(path(k)), 0))),
    )


def _gain(i: vf.Cases) -> ar.Reals:
    """Return the change of J by a step, minus eta/2 |g|^2."""
    given = (i.logits, i.features, i.theta, i.reward)
    after = after_gradient_step(*given, i.learning_rate)
    gain = mean_reward(i.logits, i.features, after, i.reward) - mean_reward(*given)
    return gain - i.learning_rate * square(reward_gradient(*given)) / 2


def _drawn(generator: np.random.Generator, size: int) -> vf.Batch:
    """Logits, features and parameters of 1 to 3 prompts."""
    prompts, actions = int(generator.integers(1, 4)), int(generator.integers(2, 5))
    parameters = int(generator.integers(1, 5))
    logits = sample_logits(generator, size * prompts, actions).reshape(size, prompts, actions)
    scale = np.exp(generator.uniform(-1, 1, (size, 1, 1, 1)))
    features = scale * generator.standard_normal((size, prompts, actions, parameters))
    theta = generator.choice([0.0, 1.0], (size, 1)) * generator.standard_normal((size, parameters))
    return {"logits": logits, "features": features, "theta": theta}


def _sample(generator: np.random.Generator, size: int) -> vf.Batch:
    batch = _drawn(generator, size)
    shape = batch["logits"].shape
    longest = np.sum(batch["features"] ** 2, axis=-1).max(axis=(-1, -2))
    reward = generator.uniform(0, 1, shape)
    reward = np.where(generator.random((size, 1, 1)) < 0.5, np.round(reward), reward)
    return {**batch, "reward": reward,
            "learning_rate": np.exp(generator.uniform(-3, 4, size)) / longest}


def _enumerate(largest_total: int) -> Iterator[vf.Batch]:
    """Two prompts of two actions and one parameter."""
    rows = list(itertools.product(
        itertools.product((1, 2), repeat=2), itertools.product((1, 0, -1), repeat=2),
        ((1, 0), (0, 1)), (1.0, 0.5, 16.0)))
    rows = rows[:8 * largest_total]
    yield {"weights": np.array([[w, (1, 1)] for w, _, _, _ in rows]),
           "features": np.array([[[[f] for f in x], [[1], [0]]] for _, x, _, _ in rows], dtype=float),
           "theta": np.zeros((len(rows), 1)),
           "reward": np.array([[r, (1, 0)] for _, _, r, _ in rows], dtype=float),
           "learning_rate": np.array([rate for _, _, _, rate in rows])}


SHARED = (
    vf.Parameter(name="logits", axes=(PROMPTS, vf.ACTIONS)),
    vf.Parameter(name="features", axes=(PROMPTS, vf.ACTIONS, PARAMETERS)),
    vf.Parameter(name="theta", axes=(PARAMETERS,)),
)
FAMILIES = "1-3 prompts of 2-4 actions, 1-4 shared parameters, normal features"

_ascent = vf.Statement(
    latex=r"Let $N$ prompts have the logits $z_q = z_q^0 + F_q\theta$ and rewards in $[0, 1]$, and let "
          r"$J(\theta) = \frac1N\sum_q \mathbb E_{\pi_q} r_q$. Let $\theta_{k+1} = \theta_k + "
          r"\eta_k\nabla J(\theta_k)$ with $\eta_k \ge 0$ and $\eta_k \lVert F_{qa}\rVert^2 \le 1$ for "
          r"all prompts and actions. Then $J(\theta_{k+1}) \ge J(\theta_k) + \frac{\eta_k}2\lVert\nabla "
          r"J(\theta_k)\rVert^2$. If $\sum_k \eta_k = \infty$, then $\nabla J(\theta_k) \to 0$.",
    margin=_gain,
    conditions=(vf.Condition(latex=r"$\eta \lVert F_{qa}\rVert^2 \le 1$",
                             value=lambda i: _is_allowed(i.features, i.learning_rate)),),
    beyond=_ascends,
)

shared_parameters_ascent = vf.Claim(
    id="extension.shared-parameters-ascent",
    source="Extension of Entropy Mechanism and AEPO to prompts that share parameters",
    title="Small exact steps on shared parameters never lower the mean reward; if they add up without "
          "bound, its gradient vanishes",
    scope="prompts whose logits are linear in shared parameters, rewards in [0, 1], exact expectation, "
          "every step of any sizes up to a bound, and the limit",
    statement=_ascent,
    instances=vf.Instances(
        strategy=drawn_by(_sample), sample=_sample, enumerate=_enumerate,
        movable=("logits", "features", "theta"), families=FAMILIES,
        parameters=vf.Parameters(fields=(
            *SHARED,
            vf.Parameter(name="reward", axes=(PROMPTS, vf.ACTIONS), range=vf.Range(low=0, high=1)),
            vf.Parameter(name="learning_rate", range=vf.POSITIVE),
        )),
    ),
    mutants=(
        vf.Mutant(name="steps of any size", statement=vf.variant(_ascent, conditions=())),
    ),
)

# ---------------------------------------------------------------- separable prompts


@vf.definition
def hits(logits: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """The reward: 1 for right answers, 0 for wrong ones."""
    one = 0 * logits + ar.constant(1, like=logits)
    return np.where(correct, one, 0 * one)


@vf.definition
def separation(features: ar.Reals, direction: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """s_q: by how much the direction raises each right logit over each wrong one, at least."""
    moves = ar.total(features * direction[..., None, None, :])
    return ar.smallest(moves, correct) - ar.largest(moves, ~correct)


@vf.definition
def undecided(logits: ar.Reals, features: ar.Reals, theta: ar.Reals, correct: ar.Mask) -> ar.Reals:
    """p_q (1 - p_q), p_q the probability of a right answer to prompt q."""
    policies = ar.softmax(shared_logits(logits, features, theta))
    return ar.total(policies, correct) * ar.total(policies, ~correct)


def _along(i: vf.Cases, most: bool = False) -> ar.Reals:
    """``<g, v> - mean_q s_q p_q (1 - p_q)``."""
    gradient = reward_gradient(i.logits, i.features, i.theta, hits(i.logits, i.correct))
    apart = separation(i.features, i.direction, i.correct)
    if most:
        moves = ar.total(i.features * i.direction[..., None, None, :])
        apart = ar.largest(moves, i.correct) - ar.smallest(moves, ~i.correct)
    least = ar.total(apart * undecided(i.logits, i.features, i.theta, i.correct))
    return ar.total(gradient * i.direction) - least / i.logits.shape[-2]


def _decided(i: Any) -> tuple[vf.Term, ...]:
    reward = hits(i.logits, i.correct)

    def start(theta: Any) -> Any:
        return mean_reward(i.logits, i.features, theta, reward)

    def solved(path: Callable[[vf.Term], vf.Term]) -> vf.Term:
        entropies = ar.total(np.log(ar.total(0 * i.logits + 1, i.correct)))
        return limits.tends_to(lambda k: start(path(k)), 1) & limits.limsup_at_most(
            lambda k: ar.total(ar.entropy(shared_logits(i.logits, i.features, path(k)))), entropies)

    return (
        for_any_rates(i, reward, lambda path, rates: limits.implies(
            has_no_finite_sum(rates), limits.tends_to(lambda k: ar.total(undecided(
                i.logits, i.features, path(k), i.correct)), 0))),
        for_any_rates(i, reward, lambda path, rates: limits.implies(
            (i.logits.shape[-2] * (1 - start(i.theta)) < 1) & has_no_finite_sum(rates),
            solved(path))),
    )


def _sample_separable(generator: np.random.Generator, size: int) -> vf.Batch:
    batch = _drawn(generator, size)
    shape = batch["logits"].shape
    correct = generator.random(shape) < 0.5
    correct[..., 0], correct[..., -1] = True, False
    direction = generator.standard_normal(batch["theta"].shape)
    moves = np.sum(batch["features"] * direction[:, None, None, :], axis=-1)
    lacks = (np.where(correct, -np.inf, moves).max(axis=-1)
             - np.where(correct, moves, np.inf).min(axis=-1))
    sign = generator.choice([1.0, 1.0, 1.0, -0.1], lacks.shape)
    raised = lacks + sign * np.exp(generator.uniform(-3, 2, lacks.shape))
    along = direction / np.sum(direction * direction, axis=-1, keepdims=True)
    features = batch["features"] + (correct * raised[..., None])[..., None] * along[:, None, None, :]
    return {**batch, "features": features, "correct": correct, "direction": direction}


def _enumerate_separable(largest_total: int) -> Iterator[vf.Batch]:
    """Two prompts of two actions and one parameter."""
    rows = list(itertools.product(
        itertools.product((1, 2), repeat=2), itertools.product((1, 0, 2), repeat=2)))
    yield {"weights": np.array([[w, (1, 1)] for w, _ in rows]),
           "features": np.array([[[[f] for f in x], [[1], [0]]] for _, x in rows], dtype=float),
           "theta": np.zeros((len(rows), 1)), "direction": np.ones((len(rows), 1)),
           "correct": np.array([[(True, False)] * 2] * len(rows))}


_separable = vf.Statement(
    latex=r"Let $N$ prompts have the logits $z_q = z_q^0 + F_q\theta$, and let $J(\theta)$ be the mean "
          r"of their probabilities $p_q$ of a right answer. Let a direction $v$ of the parameters raise "
          r"each right logit over each wrong one by at least $s_q > 0$ at each prompt $q$. Then "
          r"$\langle\nabla J, v\rangle \ge \frac1N\sum_q s_q p_q(1 - p_q)$. Let $\theta_{k+1} = "
          r"\theta_k + \eta_k\nabla J(\theta_k)$ with $\eta_k \ge 0$, $\eta_k\lVert F_{qa}\rVert^2 \le "
          r"1$ and $\sum_k\eta_k = \infty$. Then each $p_q(1 - p_q)$ tends to $0$. If moreover "
          r"$J(\theta_0) > 1 - \frac1N$, then $J(\theta_k) \to 1$ and $\limsup_k \sum_q H(\pi_q) \le "
          r"\sum_q \log|\mathcal A^*_q|$.",
    margin=_along,
    conditions=(
        vf.Condition(latex="some answer to each prompt is wrong",
                     value=lambda i: np.all(np.any(~i.correct, axis=-1), axis=-1)),
        vf.Condition(latex="$s_q > 0$",
                     value=lambda i: np.all(
                         separation(i.features, i.direction, i.correct) > 0, axis=-1)),
    ),
    beyond=_decided,
)

shared_parameters_separable = vf.Claim(
    id="extension.shared-parameters-separable",
    source="Extension of Entropy Mechanism and AEPO to prompts that share parameters",
    title="Where a direction of shared parameters separates right from wrong, each prompt's p (1 - p) "
          "tends to 0",
    scope="prompts whose logits are linear in shared parameters, rewards 0 and 1, exact expectation, the "
          "limit of steps of any sizes up to a bound that have no finite sum",
    statement=_separable,
    instances=vf.Instances(
        strategy=drawn_by(_sample_separable), sample=_sample_separable, enumerate=_enumerate_separable,
        movable=("logits", "theta"), families=FAMILIES + " that a direction separates",
        parameters=vf.Parameters(fields=(
            *SHARED,
            vf.Parameter(name="correct", axes=(PROMPTS, vf.ACTIONS), kind="mask", nonempty=True),
            vf.Parameter(name="direction", axes=(PARAMETERS,)),
        )),
    ),
    mutants=(
        vf.Mutant(name="the largest distance in place of the least", statement=vf.variant(
            _separable, margin=lambda i: _along(i, most=True))),
    ),
)
