"""AEPO's statements about one tempered step: verdicts, and numbers known from elsewhere."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from entropy_theory.advantages import group_normalization_gain
from entropy_theory.claims.aepo import (
    asymmetry,
    combined_update,
    finite_step,
    fixed_positives,
    high_temperature_raises,
    low_temperature_lowers,
    reward_improvement,
)
from entropy_theory.claims.aepo.sign_change import cold_enough, hot_enough
from entropy_theory.claims.aepo.tempered_reinforce import rate
from entropy_theory.claims.extensions import global_slope, sign_change_temperature
from entropy_theory.claims.extensions import group_normalization_gain as normalization
from entropy_theory.entropy_change import sign_change_temperature as crossing
from entropy_theory.entropy_change import tempered_reinforce_rate, tempered_reinforce_rate_slope
from entropy_theory.verification import Statement
from entropy_theory.verification.certify import check_instance


def bandit(weights, correct, **scalars):
    """An instance of exact data, actions numbered from 1."""
    return {"weights": list(weights), "correct": [a in correct for a in range(1, len(weights) + 1)],
            **scalars}


def floats(weights, correct, **scalars):
    """The same as a float batch of one."""
    return SimpleNamespace(
        logits=np.log(np.array([weights], dtype=float)),
        correct=np.array([[a in correct for a in range(1, len(weights) + 1)]]),
        **{name: np.array([float(value)]) for name, value in scalars.items()},
    )


@pytest.mark.parametrize(
    ("statement", "instance"),
    [
        (high_temperature_raises.high_temperature_raises.statement,
         bandit((1, 2), {2}, temperature=2)),
        # F(2) is still negative where F(3) is not.
        (high_temperature_raises.high_temperature_raises.statement,
         bandit((1, 1, 3), {1, 3}, temperature=2)),
        (low_temperature_lowers.low_temperature_lowers.statement,
         bandit((2, 3), {1}, temperature=Fraction(7, 10))),
        *((reward_improvement.reward_improvement.statement,
           bandit(weights, correct, temperature=temperature, learning_rate=Fraction(1, 100)))
          for weights, correct, temperature in (
              ((1, 1, 6), {1, 3}, 10), ((1, 1, 8), {1, 3}, 4), ((1, 1, 13), {1, 3}, 2),
              ((1, 5, 43), {2, 3}, Fraction(5, 4)), ((1, 6, 53), {2, 3}, Fraction(6, 5)))),
        *((finite_step.finite_step.statement,
           bandit(weights, {2, 3}, temperature=temperature, learning_rate=eta))
          for weights, temperature, eta in (
              ((1, 1, 2), 8, 20), ((1, 1, 3), 20, 15), ((1, 2, 4), 8, 12), ((1, 4, 7), 5, 10),
              ((1, 2, 6), 20, 10), ((1, 6, 12), 10, 8), ((1, 13, 22), 10, 7),
              ((1, 87, 114), 10, 6))),
    ],
)
def test_known_counterexamples_are_certified(statement, instance):
    assert check_instance(statement, instance).status == "violated"


@pytest.mark.parametrize(
    ("statement", "instance"),
    [
        (high_temperature_raises.high_temperature_raises.repair,
         bandit((1, 1, 3), {1, 2, 3}, temperature=Fraction(6, 5))),
        (high_temperature_raises.high_temperature_raises.repair,
         bandit((1, 1, 3), {1, 3}, temperature=10)),
        (low_temperature_lowers.low_temperature_lowers.repair,
         bandit((1, 1, 3), {1, 3}, temperature=Fraction(1, 2))),
        # One right answer: reward rises at every temperature.
        (reward_improvement.reward_improvement.repair,
         bandit((1, 1, 8), {3}, temperature=10, learning_rate=4)),
        (reward_improvement.reward_improvement.repair,
         bandit((1, 1, 8), {1, 3}, temperature=Fraction(1, 4), learning_rate=100)),
    ],
)
def test_repairs_hold_and_are_not_vacuous(statement, instance):
    assert check_instance(statement, instance).status == "holds"


def test_the_asymmetry_is_one_of_scale():
    """T = 1.25 against 0.8: odds of five to one are enough; 1.2 against 0.8: eleven to one."""
    for odds, high, status in ((4, Fraction(5, 4), "holds"), (5, Fraction(5, 4), "violated"),
                               (10, Fraction(6, 5), "holds"), (11, Fraction(6, 5), "violated")):
        instance = {"weights": [1, odds], "temperature_high": high,
                    "temperature_low": Fraction(4, 5)}
        assert check_instance(asymmetry.asymmetry.statement, instance).status == status


def test_reward_falls_by_the_known_amount():
    """dJ = -0.00153 at w = (1, 1, 8), A* = {1, 3}, T = 4."""
    i = floats((1, 1, 8), {1, 3}, temperature=4)
    found = reward_improvement.reward_rate(i.logits, i.correct, i.temperature)[0]
    assert found == pytest.approx(-0.00153, abs=5e-6)


def test_weights_that_just_raise_entropy():
    """alpha: 37.67 by Eq. 1, 26.73 with a fixed number of positives (w = (1, 1, 3), T = 3, G = 8)."""
    i = floats((1, 1, 3), {1, 3}, temperature=3)
    kappa = normalization.gain(np.array([0.8]), np.array([0.2]), 8)
    falls = kappa * -rate(i.logits, i.correct)
    assert (falls / rate(i.logits, i.correct, i.temperature))[0] == pytest.approx(37.67, abs=0.005)
    fixed = fixed_positives.fixed_rate(i.logits, i.correct, i.temperature)
    assert (falls / fixed)[0] == pytest.approx(26.73, abs=0.005)


@pytest.mark.parametrize(("alpha", "status"), [(37, "violated"), (38, "holds")])
def test_the_threshold_on_alpha_is_sharp(alpha, status):
    kappa = Fraction(float(normalization.gain(np.array([0.8]), np.array([0.2]), 8)[0]))
    raises = Statement(latex="", margin=lambda i: combined_update._parts(i)[0])
    instance = bandit((1, 1, 3), {1, 3}, temperature=3, grpo_weight=kappa, alpha=alpha)
    assert check_instance(raises, instance).status == status


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


def test_one_answer_has_no_sign_change_temperature():
    """F(T) keeps its sign for |A*| = 1; T0 = 1 where every action is correct."""
    logits = np.log(np.array([[2.0, 3.0, 4.0]]))
    for answer in range(3):
        mask = np.arange(3)[None] == answer
        assert crossing(logits, mask)[0] in (0.0, math.inf)
    assert crossing(logits, np.ones((1, 3), dtype=bool))[0] == pytest.approx(1.0)
    holds = sign_change_temperature.sign_change_temperature.statement
    assert check_instance(holds, bandit((2, 3, 4), {1}, temperature=5)).status == "holds"


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
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)
    if not ddof:
        np.testing.assert_allclose(ours[[0, -1]], math.sqrt(group_size - 1), rtol=1e-13)


def test_reward_rises_at_every_temperature_where_it_does_in_the_hot_limit():
    """T_R = inf iff (1 - p)/|A*| + sum_{wrong} pi^2 >= p (1 - p) <q, q>: the rate at T = 10^6."""
    generator = np.random.default_rng(2)
    logits = 2 * generator.standard_normal((3000, 5))
    correct = generator.random((3000, 5)) < 0.6
    kept = correct.any(axis=-1) & ~correct.all(axis=-1)
    logits, correct = logits[kept], correct[kept]
    policy = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    right = (policy * correct).sum(axis=-1)
    limit = ((1 - right) / correct.sum(axis=-1) + (policy**2 * ~correct).sum(axis=-1)
             - (1 - right) / right * (policy**2 * correct).sum(axis=-1))
    clear = np.abs(limit) > 1e-4
    hot = reward_improvement.reward_rate(logits, correct, np.full(len(logits), 1e6))
    assert np.array_equal(hot[clear] > 0, limit[clear] > 0)
    assert 0 < (limit[clear] < 0).mean() < 1


def test_enumerated_groups_agree_with_sampling():
    """A slow second opinion on the expected GRPO step: 200,000 sampled groups of 4."""
    generator = np.random.default_rng(1)
    policy, correct, size = np.array([0.2, 0.5, 0.3]), np.array([True, False, True]), 4
    drawn = generator.choice(3, size=(200_000, size), p=policy)
    reward = correct[drawn].astype(float)
    deviation = reward.std(axis=1, keepdims=True)
    advantage = np.where(deviation > 0, (reward - reward.mean(axis=1, keepdims=True))
                         / np.where(deviation > 0, deviation, 1), 0)
    step = np.stack([(advantage * (drawn == a)).sum(axis=1) for a in range(3)], axis=-1) / size
    exact = normalization.enumerated_step(np.log(policy)[None], correct[None], size, 0)[0]
    np.testing.assert_allclose(step.mean(axis=0), exact, atol=4 * 0.5 / math.sqrt(200_000))


def test_fixed_positives_make_the_low_half_global():
    """w = (4, 7, 8), A* = {2}: F(1/20) > F(1) by Eq. 4, but not with a fixed number of positives."""
    i = floats((4, 7, 8), {2}, temperature=0.05)
    assert rate(i.logits, i.correct, i.temperature) > rate(i.logits, i.correct)
    fixed = fixed_positives.fixed_rate(i.logits, i.correct, i.temperature)
    np.testing.assert_allclose(fixed, fixed_positives.fixed_rate(i.logits, i.correct), rtol=1e-12)
