"""Guards holding_comparison.py: its designs, what a record says, and how it goes on."""

import dataclasses
import json

import numpy as np
import pytest

from llm_bridge.commands import holding_comparison as comparison
from llm_bridge.commands.holding_comparison import ComparisonConfig, HeldRun, Size


@pytest.mark.parametrize(("shape", "expected"), [
    ("constant", [0.5] * 8),
    ("step", [0.8] * 4 + [0.5] * 4),
    ("ramp", [0.8, 0.8, 0.8, 0.725, 0.65, 0.575, 0.5, 0.5]),
    ("sine", [0.65, 0.8, 0.65, 0.5] * 2),
])
def test_targets_have_their_shapes(shape, expected):
    schedule = HeldRun(controller="AEPO", shape=shape).target(8)
    np.testing.assert_allclose([schedule(step) for step in range(8)], expected, atol=1e-12)


def series(**changes):
    steps = 8
    found = {key: [None] * steps for key in comparison.SERIES}
    found |= {"entropy": [0.6] * steps, "target": [0.5] * steps, "reward": [0.25] * steps,
              "best_reward": [0.5] * steps}
    return found | changes


def test_saturation_counts_the_second_half_alone():
    counted = series(coefficient_saturated=[1, 2, 3, 4, 4, 4, 5, 5], coefficient_held=[0] * 6 + [1, 2])
    assert comparison.saturated(counted) == 3 / 4
    assert comparison.saturated(series(temperature=[0.8] * 4 + [1.2] * 4)) == 1.0
    assert comparison.saturated(series(temperature=[1.2] * 4 + [1.2, 0.8] * 2)) == 0.0


def test_what_is_there_is_not_made_again(tmp_path, monkeypatch, capsys):
    """A stopped comparison goes on, a larger design adds to it, and other sizes begin anew."""
    made = []

    def run(held, size, folder, device):
        made.append(held)
        if len(made) == 3:
            raise KeyboardInterrupt
        return {"run": dataclasses.asdict(held), "name": held.name, "process_seconds": 1.0,
                "summary": comparison.summary(series())}

    monkeypatch.setattr(comparison, "run", run)
    config = ComparisonConfig(output=tmp_path / "result.json", design="smoke")
    with pytest.raises(KeyboardInterrupt):
        comparison.compare(config)
    comparison.compare(config)
    assert [held.controller for held in made] == [*comparison.MAIN[:3], *comparison.MAIN[2:]]
    content = json.loads(config.output.read_text())
    assert [record["name"] for record in content["records"]] == [
        held.name for held in comparison.design("smoke")]
    assert content["provenance"]["config"] == dataclasses.asdict(Size())
    comparison.compare(dataclasses.replace(config, design="small", seeds=(0, 3)))
    assert len(made) == 2 * len(comparison.MAIN) + 1
    comparison.compare(dataclasses.replace(config, steps=40))
    assert len(made) == 3 * len(comparison.MAIN) + 1


def test_a_gpu_that_is_not_there_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ValueError, match="device cuda asks for a GPU"):
        comparison.compare(ComparisonConfig(output=tmp_path / "result.json", device="cuda"))


def test_a_run_of_one_step_is_refused(tmp_path):
    with pytest.raises(ValueError, match="steps must be at least 2, got 1"):
        comparison.compare(ComparisonConfig(output=tmp_path / "result.json", steps=1))


@pytest.mark.deep
def test_a_run_is_recorded_step_by_step(tmp_path):
    size = Size(steps=4, prompts=2, samples=4, held_out_prompts=2, held_out_samples=4)
    held = HeldRun(controller="forecast, diverse bonus", shape="step", other_prompts=True)
    record = comparison.run(held, size, tmp_path / "run")
    assert record["series"]["target"] == [0.8, 0.8, 0.5, 0.5]
    assert all(len(values) == 4 for values in record["series"].values())
    assert all(value is not None for value in record["series"]["coefficient"])
    assert {"pass@1", "pass@2", "pass@4"} <= record["held_out"].keys()
    json.dumps(record, allow_nan=False)
