"""First-order effects of a logit step on a token tree: rates, gradients, covariances.

Everything is computed in two ways, so that each can test the other. `entropy_rate` differentiates
the recursion, and `policy_gradient` sums over responses. The claims are made of `gradient_formula`,
`action_covariance` and `response_covariance`.
"""

import dataclasses
import itertools
from typing import Any

import numpy as np
from hypothesis import strategies as st

from entropy_theory import verification as vf
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.formula.functions import operation, reduced, rowwise
from entropy_theory.verification.formula.limits import along, for_every, has_derivative
from entropy_theory.verification.tree_policies import with_rewards_in

STEP = vf.Vector(name="step", low=-2.0, high=2.0, grid=(0, 1), range=vf.ANY)
"""A logit step; what is tested with it is linear in it, so that -1 in the grid would add nothing."""


def trees(*scalars: vf.Scalar, **options: Any) -> vf.Instances:
    """Trees of 2 tokens up to length 3 and of 3 tokens up to length 2; small integers up to length 2.

    They are searched without local ascent, as most of what is tested on them is an identity. Rewards are
    drawn from [0, 1]; the statements are about any.
    """
    deep = vf.tree_instances(*scalars, tokens=(2, 2), horizon=(1, 3), **options)
    wide = vf.tree_instances(*scalars, tokens=(3, 3), horizon=(1, 2), **options)
    all_sizes = vf.tree_instances(*scalars, tokens=(2, 3), **options)
    small = [vf.tree_instances(*scalars, tokens=(n, n), horizon=(1, longest), **options)
             for n, longest in ((2, 2), (3, 1))]

    def sample(generator: np.random.Generator, size: int) -> vf.Batch:
        return (deep if generator.random() < 0.6 else wide).sample(generator, size)

    return dataclasses.replace(
        all_sizes, strategy=st.one_of(deep.strategy, wide.strategy), sample=sample,
        enumerate=lambda total: itertools.chain(*(s.enumerate(total) for s in small)),
        movable=(), parameters=all_sizes.parameters and with_rewards_in(all_sizes.parameters, vf.ANY),
        families="trees of 2 tokens up to length 3 and 3 tokens up to length 2; Gaussian, tied, "
                 "saturated, nearly tied and Dirichlet logits",
    )


@operation(rowwise)
def centered(probabilities: ar.Reals, x: ar.Reals) -> ar.Reals:
    """x - E x; cheaper than `arithmetic.centered`, and accurate enough for an identity."""
    return x - ar.mean(probabilities, x)[..., None]


@operation(reduced)
def covariance(probabilities: ar.Reals, x: ar.Reals, y: ar.Reals) -> ar.Reals:
    """Cov(x, y) under the last axis of probabilities."""
    return ar.mean(probabilities, centered(probabilities, x) * centered(probabilities, y))


def response_probabilities(logits: Any) -> Any:
    """pi(y) [..., responses]."""
    return ar.token_tree(logits).response_probabilities(ar.softmax(logits))


def expected_reward(logits: Any, reward: Any) -> Any:
    """J = E_y R(y)."""
    return ar.mean(response_probabilities(logits), reward)


def is_natural_gradient(logits: Any, reward: Any, step: Any) -> vf.Term:
    """(Fisher information of the responses) step = gradient of J, tested with every direction x."""
    return for_every("direction", (vf.STATES, vf.ACTIONS), lambda x: has_derivative(
        lambda t: expected_reward(along(logits, t, x), reward), 0,
        ar.mean(response_probabilities(logits), summed(logits, step) * summed(logits, x))))


@vf.definition
def entropy_rate(logits: ar.Reals, step: ar.Reals) -> ar.Reals:
    """d/dt of the entropy of responses along z + t step: the product rule, level by level."""
    tree = ar.token_tree(logits)
    p, log_p = ar.softmax(logits), ar.log_softmax(logits)
    _, action_values = tree.values(p, -log_p)
    # At each state E[d log pi] = 0, so that -log pi itself adds nothing by its own change.
    state_rates, _ = tree.values(p, centered(p, step) * action_values)
    return state_rates[..., 0]


@vf.definition
def entropy_to_go(logits: ar.Reals) -> ar.Reals:
    """H(sa): the expected entropy still to come after a token (zero after the last)."""
    tree = ar.token_tree(logits)
    log_p = ar.log_softmax(logits)
    _, action_values = tree.values(ar.softmax(logits), -log_p)
    return action_values + log_p


@vf.definition
def advantage(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """A(s, a), for a reward of responses."""
    tree = ar.token_tree(logits)
    p = ar.softmax(logits)
    _, action_values = tree.values(p, tree.edge_reward(reward))
    return centered(p, action_values)


@vf.definition
def reward_through(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """The sum of pi(y) R(y) over the responses that take this token there."""
    return ar.token_tree(logits).sum_through(response_probabilities(logits) * reward)


@vf.definition
def policy_gradient(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """dJ/dz from the responses: sum_y pi(y) R(y) sum_t 1[s_t = s] (1[a_t = a] - pi(a|s))."""
    through = reward_through(logits, reward)
    return through - ar.total(through)[..., None] * ar.softmax(logits)


def visits(logits: ar.Reals) -> ar.Reals:
    """d(s) [..., states, 1]: the probability that a response passes through s."""
    return ar.token_tree(logits).visitation(ar.softmax(logits))[..., None]


@vf.definition
def weighted_advantage(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """pi(a|s) A(s, a)."""
    return ar.softmax(logits) * advantage(logits, reward)


@vf.definition
def gradient_formula(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """d(s) pi(a|s) A(s, a)."""
    return visits(logits) * weighted_advantage(logits, reward)


@vf.definition
def action_covariance(logits: ar.Reals, x: ar.Reals, y: ar.Reals | None = None) -> ar.Reals:
    """sum_s d(s) Cov_s(y, x), with y = log pi if it is left out."""
    y = ar.log_softmax(logits) if y is None else y
    return ar.total(visits(logits)[..., 0] * covariance(ar.softmax(logits), y, x))


def response_advantage(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """A(y) = R(y) - E R, [..., responses]."""
    return reward - expected_reward(logits, reward)[..., None]


def weighted_response_advantage(logits: ar.Reals, reward: ar.Reals) -> ar.Reals:
    """pi(y) A(y): Theorem 1's integrand with responses as actions."""
    return response_probabilities(logits) * response_advantage(logits, reward)


@vf.definition
def summed(logits: ar.Reals, x: ar.Reals) -> ar.Reals:
    """sum_t (x_t - E x_t) along each response, or sum_t x_t."""
    tree = ar.token_tree(logits)
    return tree.sum_along(centered(ar.softmax(logits), x))


@vf.definition
def response_covariance(logits: ar.Reals, of_responses: ar.Reals) -> ar.Reals:
    """Cov_y(log pi(y), f(y)) over responses."""
    log_response = ar.token_tree(logits).sum_along(ar.log_softmax(logits))
    return covariance(response_probabilities(logits), log_response, of_responses)
