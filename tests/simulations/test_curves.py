"""Guards curves.py: what experiments read off curves."""

import numpy as np
import pytest

from simulations.experiments.curves import (
    matched_horizon,
    mean_interval,
    resample,
    value_when_reached,
)

REWARD = np.array([[0.2, 0.7, 0.1], [0.4, 0.8, 0.2], [0.8, 0.5, 0.3], [0.6, 0.9, 0.3]])
ENTROPY = np.array([[2.0, 1.0, 2.0], [1.6, 0.9, 2.0], [0.8, 0.9, 2.0], [0.7, 0.5, 2.0]])


def test_a_value_is_read_where_a_level_is_first_reached():
    found = value_when_reached(REWARD, ENTROPY, (0.5, 0.8))
    # A quarter of the way from 1.6 to 0.8; started above; never reached.
    np.testing.assert_allclose(found, [[1.4, 0.8], [np.nan, 0.9], [np.nan, np.nan]])


def test_levels_may_be_each_runs_own_and_reached_from_above():
    found = value_when_reached(ENTROPY, REWARD, ENTROPY[0][:, None] * [0.6, 0.35], falling=True)
    # 1.2 halfway between 1.6 and 0.8; 0.7 at the last record; 0.6 three quarters of the way from 0.9.
    np.testing.assert_allclose(found, [[0.6, 0.6], [0.8, np.nan], [np.nan, np.nan]])


def test_intervals_are_students_and_pass_over_missing_values():
    values = np.array([[1.0, 1.0, np.nan], [3.0, np.nan, np.nan], [5.0, 3.0, 2.0]])
    mean, low, high = mean_interval(values, level=0.95)
    np.testing.assert_allclose(mean, [3.0, 2.0, np.nan])
    # t(0.975, 2) = 4.302653 times 2 / sqrt(3); t(0.975, 1) = 12.706205 times sqrt(2) / sqrt(2).
    np.testing.assert_allclose(high[:2] - mean[:2], [4.302653 * 2 / np.sqrt(3), 12.706205], rtol=1e-6)
    np.testing.assert_allclose(mean - low, high - mean)


@pytest.mark.parametrize("rate", [0.01, 0.03])
def test_the_horizon_is_where_the_papers_schedule_ends(rate):
    """H = e^(-r k) has consumed 1 - e^(-x) by T/12 and 1 - e^(-12 x) by T, x = r T / 12."""
    step = np.arange(4001)
    entropy = 2 * np.exp(-rate * step)[:, None]
    (horizon,) = matched_horizon(step, entropy)
    x = rate * horizon / 12
    assert 1 - np.exp(-x) >= 0.73 * (1 - np.exp(-12 * x))
    earlier = rate * (horizon - 2) / 12
    assert 1 - np.exp(-earlier) < 0.73 * (1 - np.exp(-12 * earlier))


def test_a_run_that_has_not_spent_its_entropy_has_no_horizon():
    step = np.arange(100)
    rising_first = np.where(step < 5, 2 + 0.1 * step, 2.4 - 0.001 * (step - 4))
    assert np.isnan(matched_horizon(step, rising_first[:, None])).all()


def test_curves_are_resampled_to_each_runs_end():
    step = np.array([0, 10, 20])
    values = np.array([[0.0, 0.0], [1.0, 2.0], [4.0, 2.0]])
    found = resample(step, values, np.array([20.0, 10.0]), 3)
    np.testing.assert_allclose(found, [[0.0, 0.0], [1.0, 1.0], [4.0, 2.0]])
