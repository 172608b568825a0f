"""Guards experiment aepo_tracking: how amplitudes are read, and the speed limit."""

import dataclasses

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


def test_slow_functions_are_followed_and_fast_ones_are_not():
    config = dataclasses.replace(
        CONFIG, ramps=(0.002, 0.1), periods=(30, 240), n_starts=3, rest=600, moving=520)
    dataset = experiment.compute(config, 0, lambda steps: None)
    switch = dataset.sel(control="switch")
    assert float(switch.gain.sel(period=240).median()) > 0.95
    assert float(switch.gain.sel(period=30).max()) < 0.6
    slow, fast = (switch.ramp_speed.sel(way="up", ramp=v) for v in (0.002, 0.1))
    assert float(slow.median()) == pytest.approx(0.002, rel=0.05)
    assert float(fast.max()) < 0.05
    beyond = dataset.entropy.sel(shape="step out of reach", time=dataset.time[-1])
    assert float(beyond.max()) < dataset.attrs["ceiling"] + 0.05
    # Before time 0 the first target is held.
    rest = switch.entropy.sel(shape="step up", time=0)
    assert float(abs(rest - config.low).median()) < 0.05
