"""Guards tracking.py: how well a target was followed, on curves of which that is known."""

import numpy as np
import pytest

from entropy_theory.tracking import steps_to_follow, stretches, tracked


def test_a_constant_target_is_measured_over_the_second_half():
    found = tracked(np.array([9.0, 9.0, 0.6, 0.5]), np.full(4, 0.5))
    assert found.mean == pytest.approx(0.55)
    assert found.deviation == pytest.approx(0.05)


def test_after_a_step_both_settled_halves_count_and_the_last_has_the_mean():
    target = np.repeat([0.8, 0.4], 4)
    entropy = np.array([9, 9, 0.9, 0.9, 9, 9, 0.3, 0.3])
    found = tracked(entropy, target)
    assert found.mean == pytest.approx(0.3)
    assert found.deviation == pytest.approx(0.1)


def test_ramps_and_sines_are_one_stretch():
    assert stretches(np.linspace(0.8, 0.4, 20)) == [slice(0, 20)]
    assert stretches(np.sin(np.arange(50) / 5) + 1) == [slice(0, 50)]
    assert stretches(np.full(3, 0.5)) == [slice(0, 3)]
    assert stretches(np.repeat([0.8, 0.4], 3)) == [slice(0, 3), slice(3, 6)]


def test_arrival_is_nine_tenths_of_the_way():
    """By 0.03 a step from 0.8 to 0.4: the last five have mean 0.444 after 14 steps, 0.424 after 15."""
    target = np.repeat([0.8, 0.4], 40)
    entropy = np.concatenate([np.full(40, 0.8), np.clip(0.8 - 0.03 * np.arange(40), 0.4, None)])
    assert steps_to_follow(entropy, target) == 15
    assert steps_to_follow(2 - entropy, 2 - target) == 15


def test_what_never_arrives_has_no_number():
    target = np.repeat([0.8, 0.4], 10)
    assert steps_to_follow(np.full(20, 0.8), target) is None
