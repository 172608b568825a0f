"""The claims' formulas beside the package's own functions, and beside code that shares nothing with them.

The accepted ledger notices a formula that changes, and the kernel one that is false; these tests notice a
package function that drifts from the formula that was judged.
"""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from entropy_theory import entropy_change, forecast
from entropy_theory.advantages import group_normalization_gain
from entropy_theory.claims.aent import c_stays_away as c_claim
from entropy_theory.claims.aent.clamping_reduces_bias import kept_tokens
from entropy_theory.claims.aent.lemma_5 import soft_gap
from entropy_theory.claims.aepo.sign_change import cold_enough, hot_enough
from entropy_theory.claims.entropy_mechanism import tree_rates as rates
from entropy_theory.claims.entropy_mechanism.sign_rules import natural_covariance, plain_covariance
from entropy_theory.claims.extensions import (
    global_slope,
    isotropic_noise,
    noise,
    noise_shapes,
    score_forecast,
    second_order,
)
from entropy_theory.claims.extensions import gradient_entropy_bounds as bounds
from entropy_theory.claims.extensions import group_normalization_gain as normalization
from entropy_theory.entropy_change import sign_change_temperature as crossing
from entropy_theory.entropy_change import tempered_reinforce_rate, tempered_reinforce_rate_slope
from entropy_theory.policy import covariance, kept_actions, log_softmax, softmax
from entropy_theory.token_batch import TokenBatch
from entropy_theory.token_tree import TokenTree
from entropy_theory.verification import arithmetic as ar
from tests.tolerances import FLOAT64, ROUNDING


def random_policies(seed, n, cases=50):
    generator = np.random.default_rng(seed)
    return generator, 2 * generator.standard_normal((cases, n))


def test_second_order_is_the_package_function():
    generator, logits = random_policies(1, 5)
    step = generator.standard_normal(logits.shape)
    claimed = second_order.first_order(logits, step) + second_order.quadratic_form(logits, step) / 2
    # Sums of 25 products at most, each below the square of the step times what logits are apart.
    size = np.square(step).max() * (1 + np.ptp(logits, axis=-1).max())
    np.testing.assert_allclose(
        claimed, entropy_change.second_order(logits, step), rtol=0, atol=size * ROUNDING)


def test_effects_of_noise_are_those_of_the_package():
    """Noise of any covariance, of the logits and of samples: formulas of claims and package functions."""
    generator, logits = random_policies(2, 6)
    noise_of_each = generator.standard_normal((len(logits), 6, 6))
    any_covariance = noise.noise_covariance(logits, noise_of_each)
    of_samples = noise_shapes.score_covariance(logits)
    np.testing.assert_allclose(of_samples, entropy_change.score_covariance(logits), rtol=0, atol=ROUNDING)
    for covariance_, formula in (
            (any_covariance, noise.noise_effect(logits, any_covariance)),
            (of_samples, noise_shapes.score_effect(logits)),
            (np.broadcast_to(np.eye(6), of_samples.shape), entropy_change.of_isotropic_noise(logits))):
        found = entropy_change.of_noise(logits, covariance_)
        # Sums of 6^3 products, each below the largest covariance times what logits are apart.
        size = np.abs(covariance_).max() * (1 + np.ptp(logits, axis=-1).max())
        np.testing.assert_allclose(formula, found, rtol=0, atol=size * 6**3 * ROUNDING)
    np.testing.assert_allclose(isotropic_noise.isotropic_effect(logits),
                               entropy_change.of_isotropic_noise(logits), rtol=0, atol=ROUNDING)


def one_state_batch(generator, n, tokens):
    """Random tokens at one random state, their batch and the policy's statistics."""
    logits = 2 * generator.standard_normal(n)
    action = generator.integers(0, n, (tokens, 1))
    log_p = np.broadcast_to(log_softmax(logits), (tokens, 1, n))
    taken = np.take_along_axis(log_p, action[..., None], axis=-1)[..., 0]
    weight = generator.random((tokens, 1))
    batch = TokenBatch(log_prob=taken, old_log_prob=taken, reward=np.zeros((tokens, 1)),
                       mask=np.ones((tokens, 1), dtype=bool), weight=weight / weight.sum())
    return logits, action, batch, forecast.state_statistics(log_p, action)


