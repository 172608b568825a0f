"""Guards entropy_change.py: exact, first and second order changes, AEPO's F(T), its slope and T0."""

import math

import flint
import mpmath
import numpy as np
import pytest

from entropy_theory import entropy_change
from tests.tolerances import FLOAT64, ROUNDING


def weights(*values):
    """Logits of the policy with probabilities proportional to integers."""
    return np.log(np.array(values, dtype=float))


def mask(n_actions, *correct):
    """Correct set from actions numbered from 1, as the counterexamples are printed."""
    result = np.zeros(n_actions, dtype=bool)
    result[[a - 1 for a in correct]] = True
    return result


def random_problem(seed, n_actions, scale=2.0):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(200, n_actions)) * scale
    correct = rng.random(logits.shape) < 0.4
    correct[np.arange(200), rng.integers(n_actions, size=200)] = True
    return logits, correct, rng.normal(size=logits.shape)


@pytest.mark.parametrize("size", [1e-8, 1e-3, 0.3, 1.0, 3.0, 40.0])
def test_exact_change_matches_arb_at_every_size(size):
    """A difference of two entropies loses a 1e-8 step to rounding; the two exact parts do not."""
    rng = np.random.default_rng(3)
    logits, direction = rng.normal(size=5), rng.normal(size=5)
    step = size * direction
    flint.ctx.prec = 300
    try:
        moved = [flint.arb(z) + flint.arb(d) for z, d in zip(logits, step, strict=True)]

        def entropy(z):
            total = sum((v.exp() for v in z), flint.arb(0))
            return total.log() - sum((v * v.exp() for v in z), flint.arb(0)) / total

        expected = float(entropy(moved) - entropy([flint.arb(z) for z in logits]))
    finally:
        flint.ctx.prec = 53
    # The parts are of the size of the change, up to the condition number of the covariance.
    assert entropy_change.exact(logits, step) == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("n_actions", [2, 3, 10])
def test_orders_of_convergence(n_actions):
    """First order errs by eta^2, second order by eta^3: halving eta divides errors by 4 and by 8."""
    logits, _, step = random_problem(0, n_actions)
    errors = {}
    for eta in (2e-2, 1e-2):
        exact = entropy_change.exact(logits, eta * step)
        errors[eta] = [
            np.abs(exact - entropy_change.first_order(logits, eta * step)).max(),
            np.abs(exact - entropy_change.second_order(logits, eta * step)).max(),
        ]
    first, second = (math.log2(errors[2e-2][i] / errors[1e-2][i]) for i in range(2))
    assert 1.9 < first < 2.1
    assert 2.8 < second < 3.2


@pytest.mark.parametrize("temperature", [0.3, 1.0, 1.2, 5.0, math.inf])
def test_rate_is_the_first_order_change_of_the_step(temperature):
    """AEPO, Eqs. 5 and 6: F(T) = -Cov_pi(log pi, dz) for the tempered REINFORCE step dz."""
    logits, correct, _ = random_problem(2, 6)
    step = entropy_change.tempered_reinforce_step(logits, correct, temperature)
    rate = entropy_change.tempered_reinforce_rate(logits, correct, temperature)
    np.testing.assert_allclose(rate, entropy_change.first_order(logits, step), atol=1e-14, rtol=0)


def test_slope_is_the_derivative_of_the_rate():
    logits, correct, _ = random_problem(5, 6)
    h = 1e-5
    for temperature in (0.7, 1.0, 2.0):
        central = (
            entropy_change.tempered_reinforce_rate(logits, correct, temperature + h)
            - entropy_change.tempered_reinforce_rate(logits, correct, temperature - h)
        ) / (2 * h)
        slope = entropy_change.tempered_reinforce_rate_slope(logits, correct, temperature)
        # Central difference: h^2 F''' / 6 plus rounding of F over h.
        np.testing.assert_allclose(slope, central, atol=1e-8, rtol=0)


def test_saturated_policies_do_not_fake_a_violation_of_theorem_4_3():
    """Naive c - C gives F'(1) <= 0 beside F(1) < 0 in thousands of saturated policies."""
    rng = np.random.default_rng(6)
    logits = rng.normal(size=(20_000, 4)) * rng.choice([5, 15, 40], size=(20_000, 1))
    correct = rng.random(logits.shape) < 0.5
    correct[~correct.any(-1), 0] = True
    rate = entropy_change.tempered_reinforce_rate(logits, correct, 1.0)
    slope = entropy_change.tempered_reinforce_rate_slope(logits, correct, 1.0)
    # Below 1e-150 the product of two tiny factors underflows.
    falling = rate < -1e-150
    assert falling.sum() > 1000
    assert (slope[falling] > 0).all()


@pytest.mark.parametrize(("logits", "correct", "expected"), [
    (weights(1, 2), mask(2, 2), math.inf),
    (weights(2, 3), mask(2, 1), 0.0),
    (weights(1, 2, 4), mask(3, 1, 2, 3), 1.0),
    # Never taken: its share of F is 0 at every temperature.
    (np.array([0.0, 1.0, -np.inf]), mask(3, 1, 2, 3), 1.0),
    (np.zeros(3), mask(3, 1, 2), math.nan),
    # 1/T must not overflow (warnings are errors here).
    (np.arange(4, dtype=np.float32), mask(4, 4), math.inf),
    (np.arange(4, dtype=np.float32), mask(4, 1), 0.0),
])
def test_known_sign_change_temperatures(logits, correct, expected):
    found = entropy_change.sign_change_temperature(logits, correct)
    assert found == pytest.approx(expected, rel=ROUNDING, nan_ok=True)


