"""Guards controllers.py: what they choose, what they refuse, what a checkpoint keeps."""

import json
import math
from dataclasses import fields

import numpy as np
import pytest

from entropy_theory.controllers import (
    AdaptiveCoefficient,
    EntropyForecast,
    ProportionalIntegral,
    ProportionalTemperature,
    TargetEntropyCoefficient,
    TemperatureSwitch,
)
from entropy_theory.forecast_coefficient import ForecastCoefficient
from entropy_theory.schedules import Points, Sine

BUILD = {
    "switch": lambda: TemperatureSwitch(target=0.5),
    "proportional": lambda: ProportionalTemperature(target=0.5),
    "aent": lambda: AdaptiveCoefficient(warm_up_steps=1),
    "target": lambda: TargetEntropyCoefficient(target=0.5),
    "forecast": lambda: ForecastCoefficient(target=0.5, low=-0.4, high=0.4, smoothing=0.5),
}
SERIES = (0.1, 0.9, 0.2, 0.21, 0.05, 0.5, 0.7)


def forecast_of(entropy):
    """Some forecast that goes with an entropy, so that runs have forecasts of their own."""
    entropy = np.asarray(entropy)
    return EntropyForecast(base=-0.02 + 0.03 * entropy, per_unit=0.1 * entropy)


def test_proportional_temperature_is_clipped_around_the_target():
    chosen = [float(ProportionalTemperature(target=0.5).observe(np.array(h)))
              for h in (0.0, 0.4, 0.5, 0.6, 3.0)]
    np.testing.assert_allclose(chosen, [1.2, 1.1, 1.0, 0.9, 0.8])
    gained = ProportionalTemperature(target=0.5, gain=0.5)
    assert float(gained.observe(np.array(0.3))) == pytest.approx(1.1)


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
        saved.observe(np.array(entropy), forecast_of(entropy))
    fresh.load_state_dict(json.loads(json.dumps(saved.state_dict())))
    for entropy in SERIES[3:]:
        forecast = forecast_of(entropy)
        assert saved.observe(np.array(entropy), forecast) == fresh.observe(np.array(entropy), forecast)
    assert {k: float(v) for k, v in saved.report().items()} == fresh.report()


@pytest.mark.parametrize("name", BUILD)
def test_runs_side_by_side_are_each_their_own(name):
    together = BUILD[name]()
    alone = [BUILD[name]() for _ in range(2)]
    for pair in zip(SERIES, SERIES[::-1], strict=True):
        both = together.observe(np.array(pair), forecast_of(pair))
        for k, controller in enumerate(alone):
            assert both[k] == controller.observe(np.array(pair[k]), forecast_of(pair[k]))


# ------------------------------------------------------------------ by forecasts


def plant(controller, entropy, steps, *, base=-0.01, per_unit=0.05, sign=1.0, target=None, ahead=1):
    """Entropies where each step does exactly what was forecast, times ``sign`` in what is told."""
    found, forecast = [], None
    for step in range(steps):
        controller.aim(ahead * step, ahead)
        if target is not None:
            controller.target = target(step)
        found.append(float(entropy))
        chosen = controller.observe(np.asarray(entropy), forecast)
        forecast = EntropyForecast(base=np.asarray(base), per_unit=np.asarray(sign * per_unit))
        entropy = entropy + base + float(chosen) * per_unit
    return np.array(found)


def loop(**options):
    return ForecastCoefficient(**{"target": 0.5, "low": -9.0, "high": 9.0, "horizon": 10.0,
                                  "feedback_horizon": math.inf, **options})


@pytest.mark.parametrize("start", [0.2, 0.9])
def test_an_exact_forecast_closes_the_distance_by_one_over_the_horizon_a_step(start):
    """From either side; the first step, before any forecast, has coefficient 0."""
    found = plant(loop(), start, 30)
    assert found[1] == pytest.approx(start - 0.01)
    # Thirty additions and subtractions of numbers below 1.
    np.testing.assert_allclose(found[1:] - 0.5, (start - 0.51) * 0.9 ** np.arange(29), atol=1e-14)


