"""Guards forecast_comparison.py: its runs, what a record says, and how it goes on."""

from __future__ import annotations

import dataclasses
import json

import pytest

from entropy_theory.support import results
from llm_bridge.commands import forecast_comparison as comparison
from llm_bridge.commands.forecast_comparison import ForecastRun, ForecastsConfig, Size


def test_what_is_there_is_not_made_again(tmp_path, monkeypatch):
    """A stopped comparison goes on, and another size begins anew."""
    made = []

    def run(asked, size, folder):
        made.append(asked)
        if len(made) == 3:
            raise KeyboardInterrupt
        return {"label": asked.label, **dataclasses.asdict(asked), "process_seconds": 1.0}

    monkeypatch.setattr(comparison, "run", run)
    config, wanted = ForecastsConfig(output=tmp_path / "result.json"), comparison.runs()
    with pytest.raises(KeyboardInterrupt):
        comparison.compare(config)
    comparison.compare(config)
    assert made == [*wanted[:3], *wanted[2:]]
    content = results.read_json(config.output)
    assert [record["seed"] for record in content["records"]] == [run.seed for run in wanted]
    assert content["provenance"]["config"] == dataclasses.asdict(Size())
    comparison.compare(config)
    assert len(made) == len(wanted) + 1
    comparison.compare(dataclasses.replace(config, steps=40))
    assert len(made) == 2 * len(wanted) + 1


def test_too_few_steps_are_refused(tmp_path):
    with pytest.raises(ValueError, match="steps must be at least 3, got 2"):
        comparison.compare(ForecastsConfig(output=tmp_path / "result.json", steps=2))


@pytest.mark.deep
@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_a_run_is_recorded_step_by_step(tmp_path, optimizer):
    asked = ForecastRun(task="split", optimizer=optimizer, learning_rate=1e-4, seed=0)
    record = comparison.run(asked, Size(steps=3, prompts=2, samples=4), tmp_path / "run")
    assert record["series"].keys() == set(comparison.SERIES)
    assert all(len(values) == 3 for values in record["series"].values())
    for accounted, measured in zip(
            record["series"]["accounted"], record["series"]["measured"], strict=True):
        assert accounted == pytest.approx(measured, rel=0.02, abs=1e-6)
    json.dumps(record, allow_nan=False)
