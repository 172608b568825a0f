"""Guards holding_, forecast_ and rule_comparison.py: designs, records, resumption."""

import dataclasses

import numpy as np
import pytest

from entropy_theory.support import results
from llm_bridge.commands import forecast_comparison, holding_comparison, rule_comparison
from llm_bridge.commands.comparison import HeldOutSize
from llm_bridge.commands.forecast_comparison import ForecastRun, ForecastsConfig
from llm_bridge.commands.holding_comparison import ComparisonConfig, HeldRun
from llm_bridge.commands.rule_comparison import RulesConfig


@pytest.mark.parametrize(("shape", "expected"), [
    ("step", [0.8] * 4 + [0.5] * 4),
    ("ramp", [0.8, 0.8, 0.8, 0.725, 0.65, 0.575, 0.5, 0.5]),
    ("sine", [0.65, 0.8, 0.65, 0.5] * 2),
])
def test_targets_have_their_shapes(shape, expected):
    schedule = HeldRun(controller="AEPO", shape=shape).target(8)
    # sin of a multiple of pi / 2 is off by some 1e-16; a step of the ramp is 0.075.
    np.testing.assert_allclose([schedule(step) for step in range(8)], expected, atol=1e-12)


def series(**changes):
    steps = 8
    found = {key: [None] * steps for key in holding_comparison.SERIES}
    found |= {"entropy": [0.6] * steps, "target": [0.5] * steps, "reward": [0.25] * steps,
              "best_reward": [0.5] * steps}
    return found | changes


def test_saturation_counts_the_second_half_alone():
    counted = series(coefficient_saturated=[1, 2, 3, 4, 4, 4, 5, 5], coefficient_held=[0] * 6 + [1, 2])
    assert holding_comparison.saturated(counted) == 3 / 4
    assert holding_comparison.saturated(series(temperature=[0.8] * 4 + [1.2] * 4)) == 1.0
    assert holding_comparison.saturated(series(temperature=[1.2] * 4 + [1.2, 0.8] * 2)) == 0.0


@pytest.mark.parametrize(("module", "make", "size", "wanted"), [
    (holding_comparison, ComparisonConfig, HeldOutSize, holding_comparison.design("smoke")),
    (forecast_comparison, ForecastsConfig, forecast_comparison.Size, forecast_comparison.runs())],
    ids=["holding", "forecasts"])
def test_what_is_there_is_not_made_again(tmp_path, monkeypatch, module, make, size, wanted):
    """A stopped comparison goes on, and another size begins anew."""
    made = []

    def run(asked, *_):
        made.append(asked)
        if len(made) == 3:
            raise KeyboardInterrupt
        own = ({"label": asked.label, **dataclasses.asdict(asked)} if isinstance(asked, ForecastRun) else
               {"run": dataclasses.asdict(asked), "summary": holding_comparison.summary(series())})
        return {"name": asked.name, "process_seconds": 1.0, **own}

    monkeypatch.setattr(module, "run", run)
    config = make(output=tmp_path / "result.json")
    if module is holding_comparison:
        config = dataclasses.replace(config, design="smoke")
    with pytest.raises(KeyboardInterrupt):
        module.compare(config)
    module.compare(config)
    assert made == [*wanted[:3], *wanted[2:]]
    content = results.read_json(config.output)
    assert [record["name"] for record in content["records"]] == [run.name for run in wanted]
    assert content["provenance"]["config"] == dataclasses.asdict(size())
    module.compare(config)
    assert len(made) == len(wanted) + 1
    module.compare(dataclasses.replace(config, steps=40))
    assert len(made) == 2 * len(wanted) + 1


def test_rules_are_compared_on_the_same_samples_and_resumed(tmp_path, monkeypatch):
    """Runs of other seeds, a stopped comparison begun anew, a rule that cannot run ends the others."""
    real, made = rule_comparison.run, []

    def run(rule, seed, *rest):
        made.append((rule, seed))
        if len(made) == 2:
            raise KeyboardInterrupt
        return real(rule, seed, *rest)

    monkeypatch.setattr(rule_comparison, "run", run)
    config = RulesConfig(
        output=tmp_path / "result.json", rules=("grpo", "dppo", "natural-gradient"), seeds=(0,), steps=4,
        iterations=2, prompts=2, samples=4, held_out_prompts=2, held_out_samples=2)
    with pytest.raises(KeyboardInterrupt):
        rule_comparison.compare(config)
    rule_comparison.compare(config)
    assert [rule for rule, _ in made] == ["grpo", "dppo", "dppo", "natural-gradient"]
    grpo, dppo, refused = results.read_json(config.output)["records"]
    # The first batch is drawn from the same policy with the same seed.
    assert grpo["series"]["entropy"][0] == dppo["series"]["entropy"][0]
    assert len(grpo["series"]["reward"]) == 2
    assert "every action of each state" in refused["refused"]
    assert set(refused) == {"label", "task", "seed", "refused", "commit"}


def test_unknown_rules_are_refused(tmp_path):
    with pytest.raises(ValueError, match="unknown rule 'grop'"):
        rule_comparison.compare(RulesConfig(output=tmp_path / "result.json", rules=("grop",)))