@pytest.mark.parametrize("feedback_horizon", [math.inf, 25.0])
def test_feedback_takes_away_what_forecasts_miss(feedback_horizon):
    """The base change is 0.02 nats a batch below its forecast: without feedback 10 x 0.02 stay missing.
    What is missed decays by 1 - 1/25, the distance by 1 - 1/10 beside it."""
    controller, entropy, forecast, distances = loop(feedback_horizon=feedback_horizon), 0.5, None, []
    for _ in range(200):
        chosen = controller.observe(np.asarray(entropy), forecast)
        forecast = EntropyForecast(base=np.asarray(-0.01), per_unit=np.asarray(0.05))
        distances.append(0.5 - entropy)
        entropy += -0.03 + 0.05 * float(chosen)
    expected, missed = [0.0, 0.03], 0.02 * (1 - 1 / feedback_horizon)
    while len(expected) < 200:
        expected.append(0.9 * expected[-1] + missed)
        missed *= 1 - 1 / feedback_horizon
    # 200 additions of numbers below 1, each off by 1.1e-16, damped by 0.9: below 1e-14; times 10.
    np.testing.assert_allclose(distances, expected, atol=1e-13)
    # What is missed decays slower than the distance: 0.02 x 0.96^200 / (0.96 - 0.9) = 1e-4 are left.
    assert distances[-1] == pytest.approx(0.2 if feedback_horizon == math.inf else 0.0, abs=1e-3)


def test_forecasts_are_smoothed():
    controller = loop(smoothing=0.75, target=0.0)
    forecasts = [EntropyForecast(base=np.asarray(b), per_unit=np.asarray(u))
                 for b, u in ((0.1, 0.4), (0.3, 0.8))]
    for forecast in (None, *forecasts):
        chosen = controller.observe(np.asarray(0.0), forecast)
    assert float(controller.base) == pytest.approx(0.75 * 0.1 + 0.25 * 0.3)
    assert float(controller.per_unit) == pytest.approx(0.75 * 0.4 + 0.25 * 0.8)
    assert float(chosen) == pytest.approx(-0.15 / 0.5)


@pytest.mark.parametrize(("bounds", "far", "near"), [
    ({"high": 0.25}, 9.0, 0.4), ({"low": -0.05}, 0.0, 2.6)])
def test_saturation_is_counted_and_winds_nothing_up(bounds, far, near):
    """100 batches towards a target beyond the bound; then one that is met as if from anew."""
    controller = loop(feedback_horizon=40.0, **bounds)
    found = plant(controller, 2.0, 200, target=lambda step: far if step < 100 else near)
    # The last coefficient in use takes entropy up by 0.0125 - 0.01, or down by 0.01 + 0.0025.
    # Differences of entropies below 2.3, each rounded once at 2.2e-16 times that: below 1.1e-15 in all.
    np.testing.assert_allclose(np.diff(found[1:101]), 0.0025 if far else -0.0125, rtol=0, atol=1.1e-15)
    assert float(controller.saturated) == 99
    assert abs(float(controller.bias)) < 1e-15
    np.testing.assert_allclose(found[100:] - near, (found[100] - near) * 0.9 ** np.arange(100),
                               atol=1e-13)


@pytest.mark.parametrize("per_unit", [-0.05, 0.0, 1e-12])
def test_without_power_or_with_the_wrong_sign_the_coefficient_stays(per_unit):
    controller = loop(coefficient=0.3, feedback_horizon=40.0)
    controller.observe(np.asarray(0.2))
    for _ in range(5):
        chosen = controller.observe(
            np.asarray(0.2), EntropyForecast(base=np.asarray(0.0), per_unit=np.asarray(per_unit)))
    assert float(chosen) == 0.3
    assert controller.report()["coefficient_held"] == 5
    assert controller.report()["coefficient_saturated"] == 0


# ------------------------------------------------------------------ targets that move


@pytest.mark.parametrize("ahead", [1, 4])
@pytest.mark.parametrize("schedule", [
    Points(points=((10, 0.8), (90, 0.3))), Sine(middle=0.6, amplitude=0.2, period=64.0)])
def test_a_schedule_is_followed_without_lag_where_forecasts_are_exact(schedule, ahead):
    """The distance shrinks as towards a target at rest, with one batch or four steps an observation."""
    found = plant(loop(target_schedule=schedule, target=0.1), 0.5, 40, ahead=ahead)
    wanted = np.array([schedule(ahead * step) for step in range(40)])
    # Forty additions of numbers below 1.
    np.testing.assert_allclose(
        (found - wanted)[1:], (found[1] - wanted[1]) * 0.9 ** np.arange(39), atol=1e-13)


@pytest.mark.parametrize("name", ["switch", "proportional", "target", "forecast"])
def test_every_controller_with_a_target_moves_it(name):
    controller = BUILD[name]()
    controller.target_schedule = Points(points=((0, 0.8), (10, 0.3)))
    controller.aim(10)
    assert controller.target == 0.3
    assert "target" not in controller.state_dict()  # it follows from the step


def counted(controller, *entropies):
    found = []
    for entropy in entropies:
        controller.observe(np.array(entropy))
        found.append(controller.report()["temperature_unswitched"].tolist())
    return found