def test_the_bound_by_hand_and_one_action_never_moves():
    """5/16 + log(e) / 10 times 9, and a policy of one action."""
    step = np.array([[1.0, 2.0, 2.0], [0.0, 0.0, 0.0]])
    expected = [9 * (5 / 16 + math.log(3) / 10), 0.0]
    np.testing.assert_allclose(entropy_change.remainder_bound(3, step), expected, rtol=4 * FLOAT64)
    assert entropy_change.remainder_bound(1, np.array([2.0])) == pytest.approx(4 * 5 / 16)
    assert entropy_change.exact(np.array([0.3]), np.array([2.0])) == 0


def test_a_step_that_carries_a_common_shift_changes_entropy_as_without_it():
    """Only differences count: a shift within 1 on a small step, and one beyond it on a large one."""
    logits, _, step = random_problem(9, 4)
    for size, shift in ((0.1, 0.6), (0.1, -3.0), (3.0, 2.0)):
        moved = entropy_change.exact(logits, size * step + shift)
        # Of the size of the step and the shift, each rounded a few times, times a slope below 4.
        np.testing.assert_allclose(moved, entropy_change.exact(logits, size * step), rtol=0, atol=1e-13)
    ints = np.rint(3 * step)
    # Sums of exact numbers; a mean near 1e8 is rounded, alike for all actions, whose tilts sum to 0. What
    # is left are roundings of four terms of at most some 10.
    np.testing.assert_allclose(entropy_change.first_order(logits, ints + 1e8),
                               entropy_change.first_order(logits, ints), rtol=0, atol=10 * ROUNDING)
    second, moved = (entropy_change.second_order(logits, 0.1 * step + shift) for shift in (0.0, 0.5))
    # As above, of a step of at most some nats whose entries are shifted by 0.5.
    np.testing.assert_allclose(moved, second, rtol=0, atol=1e-13)


@pytest.mark.parametrize("gap", [1.0, 3.0, 8.0])
def test_the_sign_change_is_found_to_the_last_bits(gap):
    """A likely and an unlikely right answer: entropy falls just below T0 and rises just above it."""
    logits, correct = np.array([0.0, 0.0, gap]), mask(3, 1, 3)
    crossing = entropy_change.sign_change_temperature(logits, correct)
    assert 0 < crossing < math.inf
    below, above = (entropy_change.tempered_reinforce_rate(logits, correct, crossing * factor)
                    for factor in (1 - 1e-9, 1 + 1e-9))
    assert below < 0 < above


@pytest.mark.parametrize("limit", [entropy_change.PAIRWISE_LIMIT, 0])
def test_a_state_among_others_is_what_it_is_alone(limit, monkeypatch):
    """States on two leading axes, each with its own maximum, mean and actions never taken."""
    monkeypatch.setattr(entropy_change, "PAIRWISE_LIMIT", limit)
    rng = np.random.default_rng(12)
    logits, step = rng.normal(size=(2, 3, 4)) * 3, rng.normal(size=(2, 3, 4)) * 0.2
    logits[0, 1, 2] = -math.inf
    correct = rng.random(logits.shape) < 0.6
    correct[..., 0] = True
    for function, second in (
        (entropy_change.exact, step), (entropy_change.first_order, step),
        (entropy_change.second_order, step), (entropy_change.sign_change_temperature, correct),
        (lambda z, c: entropy_change.tempered_reinforce_step(z, c, 1.3), correct),
        (lambda z, c: entropy_change.tempered_reinforce_rate(z, c, 1.3), correct),
        (lambda z, c: entropy_change.tempered_reinforce_rate_slope(z, c, 1.3), correct),
    ):
        together = function(logits, second)
        for place in np.ndindex(2, 3):
            # The same operations; sums of four terms, of at most some 4, may be taken in another order.
            np.testing.assert_allclose(
                together[place], function(logits[place], second[place]), rtol=ROUNDING, atol=16 * FLOAT64)


def test_the_rate_of_a_saturated_policy_by_hand():
    """-2 (pi_1 pi_2)^2 gap for two actions: a difference of c from its mean would have lost all of it."""
    found = entropy_change.tempered_reinforce_rate(np.array([0.0, 50.0]), mask(2, 2), 1.0)
    assert found == pytest.approx(-2 * math.exp(-100.0) * 50, rel=ROUNDING, abs=0)


def test_a_small_step_from_the_uniform_policy_is_summed_without_the_error_of_its_mean():
    """The first order is 0 there. (1 + g) log(1 + g) - g is flat in what all actions share."""
    steps = np.random.default_rng(13).normal(size=(4, 1000)) * 1e-3
    with mpmath.workdps(40):
        for step in steps:
            moved = [mpmath.exp(mpmath.mpf(float(d))) for d in step]
            total = sum(moved)
            expected = mpmath.log(total / 1000) - sum(
                mpmath.mpf(float(d)) * e for d, e in zip(step, moved, strict=True)) / total
            # A thousand terms of 5e-7, each rounded at eps x 1e-3 by itself: 2 eps / (1e-3 sqrt(1000)).
            assert float(entropy_change.exact(np.zeros(1000), step)) == pytest.approx(
                float(expected), rel=2 * FLOAT64 / (1e-3 * math.sqrt(1000)), abs=0)
