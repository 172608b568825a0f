"""Limits of runs of varying step sizes, and of prompts that share parameters, beside code of others."""

from __future__ import annotations

import numpy as np
import pytest

from entropy_theory.claims.extensions import conflicting_prompts as conflict
from entropy_theory.claims.extensions import shared_parameters as shared
from entropy_theory.claims.extensions.entropy_ceiling import after_step
from entropy_theory.claims.extensions.varying_step_sizes import wrong_mass
from entropy_theory.policy import entropy, softmax

torch = pytest.importorskip("torch")


def prompts(seed, count=3, actions=4, parameters=5):
    generator = np.random.default_rng(seed)
    features = generator.standard_normal((1, count, actions, parameters))
    return (generator.standard_normal((1, count, actions)), features,
            generator.standard_normal((1, parameters)), generator.uniform(0, 1, (1, count, actions)))


def test_the_gradient_is_that_of_automatic_differentiation():
    logits, features, theta, reward = prompts(0)
    moving = torch.tensor(theta[0], requires_grad=True)
    policies = torch.softmax(torch.tensor(logits[0]) + torch.tensor(features[0]) @ moving, dim=-1)
    mean = (policies * torch.tensor(reward[0])).sum(dim=-1).mean()
    mean.backward()
    # Means and products of a dozen float64 numbers: some 20 roundings, more where terms of a gradient
    # cancel.
    np.testing.assert_allclose(
        shared.mean_reward(logits, features, theta, reward), mean.item(), rtol=1e-13)
    np.testing.assert_allclose(shared.reward_gradient(logits, features, theta, reward)[0],
                               moving.grad.numpy(), rtol=1e-11)


def one_parameter(offset):
    """The two conflicting prompts as logits, features and rewards."""
    return (np.array([[[0.0, 0.0], [offset, 0.0]]]), np.array([[[[1.0], [0.0]], [[-1.0], [0.0]]]]),
            np.array([[[1.0, 0.0], [1.0, 0.0]]]))


@pytest.mark.parametrize("theta", [-3.0, 0.2, 5.0])
def test_conflicting_prompts_are_prompts_that_share_a_parameter(theta):
    logits, features, reward = one_parameter(1.5)
    given = (logits, features, np.array([[theta]]), reward)
    # Numbers below 1, by two exponentials each.
    assert conflict.mean_chance(theta, 1.5) == pytest.approx(shared.mean_reward(*given)[0], abs=1e-14)
    assert conflict.reward_slope(theta, 1.5) == pytest.approx(
        shared.reward_gradient(*given)[0, 0], abs=1e-14)


@pytest.mark.parametrize(("power", "arrives"), [(0.5, True), (2.0, False)])
def test_conflicting_prompts_end_in_the_middle_where_step_sizes_have_no_finite_sum(power, arrives):
    theta, offset = 4.0, 2.0
    first = [entropy(np.array([theta, 0.0]))]
    for k in range(1, 500):
        theta = conflict.after_shared_step(theta, offset, 4 / k**power)
        first.append(entropy(np.array([theta, 0.0])))
    assert (np.diff(first) > -1e-15).all(), "for one state this ends at 0"
    p = 1 / (1 + np.exp(-1.0))
    middle = -p * np.log(p) - (1 - p) * np.log(1 - p)
    assert (abs(first[-1] - middle) < 1e-6) == arrives
    assert first[-1] < middle + 1e-12


@pytest.mark.parametrize(("power", "learned"), [(0.5, True), (2.0, False)])
def test_one_state_learns_exactly_where_step_sizes_have_no_finite_sum(power, learned):
    """The bound beside a run of the policy gradient written out: pi (1_A - p)."""
    z, mask, spent = np.array([0.0, 0.5, 1.0]), np.array([True, False, False]), 0.0
    start = 1 - softmax(z)[0]
    for k in range(1, 500):
        p = softmax(z)
        by_claim = after_step(z[None], mask[None], np.ones(1), np.zeros(1), np.array([k**-power]))[0]
        z = z + k**-power * p * (mask - p[0])
        # One step from the same logits: a dozen roundings of 1e-16, in a sum that may cancel.
        np.testing.assert_allclose(by_claim, z, rtol=1e-12)
        spent += k**-power
        assert wrong_mass(z[None], mask[None])[0] >= start * np.exp(-spent)
    assert (softmax(z)[0] > 0.9) == learned


def separable(theta):
    """Two prompts; parameter 1 raises both right answers, parameter 2 raises one, lowers the other."""
    features = np.array([[[[1.0, 3.0], [0.0, 0.0]], [[1.0, -3.0], [0.0, 0.0]]]])
    return np.zeros((1, 2, 2)), features, np.array([theta]), np.array([[[True, False], [True, False]]])


@pytest.mark.parametrize("theta", [(0.0, 0.1), (0.0, 1.5), (0.3, -2.0)])
def test_separable_prompts_that_start_above_a_half_end_solved(theta):
    logits, features, start, correct = separable(theta)
    reward = shared.hits(logits, correct)
    path = [start]
    for _ in range(3000):
        path.append(shared.after_gradient_step(logits, features, path[-1], reward, np.array([0.1])))
    rewards = [shared.mean_reward(logits, features, at, reward)[0] for at in path[::100]]
    assert rewards[0] >= 0.5
    assert (np.diff(rewards) > 0).all()
    assert shared.undecided(logits, features, path[-1], correct).sum() < 0.1
    assert rewards[-1] > 0.95


@pytest.mark.parametrize("seed", range(5))
def test_the_largest_step_allowed_raises_the_reward_by_half_its_first_order(seed):
    logits, features, theta, reward = prompts(seed)
    rate = np.array([1 / (features**2).sum(axis=-1).max()])
    gradient = shared.reward_gradient(logits, features, theta, reward)
    after = shared.after_gradient_step(logits, features, theta, reward, rate)
    gain = (shared.mean_reward(logits, features, after, reward)
            - shared.mean_reward(logits, features, theta, reward))
    assert gain >= rate / 2 * (gradient**2).sum()
