"""Guards llm_bridge/commands/noise_comparison.py on runs of a few steps."""

import dataclasses
import math
import typing

import pytest
import torch

from entropy_theory.support import results
from llm_bridge.commands import noise_comparison as comparison
from llm_bridge.commands import noise_designs as designs
from llm_bridge.commands.comparison import Size
from llm_bridge.commands.noise_comparison import NoiseConfig
from llm_bridge.commands.noise_designs import MATCHED, NoisyRun
from tests.daily import one_in

SIZE = Size(steps=4, prompts=4, samples=4)
ADAM = {**dataclasses.asdict(NoisyRun()), "blocks": {"move": [3.0, 5.0], "raw_move": [0.5, 1.5]}}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that makes a run of four steps, or of as many as an approach has."""
    for name, value in (("PILOT", 2), ("FROZEN", 2), ("FLAT_STEPS", {"sum": 3})):
        monkeypatch.setattr(comparison, name, value)
    return lambda asked, start=None: comparison.run(
        asked, SIZE, asked.rate or 1e-3, tmp_path / asked.name.replace(" ", "-"), start)


def test_rates_are_matched_by_the_length_of_steps():
    """Steps of momentum add up 1, .9, .81 ...: their mean square is 1 / (1 - .81) of a gradient's."""
    rates = {name: comparison.matched_rate(NoisyRun(optimizer=name, rate=None), [ADAM])
             for name in ("SGD", "momentum", "AdamW, beta1 0")}
    assert rates["SGD"] == pytest.approx(designs.REFERENCE_RATE * math.sqrt(4 / 1))
    generator = torch.Generator().manual_seed(0)
    gradients = torch.randn(20_000, generator=generator).tolist()
    steps, averages, buffer, average = [], [], 0.0, 0.0
    for gradient in gradients:
        buffer, average = 0.9 * buffer + gradient, 0.9 * average + 0.1 * gradient
        steps.append(rates["momentum"] * buffer)
        averages.append(MATCHED * average)
    for found, rate in ((steps, rates["SGD"]), (averages, rates["AdamW, beta1 0"])):
        square = sum(step**2 for step in found) / len(found)
        # Neighboring steps correlate by .9: 20,000 are as good as some 2,000 squares, 3 % each.
        assert square == pytest.approx(rate**2, rel=0.1)
    other = NoisyRun(optimizer="SGD", rate=None, coin=0.9)
    with pytest.raises(ValueError, match="of which there are none: run them first"):
        comparison.matched_rate(other, [ADAM])


@pytest.mark.parametrize("optimizer", one_in(3, designs.OPTIMIZERS))
def test_a_coin_is_tossed_for_each_completion(run, optimizer):
    asked = NoisyRun(optimizer=optimizer, rate=1e-4)
    record, ended = run(asked)
    assert ended is None
    assert record["name"] == asked.name
    assert record["blocks"]["reward"][0] * 4 * 16 == pytest.approx(sum(
        comparison.Coin(0.5, 0)(range(64))), abs=1e-3)  # five digits are kept
    assert record["blocks"]["move"][0] > 0


def test_a_forecast_leaves_the_policy_where_its_pilot_ended(run):
    record, _ = run(NoisyRun(kind="forecast"))
    assert len(record["updates"]) == 2
    assert all(update["move"] > 0 and update["score"] is not None for update in record["updates"])


@pytest.mark.deep
def test_a_run_goes_on_from_where_the_approach_ended(run):
    """One from the untrained weights, or with Adam's moments forgotten, whose first step is larger."""
    _, ended = run(NoisyRun(coin=None, kind="approach", rate=1e-2))
    record, _ = run(NoisyRun(coin=None, kind="from flat", rate=1e-9), ended)
    again, _ = run(NoisyRun(coin=None, kind="approach", rate=1e-2))
    assert record["probe_first"] != pytest.approx(again["probe_first"], rel=1e-2)
    fresh, _ = run(NoisyRun(coin=None, kind="from flat", rate=1e-4), dataclasses.replace(
        ended, optimizer={**ended.optimizer, "state": {}}))
    kept, _ = run(NoisyRun(coin=None, kind="from flat", rate=1e-4), ended)
    assert kept["blocks"]["move"] != fresh["blocks"]["move"]
    assert kept["probe_first"] == pytest.approx(record["probe_first"], rel=0.05)


@pytest.mark.deep
@pytest.mark.parametrize("variant", [*designs.VARIANTS, designs.LORA])
def test_every_variant_runs(run, variant):
    record, _ = run(NoisyRun(variant=variant))
    assert record["blocks"]["move"][0] > 0


def test_a_variant_that_has_no_options_is_no_plain_run(run):
    """A name that nothing stands behind would be run, and told, as if it changed nothing."""
    with pytest.raises(KeyError, match="groups of 5"):
        run(NoisyRun(variant="groups of 5"))
    for name in typing.get_args(designs.Design):
        for asked in designs.design(name):
            assert asked.options in {"plain", designs.LORA, *designs.VARIANTS}


def test_what_is_there_is_not_made_again(tmp_path, monkeypatch):
    """A stopped comparison goes on; an approach is repeated for the runs that go on from it."""
    made = []

    def run(asked, size, rate, folder, start):
        made.append(asked)
        if len(made) == 3:
            raise KeyboardInterrupt
        assert (start is not None and start.seed == asked.seed) == (asked.kind == "from flat")
        ended = comparison.Trained(asked.seed, {}, {}) if asked.kind == "approach" else None
        return {"name": asked.name, "first": 0.0, "last": 0.0, "process_seconds": 1.0}, ended

    monkeypatch.setattr(comparison, "run", run)
    config = NoiseConfig(output=tmp_path / "result.json", design=("flat",))
    wanted = designs.design("flat")
    with pytest.raises(KeyboardInterrupt):
        comparison.compare(config)
    comparison.compare(config)
    assert made == [*wanted[:3], wanted[0], *wanted[2:]]
    records = results.read_json(config.output)["records"]
    assert [record["name"] for record in records] == [one.name for one in wanted]
    comparison.compare(config)
    assert len(made) == len(wanted) + 2


@pytest.mark.parametrize("name", ["accounts", "groups", "adapters"])
def test_a_forecast_comes_before_the_runs_that_it_is_of(name):
    """A forecast that was drawn after its runs, or of another rate, and a run on a coin without one."""
    forecast = set()
    for asked in designs.design(name):
        setting = dataclasses.replace(asked, kind="forecast", seed=designs.FORECAST_SEED)
        if asked.kind == "forecast":
            forecast.add(setting)
        assert (setting in forecast) == (asked.coin is not None), asked.name
