"""Guards experiment holding_a_target: the order of what holds, and that the impossible is reported."""

import dataclasses

import pytest

from simulations.experiments import holding_a_target as experiment

CONTROLLERS = ("AEPO", "forecast, entropy bonus", "forecast, diverse bonus")


def test_every_controller_has_the_rule_of_its_name():
    """A bonus, a hold or a sign that a name promises and its rule does not have."""
    config = experiment.Config()
    rules = {name: experiment.rule(name, config) for name in experiment.CONTROLLERS}
    assert rules["AEPO, alpha 3"].alpha == 3
    for name, rule in rules.items():
        if name.startswith("AEPO"):
            assert rule.name == "aepo"
            continue
        assert rule.name.replace("-", " ") == name.partition(", ")[2]
        assert rule.hold in name
        assert (rule.coefficient_low < 0) == (not name.startswith("integral"))


@pytest.fixture(scope="module")
def dataset():
    config = dataclasses.replace(
        experiment.Config(), targets=(1.0, 2.6), learning_rates=(1.0,), n_starts=3, steps=240)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "CONTROLLERS", CONTROLLERS)
        return experiment.compute(config, 0, lambda steps: None).sel(learning_rate=1.0)


def test_the_forecast_holds_a_target_that_aepo_chatters_about(dataset):
    """A target that did not reach the controllers, or runs that were mixed up."""
    off = dataset.deviation.sel(shape="1").mean("start")
    assert float(off.sel(controller="forecast, entropy bonus")) < 0.1
    assert float(off.sel(controller="forecast, entropy bonus")) < float(off.sel(controller="AEPO"))


def test_moving_targets_are_those_of_the_runs(dataset):
    held = dataset.entropy.sel(controller="forecast, entropy bonus", shape="ramp").mean("start")
    late = dataset.step >= 120
    assert float(abs(held - dataset.target.sel(shape="ramp"))[late].mean()) < 0.15
    assert float(dataset.target.sel(shape="ramp").isel(step=-1)) == experiment.Config().low


def test_a_target_above_the_ceiling_leaves_the_diverse_bonus_without_power(dataset):
    found = dataset.sel(controller="forecast, diverse bonus")
    assert (found.out_of_power.sel(shape="2.6") > 0.3).all()
    assert (found.out_of_power.sel(shape="1") < found.out_of_power.sel(shape="2.6")).all()
    # Above log |A*| it goes for wrong answers that are not gone yet, and stays short of the target.
    assert (found.mean_entropy.sel(shape="2.6") < 2.4).all()
