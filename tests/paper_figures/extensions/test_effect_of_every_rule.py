"""Guards paper_figures/extensions/effect_of_every_rule.py: which number is whose, and on which side."""

import json
from pathlib import Path

import numpy as np
import pandas
import pytest
import xarray

from entropy_theory.update_rules import RULES
from paper_figures.data.tables import pick
from paper_figures.extensions import effect_of_every_rule as figure


def test_rows_are_those_of_the_simulation(table, results):
    """Rules, or stale and fresh samples, exchanged on the way from dataset to table."""
    dataset = xarray.load_dataset(results / "simulations" / "effect_of_every_rule.nc")
    for steps, name in figure.STALE.items():
        (row,) = pick(table, rule="aepo", where=f"prompts, {name}", quantity="entropy").itertuples()
        values = dataset.entropy.sel(rule="aepo", steps_per_batch=steps).values
        assert row.value == pytest.approx(values.mean())
        # Student's t of two values: their distance times 12.7062 / 2.
        assert row.high - row.low == pytest.approx(12.7062 * np.ptp(values), rel=1e-4)
    (ratio,) = pick(table, rule="aepo", quantity="ratio")["value"]
    assert ratio == pytest.approx(float(dataset.ratio.sel(rule="aepo")))
    assert "natural-gradient" not in set(pick(table, where="prompts, stale")["rule"])


def records(**entropies):
    return [{"label": rule, "task": "split", "seed": seed,
             "held_out": {"entropy": entropy, "pass@1": 0.5 + entropy}}
            for rule, values in entropies.items() for seed, entropy in enumerate(values)]


def test_trained_models_are_compared_seed_by_seed(tmp_path, monkeypatch):
    monkeypatch.setattr(figure.inputs, "MEASURED", tmp_path / "none")
    file = tmp_path / figure.COMPARED["small transformer"]
    file.parent.mkdir()
    refused = {"label": "natural-gradient", "task": "split", "seed": 0, "refused": "it needs a listing"}
    file.write_text(json.dumps({"provenance": {}, "records": [
        *records(grpo=[0.25, 0.5, 1.0], dppo=[0.5, 0.75, 1.25], aepo=[0.5]), refused]}))
    found = pandas.DataFrame(figure.trained(tmp_path), columns=figure.COLUMNS)
    (row,) = pick(found, rule="dppo", quantity="entropy").itertuples()
    assert (row.value, row.low, row.high, row.runs) == (0.25, 0.25, 0.25, 3)
    assert figure.side(row) == 1
    (alone,) = pick(found, rule="aepo", quantity="reward").itertuples()
    assert (alone.value, alone.runs, figure.shown(alone)) == (0.25, 1, "+0.250")
    assert figure.side(alone) == 0  # one run has no interval
    assert "natural-gradient" not in set(found["rule"])


def row(value, low, high, quantity=figure.KEEPS):
    return next(pandas.DataFrame([("dppo", "prompts, stale", quantity, value, low, high, 9)],
                                 columns=figure.COLUMNS).itertuples())


def test_a_side_is_told_by_the_interval_and_equal_runs_have_none():
    assert figure.side(row(0.2, 0.1, 0.3)) == 1
    assert figure.side(row(-0.2, -0.3, -0.1)) == -1
    assert figure.side(row(0.1, -0.1, 0.3)) == 0
    assert figure.side(row(1e-12, 5e-13, 2e-12)) == 0
    assert figure.side(row(0.9, 0.8, 0.95, "ratio")) == -1
    assert figure.shown(row(1e-12, 5e-13, 2e-12)) == "0"
    assert figure.shown(row(0.2, 0.1, 0.3)) == "+0.200 ± 0.100"


def test_rules_are_counted_on_their_side(table):
    keeps = table["quantity"] == figure.KEEPS
    table.loc[keeps, ["value", "low", "high"]] = 0.2, 0.1, 0.3
    number = len(pick(table, where="prompts, stale", quantity=figure.KEEPS))
    found = {(one.where, "more" in one.says): one.value for one in figure.finding(table).criteria
             if "equal reward" in one.says}
    assert found["on prompts, stale", True] == number
    assert found["on prompts, stale", False] == 0


def test_the_committed_record_has_every_rule_from_five_seeds():
    # (Within tests `inputs.MEASURED` is an empty folder.)
    measured = Path(figure.__file__).parents[1] / "measured"
    found = json.loads((measured / figure.COMPARED["small transformer"]).read_text())
    seeds = {rule: [one["seed"] for one in found["records"] if one["label"] == rule] for rule in RULES}
    assert all(len(set(of_rule)) == len(of_rule) == 5 for of_rule in seeds.values())
    entropies = {tuple(one["series"]["entropy"][:1]) for one in found["records"] if one["seed"] == 0
                 and "series" in one}
    assert len(entropies) == 1  # The same samples of the same policy, before any step.


def test_the_committed_record_of_smollm2_has_ten_rules_16_steps_and_one_seed():
    measured = Path(figure.__file__).parents[1] / "measured"
    found = json.loads((measured / figure.COMPARED["SmolLM2"]).read_text())
    rules = [one["label"] for one in found["records"]]
    assert len(set(rules)) == len(rules) == 10
    assert {one["seed"] for one in found["records"]} == {0}
    assert len({one["series"]["entropy"][0] for one in found["records"]}) == 1
    assert found["provenance"]["config"]["steps"] == 16
    assert "16 steps, one seed" in figure.FIGURE.ours
