"""Our extensions and the later papers' statements: verdicts, known numbers, and ties to the package."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from entropy_theory import entropy_change, forecast
from entropy_theory.claims.extensions import (
    clamped_bonus,
    diverse_bonus,
    entropy_bonus,
    hessian,
    level_set_diverse_bonus,
    natural_entropy_bonus,
    remainder_constant,
    score_forecast,
    second_order,
)
from entropy_theory.claims.later_work import annealed_covariance, entrocraft, opefo, sampled_action
from entropy_theory.policy import clamped_entropy, entropy, log_softmax, softmax
from entropy_theory.token_batch import TokenBatch
from entropy_theory.verification import Statement
from entropy_theory.verification import arithmetic as ar
from entropy_theory.verification.certify import check_instance


def random_policies(seed, n, cases=50):
    generator = np.random.default_rng(seed)
    return generator, 2 * generator.standard_normal((cases, n))


def statement(margin):
    return Statement(latex="", margin=margin)


# ---------------------------------------------------------------- formulas against independent code


def test_second_order_is_the_package_function():
    generator, logits = random_policies(1, 5)
    step = generator.standard_normal(logits.shape)
    claimed = second_order.first_order(logits, step) + second_order.quadratic_form(logits, step) / 2
    np.testing.assert_allclose(claimed, entropy_change.second_order(logits, step), atol=1e-12)


def test_hessian_against_finite_differences():
    _, logits = random_policies(2, 4, cases=1)
    z, h, eye = logits[0], 1e-4, np.eye(4)
    found = np.array([
        [(entropy(z + h * (a + b)) - entropy(z + h * (a - b)) - entropy(z - h * (a - b))
          + entropy(z - h * (a + b))) / (4 * h * h) for b in eye]
        for a in eye
    ])
    np.testing.assert_allclose(hessian.hessian_matrix(logits)[0], found, atol=1e-6)


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
    assert contributions.sum() == pytest.approx(float(score_forecast.forecast(instance)[0]), rel=1e-12)
    small = 1e-6 * score_forecast.step(instance)
    assert entropy_change.exact(instance.logits, small)[0] == pytest.approx(
        1e-6 * contributions.sum(), rel=1e-3)


def test_clamped_tilt_is_the_gradient_of_the_clamped_entropy():
    _, logits = random_policies(3, 5, cases=8)
    order = np.argsort(np.argsort(logits, axis=-1), axis=-1)
    top, h = order >= 2, 1e-6
    found = np.stack([
        (clamped_entropy(logits + h * e, 0.4) - clamped_entropy(logits - h * e, 0.4)) / (2 * h)
        for e in np.eye(5)
    ], axis=-1)
    np.testing.assert_allclose(-clamped_bonus.clamped_tilt(logits, top), found, atol=1e-8)


# ---------------------------------------------------------------- known numbers and counterexamples


@pytest.mark.parametrize(("n", "best"), [(3, 0.5285), (10, 0.6247), (1000, 1.102), (151_936, 1.698)])
def test_remainder_constant_is_between_the_best_known_and_the_former_one(n, best):
    """The best constant found numerically (two equal big actions) bounds ours from below."""
    two_big = remainder_constant.two_big_actions(n)
    assert two_big == pytest.approx(best, abs=1e-3)
    assert two_big < remainder_constant.curvature_constant(n, np.zeros(1)) < (1 + math.log(n)) / 2


def test_two_actions_reach_their_constant():
    """At the uniform policy R/||d||^2 tends to -1/4."""
    step = np.array([[1e-3, -1e-3]])
    change = entropy_change.exact(np.zeros((1, 2)), step)
    assert change[0] / np.sum(step**2) == pytest.approx(-0.25, rel=1e-5)


@pytest.mark.parametrize(("strength", "weights"), [
    (Fraction(3, 2), [1, 10**4, 10**4]), (Fraction(11, 10), [1, 10**40, 10**40]),
])
def test_a_natural_bonus_above_one_can_lower_entropy(strength, weights):
    claim = natural_entropy_bonus.natural_entropy_bonus.statement
    assert check_instance(claim, {"weights": weights, "strength": strength}).status == "violated"
    assert check_instance(claim, {"weights": weights, "strength": 1}).status == "holds"


def test_the_vanilla_bonus_overshoots_just_above_four():
    claim = entropy_bonus.entropy_bonus_two_actions.statement
    near_uniform = {"weights": [99, 101], "share": Fraction(101, 100)}
    assert check_instance(claim, near_uniform).status == "violated"
    assert check_instance(claim, {**near_uniform, "share": 1}).status == "holds"


def test_clamping_to_unlikely_actions_can_lower_entropy():
    """Kept actions 2 and 3 are not a top set."""
    kept = np.array([[False, True, True, False]])
    rates = [clamped_bonus.rate(np.log(np.array([[w, 1.0, 3.0, 1.0]])), kept)[0] for w in (1, 30)]
    assert rates[0] > 0 > rates[1]


def test_the_sign_of_a_sampled_action_is_not_that_of_a_bump():
    """pi_k = 0.4 > e^-H = 0.349: a bump lowers entropy; a sampled action of this policy raises it."""
    instance = SimpleNamespace(logits=np.log(np.array([[4.0, 5.0, 1.0]])), size=np.array([0.01]))
    assert sampled_action._depth(instance)[0, 0] > 0
    p = ar.softmax(instance.logits)
    bump = np.array([[1.0, 0.0, 0.0]])
    assert entropy_change.exact(instance.logits, 0.01 * bump)[0] < 0
    assert entropy_change.exact(instance.logits, 0.01 * (bump - p))[0] > 0


def test_positives_only_and_negatives_only_are_one_step():
    generator, logits = random_policies(5, 6)
    correct = generator.random(logits.shape) < 0.5
    p = softmax(logits)
    mass = np.sum(p * correct, axis=-1, keepdims=True)
    np.testing.assert_allclose(correct * p - mass * p, -(~correct * p - (1 - mass) * p), atol=1e-15)
    up = entrocraft.rate_of_positives(logits, correct)
    np.testing.assert_allclose(up, entrocraft.rate_of_negatives(logits, correct), atol=1e-12)
    assert (up > 0).any()
    assert (up < 0).any()


def test_flow_balancing_freezes_two_actions():
    generator, logits = random_policies(6, 2)
    p = softmax(logits)
    advantage = generator.random(logits.shape)
    advantage -= np.sum(p * advantage, axis=-1, keepdims=True)
    coefficients = p * advantage
    assert np.abs(opefo.balance(opefo.flows(logits, coefficients))) == pytest.approx(1)
    assert np.abs(opefo.balanced_step(logits, coefficients)).max() < 1e-12
    assert np.abs(coefficients).max() > 0.1


def test_flow_balancing_can_lower_the_reward():
    claim = opefo.opefo_reward.statement
    instance = {"weights": [2, 4, 5], "reward": [0, Fraction(3, 4), 1]}
    assert check_instance(claim, instance).status == "violated"


def test_the_bonus_gap_is_that_of_its_stationary_policy():
    for coefficient in (0.1, 1.0, 5.0):
        reward = np.array([1.0, 1.0, 0.0, 0.0, 0.0])
        instance = SimpleNamespace(logits=reward[None], correct=reward[None] > 0,
                                   coefficient=np.array([coefficient]))
        expected = 1 - softmax(reward / coefficient) @ reward
        assert annealed_covariance.bonus_gap(instance)[0] == pytest.approx(expected, rel=1e-12)


def test_flow_balancing_is_a_sum_over_rises():
    """Rewards 0 and 1: (R + L) times the rate of the reward is 2 sum_{rises} G T, never negative."""
    generator, logits = random_policies(7, 6, cases=2000)
    reward = (generator.random(logits.shape) < 0.5).astype(float)
    some = reward.any(axis=-1) & ~reward.all(axis=-1)
    logits, reward = logits[some], reward[some]
    p = softmax(logits)
    coefficients = p * ar.centered(p, reward)
    flow, excess = opefo.flows(logits, coefficients), opefo.excess(logits)
    rate = opefo._progress(SimpleNamespace(logits=logits), reward) * np.abs(flow).sum(axis=-1)
    x, y = (coefficients**2).sum(axis=-1), (coefficients * excess).sum(axis=-1)
    centered = coefficients - np.sum(p * coefficients, axis=-1, keepdims=True)
    t = y[:, None] * centered - x[:, None] * excess
    np.testing.assert_allclose(rate, 2 * np.sum(coefficients * t * (flow > 0), axis=-1), atol=1e-15)
    assert rate.min() > -1e-17
    assert rate.max() > 1e-4


def test_the_bonus_among_right_answers_against_differences():
    """H(q), the reward and the full entropy after a small plain and a small natural step."""
    generator, logits = random_policies(9, 6)
    correct = generator.random(logits.shape) < 0.5
    correct[:, 0] = True
    h = 1e-5

    def measured(z):
        p = softmax(z)
        right = np.where(correct, p, 0).sum(axis=-1)
        q = np.where(correct, p, 1) / np.where(correct, right[:, None], 1)
        return np.stack([-np.where(correct, q * np.log(q), 0).sum(axis=-1), right, entropy(z)])

    def slope(step):
        return (measured(logits + h * step) - measured(logits - h * step)) / (2 * h)

    claims = diverse_bonus
    plain = slope(claims.diverse_step(logits, correct))
    np.testing.assert_allclose(plain[0], claims.diversity_rate(logits, correct), atol=1e-8)
    np.testing.assert_allclose(plain[1], claims.reward_rate(logits, correct), atol=1e-8)
    np.testing.assert_allclose(plain[2], claims._full_rate(logits, correct), atol=1e-8)
    natural = slope(claims.surprise(logits, correct))
    spread = claims.spread(logits, correct)
    np.testing.assert_allclose(
        natural, [spread, 0 * spread, claims.right_mass(logits, correct) * spread], atol=1e-7)
    # Sums of at most as many terms as actions, each below 1 nat, with some roundings of 1.1e-16 a term.
    np.testing.assert_allclose(claims.diversity(logits, correct), measured(logits)[0], atol=1e-14)
    assert (plain[1] < -1e-3).any()
    assert (plain[2] < -1e-4).any()


def test_an_entropy_held_by_the_bonus_against_differences():
    """Entropy and reward on both sides of a policy, along the step that holds the entropy."""
    generator, logits = random_policies(10, 6, cases=400)
    correct = generator.random(logits.shape) < 0.5
    # Two right answers at least, so that the bonus does something.
    correct[:, :2], correct[:, 2] = True, False
    claims = level_set_diverse_bonus
    raised = claims.entropy_of_bonus(logits, correct)
    step = claims.held_step(logits, correct)
    # Central differences are off by h^2/6 times a third derivative, of the order of |step|^3.
    small = np.abs(step).max(axis=-1) < 3
    logits, correct, raised, step = logits[small], correct[small], raised[small], step[small]
    h = 1e-5

    def measured(z):
        return np.stack([entropy(z), np.where(correct, softmax(z), 0).sum(axis=-1)])

    slope = (measured(logits + h * step) - measured(logits - h * step)) / (2 * h)
    np.testing.assert_allclose(slope[0], 0, atol=1e-8)
    np.testing.assert_allclose(slope[1], claims.held_gain(logits, correct) / raised, atol=1e-8)
    np.testing.assert_array_equal(np.sign(slope[1]), np.sign(raised))
    assert (raised < 0).any()
    assert (raised > 0).sum() > 100


def test_the_reward_held_is_a_sum_of_three_parts():
    """The docstring's formula, its parts by weights of the right and of the wrong answers alone."""
    generator, logits = random_policies(11, 5)
    correct = generator.random(logits.shape) < 0.5
    correct[:, 0], correct[:, 1] = True, False
    for z, right in zip(logits, correct, strict=True):
        pi = softmax(z)
        p = pi[right].sum()
        squares, tilts, spreads = [], [], []
        for given in (pi[right] / p, pi[~right] / (1 - p)):
            excess = np.log(given) - given @ np.log(given)
            squares.append(given @ given)
            tilts.append(given**2 @ excess)
            spreads.append(given**2 @ excess**2)
        expected = p**3 * (1 - p)**2 * (
            p * (squares[0] * spreads[0] - tilts[0]**2) + p * squares[1] * spreads[0]
            + (1 - p) * tilts[0] * tilts[1])
        found = level_set_diverse_bonus.held_gain(z[None], right[None])[0]
        # Two products of sums of at most five terms that nearly cancel, each of size 1: some 50 roundings
        # (1e-14); relative to what is left of them, seen up to 2e-11 on 100,000 random policies.
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("prompts", [level_set_diverse_bonus.FEWEST, level_set_diverse_bonus.TWENTY])
def test_under_one_coefficient_for_two_prompts_the_reward_falls(prompts):
    """A small step of both prompts' logits: their entropy stays to first order, their reward does not."""
    coefficient = level_set_diverse_bonus.held_together(prompts)[1]
    h = 1e-5
    changes = np.zeros(2)
    for weights, count in prompts:
        z, right = np.log(np.array([weights], dtype=float)), np.arange(len(weights))[None] < count
        p = softmax(z)
        mass = p[right].sum()
        step = p * (right - mass) + coefficient * diverse_bonus.diverse_step(z, right)
        ends = [np.array([entropy(y)[0], softmax(y)[right].sum()]) for y in (z + h * step, z - h * step)]
        changes += (ends[0] - ends[1]) / (2 * h)
    assert abs(changes[0]) < 1e-7
    assert changes[1] < -1e-3