@pytest.mark.parametrize("seed", range(5))
def test_score_forecast_is_what_the_package_forecasts(seed):
    """The claim's formula, summed by action, equals forecast.token_contributions on random tokens."""
    generator = np.random.default_rng(seed)
    n, tokens, coefficient = 6, 9, 0.3
    logits, action, batch, statistics = one_state_batch(generator, n, tokens)
    scores = generator.standard_normal((tokens, 1))
    terms = {"entropy": np.full((tokens, 1), coefficient)}
    contributions = forecast.token_contributions(batch, scores, terms, statistics)
    by_action = np.zeros(n)
    np.add.at(by_action, action[:, 0], (batch.weight * scores)[:, 0])
    instance = SimpleNamespace(
        logits=logits[None], score=by_action[None], entropy=np.array([coefficient]),
        clamped=np.zeros(1), reference_kl=np.zeros(1), reference=np.zeros((1, n)),
        correct=np.ones((1, n), dtype=bool))
    # Nine tokens, whose parts have both signs: rounding is relative to the sum of their sizes.
    assert contributions.sum() == pytest.approx(
        float(score_forecast.forecast(instance)[0]), rel=0, abs=ROUNDING * np.abs(contributions).sum())


def test_kept_tokens_are_those_of_the_clamped_entropy():
    """The claims rank in balls; the package's own rule must keep the same tokens, ties included."""
    generator = np.random.default_rng(0)
    logits = generator.integers(0, 3, (200, 6)).astype(float)
    for fraction in (0.0, 0.2, 1 / 3, 0.5, 0.9):
        assert np.array_equal(kept_tokens(logits, np.full(200, fraction)),
                              kept_actions(logits, fraction))


