"""Guards the second-order change of entropy by noise: every draw enumerated, Monte Carlo, mpmath."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.optimize import brentq

from entropy_theory import entropy_change
from entropy_theory.policy import entropy, softmax

RNG = np.random.default_rng(4)
LOGITS = [RNG.normal(scale=scale, size=n) for n in (2, 3, 5) for scale in (0.3, 2.0, 5.0)]
ETA = 1e-3


def enumerated(logits, sampler):
    """The mean exact change by one draw whose advantage is a coin, over the square of the step length:
    of fourth order, as steps of either sign are as likely."""
    pi = softmax(logits)
    return sum(
        mu * entropy_change.exact(logits, sign * ETA * (row - pi)) / 2
        for mu, row in zip(sampler, np.eye(len(pi)), strict=True) for sign in (1, -1)) / ETA**2


@pytest.mark.parametrize("logits", LOGITS, ids=lambda z: f"{len(z)}-{entropy(z):.2f}")
@pytest.mark.parametrize("temperature", [1.0, 0.6, 3.0])
def test_one_draw_with_a_coin_for_a_reward(logits, temperature):
    """Drawn from the policy, and from a sampler at another temperature."""
    sampler = softmax(logits, temperature)
    found = entropy_change.of_noise(logits, entropy_change.score_covariance(logits, sampler))
    # Both signs are averaged: what the enumeration leaves out is of fourth order in steps of ETA.
    assert found == pytest.approx(enumerated(logits, sampler), rel=1e-4, abs=1e-9)
    if temperature == 1:  # one formula by two ways: some roundings
        assert found == pytest.approx(entropy_change.of_noise(
            logits, entropy_change.score_covariance(logits)), rel=1e-12)


def test_a_group_of_standardized_coins_is_one_draw_over_the_group():
    """All 3^4 draws and 2^4 coins, GRPO's advantages: mean square 1, or 0 in a group all alike."""
    logits, size = np.array([1.3, -0.2, 0.4]), 4
    pi, eye = softmax(logits), np.eye(3)
    mean, squares = 0.0, 0.0
    for coins in itertools.product((0.0, 1.0), repeat=size):
        centered = np.array(coins) - np.mean(coins)
        spread = np.std(coins)
        advantage = centered / spread if spread else np.zeros(size)
        squares += np.mean(advantage**2) / 2**size
        for actions in itertools.product(range(3), repeat=size):
            step = sum(a * (eye[k] - pi) for a, k in zip(advantage, actions, strict=True)) / size
            chance = math.prod(pi[list(actions)]) / 2**size
            mean += chance * entropy_change.exact(logits, ETA * step) / ETA**2
    one = entropy_change.of_noise(logits, entropy_change.score_covariance(logits))
    assert squares == pytest.approx(1 - 2 / 2**size)
    assert mean == pytest.approx(squares / size * one, rel=1e-4)


def test_isotropic_noise_by_its_closed_form_by_its_covariance_and_by_chance():
    for logits in LOGITS:
        closed = entropy_change.of_isotropic_noise(logits)
        # The covariance's sums cancel where the policy is peaked, to some 1e-14 of terms near 1.
        assert closed == pytest.approx(
            entropy_change.of_noise(logits, np.eye(len(logits))), rel=1e-9, abs=1e-14)
        noise = np.random.default_rng(0).normal(size=(100_000, len(logits)))
        changes = (entropy_change.exact(logits, 0.01 * noise)
                   + entropy_change.exact(logits, -0.01 * noise)) / 2e-4
        error = changes.std() / math.sqrt(len(changes))
        # Of fourth order in steps of .01: 1e-4 of the size.
        assert closed == pytest.approx(changes.mean(), abs=5 * error + 1e-3)


def test_peaked_policies_rise_and_flat_ones_fall():
    """Two actions, whatever the noise: entropy turns at (p - q) log(p/q) = 1, p = .824."""
    def both(p):
        logits = np.log([p, 1 - p])
        return (entropy_change.of_isotropic_noise(logits),
                entropy_change.of_noise(logits, entropy_change.score_covariance(logits)))

    turn = brentq(lambda p: (2 * p - 1) * np.log(p / (1 - p)) - 1, 0.6, 0.95, xtol=1e-15)
    assert turn == pytest.approx(0.824, abs=5e-4)  # the digits above
    for change in both(turn):
        # The slope at the root, some 1, times the root's 1e-15, and rounding.
        assert change == pytest.approx(0, abs=1e-12)
    assert all(change > 0 for change in both(turn + 0.01))
    assert all(change < 0 for change in both(turn - 0.01))
    uniform = np.zeros(7)
    assert entropy_change.of_isotropic_noise(uniform) == pytest.approx(-(1 - 1 / 7) / 2)


def test_the_sign_stays_right_at_collapse():
    """60 nats deep, where 1 - pi rounds to 0."""
    logits = np.array([60.0, 0.0, 1.0])
    with mpmath.workdps(60):
        e = [mpmath.exp(z) for z in logits.tolist()]
        pi = [x / sum(e) for x in e]
        h = -sum(p * mpmath.log(p) for p in pi)
        want = sum(p * p * (mpmath.log(p) + h) for p in pi) - (1 - sum(p * p for p in pi)) / 2
    # Some thousand roundings: nothing cancels at collapse.
    assert entropy_change.of_isotropic_noise(logits) == pytest.approx(float(want), rel=1e-12)
