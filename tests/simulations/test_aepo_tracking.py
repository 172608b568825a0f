"""Guards experiment aepo_tracking: how amplitudes and times are read off curves."""

import numpy as np
import pytest

from simulations.experiments import aepo_tracking as experiment

CONFIG = experiment.Config()

pytestmark = pytest.mark.usefixtures("compiled_early")


def test_the_gain_is_that_of_a_known_wave():
    time = np.arange(-100, CONFIG.moving + 1, 4)
    wave = 1.0 + 0.6 * CONFIG.amplitude * np.sin(2 * np.pi * (time - 7) / 120)
    gain = experiment._response(time, wave[None], 120, CONFIG)
    assert gain[0] == pytest.approx(0.6, abs=1e-9)


def test_crossing_times_are_those_of_a_known_ramp():
    time = np.arange(-20, 201, 4)
    curves = [np.clip(CONFIG.low + 0.01 * time, 0.5, 1.5), np.clip(1.5 - 0.02 * time, 0.5, 1.5)]
    found = experiment._crossing_time(time, np.asarray(curves), CONFIG)
    np.testing.assert_allclose(found, [80.0, 40.0])


def test_speeds_vanish_at_entropies_out_of_reach():
    tied = np.array([0.0, 0.0, -1.0])
    found = experiment.speeds(tied, np.array([0.5, 0.9, 1.2]), CONFIG)
    np.testing.assert_array_equal((found > 0).all(axis=0), [False, True, False])
    assert experiment.shortest_period(tied, CONFIG) == np.inf