def test_covariances_are_those_of_the_theorems():
    """Against the package's own covariance, with A = r - E r written out; six terms of order one."""
    generator = np.random.default_rng(0)
    logits, reward = generator.normal(size=(50, 6)), generator.random((50, 6))
    probabilities, log_probabilities = softmax(logits), log_softmax(logits)
    advantage = reward - np.sum(probabilities * reward, axis=-1, keepdims=True)
    np.testing.assert_allclose(
        plain_covariance(logits, reward),
        covariance(probabilities, log_probabilities, probabilities * advantage), rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(
        natural_covariance(logits, reward),
        covariance(probabilities, log_probabilities, advantage), rtol=0, atol=ROUNDING)


def test_natural_gradient_is_the_advantage():
    """Theorem 2's step against the pseudo-inverse of the Fisher matrix, summed over responses."""
    generator = np.random.default_rng(3)
    logits, reward = generator.standard_normal((1, 13, 3)), generator.random((1, 27))
    tree, p = TokenTree.of(logits), ar.softmax(logits)
    fisher = np.zeros((p[0].size, p[0].size))
    for response, probability in enumerate(tree.response_probabilities(p)[0]):
        score = np.zeros(p[0].shape)
        for state, token in tree.path(response):
            score[state] -= p[0, state]
            score[state, token] += 1
        fisher += probability * np.outer(score, score)
    slope = rates.policy_gradient(logits, reward)[0].reshape(-1)
    step = (np.linalg.pinv(fisher, rcond=1e-12) @ slope).reshape(p[0].shape)
    expected = rates.advantage(logits, reward)[0]
    differences = step - expected
    # The pseudo-inverse loses the condition number of what it inverts, 3e3, of sums of order one.
    sizes = np.linalg.svd(fisher)[1]
    condition = sizes[0] / sizes[sizes > 1e-12 * sizes[0]][-1]
    np.testing.assert_allclose(
        differences, differences[:, :1] * np.ones(3), rtol=0, atol=condition * ROUNDING)


def floats(weights, correct, **scalars):
    """The same as a float batch of one."""
    return SimpleNamespace(
        logits=np.log(np.array([weights], dtype=float)),
        correct=np.array([[a in correct for a in range(1, len(weights) + 1)]]),
        **{name: np.array([float(value)]) for name, value in scalars.items()},
    )


def test_bounds_enclose_the_sign_change():
    """D / log(W / max w) <= T0 <= R W/|S| where both exist, T0 by bisection elsewhere in the package."""
    generator = np.random.default_rng(0)
    logits = 2 * generator.standard_normal((2000, 5))
    correct = generator.random((2000, 5)) < 0.6
    kept = correct.any(axis=-1)
    logits, correct = logits[kept], correct[kept]
    zero = crossing(logits, correct)
    for temperature in (0.3, 0.8, 1.2, 3.0, 30.0):
        at = np.full(len(logits), temperature)
        hot = hot_enough(logits, correct, at) > 0
        cold = cold_enough(logits, correct, at) > 0
        assert np.all(zero[hot] < temperature)
        assert np.all(zero[cold] > temperature)
        assert hot.any()
        assert cold.any()


def test_threshold_of_the_slope_is_the_one_of_the_theorem():
    """z+ from "c_a < C" alone equals z+ from "z_a >= zb and c_a < C", and bounds the slope of F."""
    i = floats((1, 2, 3, 7), {1, 4}, temperature=1.5)
    policy = np.exp(i.logits[0]) / np.exp(i.logits[0]).sum()
    mean = policy @ i.logits[0]
    own = policy * (i.logits[0] - mean)
    short = [z for z, c in zip(i.logits[0], own, strict=True) if z >= mean and c < policy @ own]
    assert global_slope.threshold(i.logits)[0] == pytest.approx(max([mean, *short]))
    hot = policy ** (1 / 1.5) / (policy ** (1 / 1.5)).sum()
    fall = -tempered_reinforce_rate(i.logits, i.correct, 1.5)[0]
    slope = 1.5**2 * tempered_reinforce_rate_slope(i.logits, i.correct, 1.5)[0]
    assert fall > 0
    assert slope > (global_slope.threshold(i.logits)[0] - hot @ i.logits[0]) * fall


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("group_size", [2, 3, 5, 16])
def test_gain_is_the_one_that_training_uses(group_size, ddof):
    right = np.array([0.0, 1e-9, 0.2, 0.5, 0.9, 1.0])
    ours = normalization.gain(right, 1 - right, group_size, ddof)
    theirs = group_normalization_gain(right, 1 - right, group_size=group_size, ddof=ddof)
    # G roundings in each power, and as many in the sum, on either side.
    bound = 4 * group_size * FLOAT64
    np.testing.assert_allclose(ours, theirs, rtol=bound)
    if not ddof:
        np.testing.assert_allclose(ours[[0, -1]], math.sqrt(group_size - 1), rtol=bound)


def test_gradient_of_a_saturated_policy_keeps_its_digits():
    """Q - V at the top of a policy with 1 - pi = 1e-26: the naive difference is all rounding."""
    gradient = bounds.value_gradient(np.array([[60.0, 0.0]]), np.array([1.0, 0.0]))[0]
    np.testing.assert_allclose(gradient, [np.exp(-60), -np.exp(-60)], rtol=ROUNDING)


def _formula(function):
    """What formulas say, computed as written."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def test_careful_numbers_are_those_of_the_formula():
    """Both round some 16 times on their way, values of order one and below."""
    rounding = 16 * np.finfo(float).eps

    def check(function, *arguments):
        found, written = function(*arguments), _formula(function)(*arguments)
        assert np.abs(written).max() < 1
        np.testing.assert_allclose(found, written, rtol=0, atol=rounding)

    generator = np.random.default_rng(1)
    logits, step = generator.standard_normal((2, 50, 4))
    reward = generator.integers(0, 2, (50, 4)).astype(float)
    for rise in (c_claim.rise, c_claim.mass_rise):
        check(rise, logits, reward, step)
    deep, returned = generator.standard_normal((20, 4, 3)), generator.random((20, 9))
    check(bounds.value_gradient, deep, returned)
    check(soft_gap, deep, returned, np.full(20, 0.3))
