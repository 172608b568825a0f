"""Guards controllers.py: what they choose, what they refuse, what a checkpoint keeps."""

import json
import math

import numpy as np
import pytest

from entropy_theory.controllers import (
    AdaptiveCoefficient,
    ProportionalTemperature,
    TargetEntropyCoefficient,
    TemperatureSwitch,
)

BUILD = {
    "switch": lambda: TemperatureSwitch(target=0.5),
    "proportional": lambda: ProportionalTemperature(target=0.5),
    "aent": lambda: AdaptiveCoefficient(warm_up_steps=1),
    "target": lambda: TargetEntropyCoefficient(target=0.5),
}
SERIES = (0.1, 0.9, 0.2, 0.21, 0.05, 0.5, 0.7)


def test_proportional_temperature_is_clipped_around_the_target():
    chosen = [float(ProportionalTemperature(target=0.5).observe(np.array(h)))
              for h in (0.0, 0.4, 0.5, 0.6, 3.0)]
    np.testing.assert_allclose(chosen, [1.2, 1.1, 1.0, 0.9, 0.8])


def test_aent_moves_only_outside_the_band_and_inside_the_box():
    """Eq. 4.1 with rate 0.01, band (0.15, 0.24), box (0.001, 0.005)."""
    controller = AdaptiveCoefficient(coefficient=0.002, rate=0.01, low=0.001, high=0.005)
    for entropy, expected in ((0.2, 0.002), (0.05, 0.003), (0.15, 0.003), (0.24, 0.003),
                              (0.34, 0.002), (3.0, 0.001), (0.0, 0.0025), (-5.0, 0.005)):
        assert float(controller.observe(np.array(entropy))) == pytest.approx(expected)


def test_aent_waits_for_the_warm_up():
    controller = AdaptiveCoefficient(coefficient=0.002, warm_up_steps=2)
    chosen = [float(controller.observe(np.array(0.0))) for _ in range(3)]
    assert chosen[:2] == [0.002, 0.002]
    assert chosen[2] == pytest.approx(0.002 + 0.002 * 0.15)


def test_target_coefficient_rises_at_or_below_the_target_and_acts_only_there():
    controller = TargetEntropyCoefficient(coefficient=0.01, target=0.5, step=0.005, high=0.015)
    chosen = [float(controller.observe(np.array(h))) for h in (0.1, 0.2, 0.9, 0.9, 0.5, 0.9)]
    np.testing.assert_allclose(chosen, [0.015, 0.015, 0, 0, 0.01, 0], atol=1e-15)
    assert float(controller.coefficient) == pytest.approx(0.005)


@pytest.mark.parametrize("name", BUILD)
def test_a_restored_controller_goes_on_as_the_saved_one(name):
    saved, fresh = BUILD[name](), BUILD[name]()
    for entropy in SERIES[:3]:
        saved.observe(np.array(entropy))
    fresh.load_state_dict(json.loads(json.dumps(saved.state_dict())))
    for entropy in SERIES[3:]:
        assert saved.observe(np.array(entropy)) == fresh.observe(np.array(entropy))


@pytest.mark.parametrize("name", BUILD)
def test_runs_side_by_side_are_each_their_own(name):
    together = BUILD[name]()
    alone = [BUILD[name]() for _ in range(2)]
    for pair in zip(SERIES, SERIES[::-1], strict=True):
        both = together.observe(np.array(pair))
        for k, controller in enumerate(alone):
            assert both[k] == controller.observe(np.array(pair[k]))


@pytest.mark.parametrize("name", BUILD)
def test_nan_and_foreign_states_are_refused(name):
    with pytest.raises(ValueError, match="NaN"):
        BUILD[name]().observe(np.array(math.nan))
    with pytest.raises(ValueError, match="not the state of a"):
        BUILD[name]().load_state_dict({"integral": 1.0})
