"""Guards paper_figures/extensions/figure.py: forecasts against measured entropy changes."""

import numpy as np
import pandas
import pytest

from entropy_theory.support.results import read_json, write_json
from paper_figures.extensions import entropy_audit as figure
from tests.paper_figures.conftest import write_run


@pytest.fixture
def table(simulated, tmp_path):
    (tmp_path / "simulations").symlink_to(simulated("tabular_audit") / "simulations")
    return figure.data(tmp_path)


def test_tabular_identities_hold_to_rounding(table):
    """(i) = (ii) and (iii) = measured where every logit is its own."""
    for found in figure.comparisons(table).values():
        # Entropies of 20 actions, some 20 roundings of 1e-16.
        assert found.identity_error < 1e-13
        assert found.tabular_error < 1e-13
        assert found.dominant == "first order"


def test_a_forecast_that_is_not_the_measured_change_shows(table):
    """An error that is put down to the wrong assumption."""
    table["coefficients"] += np.linspace(0, 1, len(table))
    found = next(iter(figure.comparisons(table).values()))
    assert found.dominant == "tabular assumption"


def test_few_steps_are_shown_token_by_token_and_plain_sgd_by_itself(tmp_path):
    """Four audited steps drawn as four points; another optimizer's errors in the same row."""
    for name, optimizer, steps in (("a", "adamw", 12), ("b", "sgd", 2)):
        folder = tmp_path / "runs" / name
        write_run(folder, rule="grpo", entropies=[1.0] * steps)
        description = read_json(folder / "run.json")
        description["options"]["optimizer"] = optimizer
        write_json(folder / "run.json", description)
        columns = (*figure.FORECASTS, "measured")
        write_json(folder / "audit.json", {"summary": {}, "steps": [
            {"step": i, **dict.fromkeys(columns, -0.1),
             "by_token": {name: [-0.2, 0.1] for name in columns}}
            for i in range(steps)]})
    table = figure.data(tmp_path)
    assert table.groupby(["policy", "level"]).size().to_dict() == {
        ("small-sums, split", "steps"): 12, ("small-sums, split, plain SGD", "tokens"): 4}


def steps_of(policy, rule, level, slope, noise):
    """Eight steps whose change is ``slope`` times forecast (i), but for noise at right angles to it."""
    forecast = np.repeat([1.0, 2.0], 4)
    change = slope * forecast + noise * np.tile([1.0, -1.0], 4)
    return pandas.DataFrame({
        "policy": policy, "level": level, "rule": rule, "step": range(8), "coefficients": forecast,
        **dict.fromkeys(("first_order", "exact", "measured"), change)})


def test_rules_are_judged_one_by_one_and_named_with_what_their_error_is_of():
    """Two rules of opposite slopes pooled, neither of which they would follow; tokens called steps; an
    optimizer's error put down to the tabular assumption alone."""
    table = pandas.concat([
        steps_of("tabular, learning rate 5", "grpo", "steps", 1.0, 0.0),
        steps_of("small-sums, split", "grpo", "steps", 1.0, 0.0),
        steps_of("small-sums, split", "aepo", "steps", -1.0, 0.5),
        steps_of("small-sums, split, plain SGD", "grpo", "tokens", 1.0, 0.5)], ignore_index=True)
    found = figure.finding(table)
    assert {one.where: one.met for one in found.criteria} == {"in a table": True, "on networks": False}
    # The variance of the forecast's part is .25, and as much is noise.
    (made,) = figure.tables(table)
    errors = {row[0]: row[-1] for row in made.rows}
    assert errors["small-sums, split, aepo"] == "tabular assumption and the optimizer"
    assert errors["small-sums, split, plain SGD, grpo"] == "tabular assumption"
    drawing = figure.draw(table)
    assert drawing.axes[2].texts[0].get_text() == "r = -0.71 to 1.00"