def test_a_switch_tells_how_long_it_has_not_switched():
    """Runs side by side, each its own; one that is never reached counts on."""
    assert TemperatureSwitch().report() == {"temperature_unswitched": 0.0}
    assert counted(TemperatureSwitch(target=0.5), [0.4, 0.4], [0.5, 0.3], [0.6, 0.4], [0.4, 0.4]) == [
        [1, 1], [1, 2], [2, 3], [1, 4]]
    # In proportion a temperature comes again only at a bound.
    assert counted(ProportionalTemperature(target=0.5), 0.4, 0.41, 0.2, 0.1, 0.3, 0.31, 0.8) == [
        1, 1, 1, 2, 3, 1, 1]


def test_a_checkpoint_without_a_count_is_read():
    controller = TemperatureSwitch(target=0.5)
    controller.load_state_dict({"temperature": 1.2, "entropy": 0.4})
    assert counted(controller, 0.4) == [1]
    assert controller.state_dict() == {"temperature": 1.2, "entropy": 0.4, "unswitched": 1.0}


def test_the_switch_is_hot_below_its_target_alone():
    """At the target, and where rounding alone is below it, it is cold (Eq. 1: H < target)."""
    controller = TemperatureSwitch(target=0.5, temperature_high=1.3, temperature_low=0.7)
    assert controller.temperature is None
    assert controller.observe(np.array([0.5 - 1e-6, 0.5 - 1e-12, 0.5, 0.5 + 1e-6])).tolist() == [
        1.3, 0.7, 0.7, 0.7]
    assert controller.temperature.tolist() == [1.3, 0.7, 0.7, 0.7]
    each = TemperatureSwitch(target=np.array([0.1, 0.9]))
    assert each.observe(np.array([0.5, 0.5])).tolist() == [0.8, 1.2]
    TemperatureSwitch(temperature_high=1.0, temperature_low=1.0)


def test_the_integral_rule_counts_only_moves_beyond_a_bound():
    """A step that ends at the bound is none; at the target it rises."""
    controller = TargetEntropyCoefficient(target=0.5, step=0.25, high=0.5)
    for expected, saturated in ((0.25, 0), (0.5, 0), (0.5, 1)):
        assert float(controller.observe(np.array(0.5))) == expected
        assert float(controller.saturated) == saturated
    two_sided = TargetEntropyCoefficient(target=0.5, step=0.25, low=-0.5)
    for expected, saturated in ((-0.25, 0), (-0.5, 0), (-0.5, 1)):
        assert float(two_sided.observe(np.array(0.5 + 1e-6))) == expected
        assert float(two_sided.saturated) == saturated


def test_a_warm_up_is_as_long_for_tensors_as_for_numbers():
    torch = pytest.importorskip("torch")
    given = {"coefficient": 0.002, "rate": 0.01, "low": 0.0, "warm_up_steps": 2}
    tensors, numbers = AdaptiveCoefficient(**given), AdaptiveCoefficient(**given)
    for _ in range(4):
        found = tensors.observe(torch.tensor(0.05, dtype=torch.float64))
        # Four additions of float64 each round by at most 2^-53.
        np.testing.assert_allclose(found.item(), numbers.observe(0.05), rtol=4 * 2.0**-53)
    assert numbers.coefficient == pytest.approx(0.002 + 2 * 0.01 * 0.1)


@pytest.mark.parametrize(("kind", "defaults"), [
    (TemperatureSwitch, {
        "target": 0.5, "temperature_high": 1.2, "temperature_low": 0.8, "unswitched": 0.0}),
    (ProportionalTemperature, {
        "target": 0.5, "temperature_high": 1.2, "temperature_low": 0.8, "gain": 1.0,
        "unswitched": 0.0}),
    (AdaptiveCoefficient, {
        "coefficient": 0.002, "entropy_low": 0.15, "entropy_high": 0.24, "rate": 0.002, "low": 6e-4,
        "high": 9e-3, "warm_up_steps": 0, "observations": 0}),
    (TargetEntropyCoefficient, {
        "coefficient": 0.0, "target": 0.2, "step": 5e-3, "low": 0.0, "high": 1.0, "saturated": 0.0}),
    (ProportionalIntegral, {
        "coefficient": 0.0, "target": 0.1, "proportional": 1.0, "integral": 0.01, "error": 0.0}),
    (ForecastCoefficient, {
        "coefficient": 0.0, "target": 0.5, "horizon": 20.0, "smoothing": 0.9, "feedback_horizon": 200.0,
        "low": 0.0, "high": 1.0, "bias": 0.0, "saturated": 0.0, "target_change": 0.0, "held": 0.0}),
])
def test_controllers_begin_with_the_papers_settings_and_nothing_counted(kind, defaults):
    found = {field.name: getattr(kind(), field.name) for field in fields(kind)}
    assert {name: value for name, value in found.items() if value is not None} == defaults
