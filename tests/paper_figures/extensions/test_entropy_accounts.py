"""Guards paper_figures/extensions/figure.py: what is drawn is what the audit says."""

import dataclasses

import numpy as np
import pandas
import pytest

from entropy_theory.support.results import read_json, write_json
from llm_bridge.analysis import tokens as audited_tokens
from paper_figures.extensions import entropy_accounts as figure
from tests.paper_figures.conftest import write_run

STEPS = 12


def write_steps(folder, count, rule='grpo', audit_every=1):
    """A run whose (i') is half of what happens, none of its steps divided over tokens."""
    write_run(folder, rule=rule, entropies=[1.0] * count)
    description = read_json(folder / "run.json")
    description["options"] |= {"audit_every": audit_every, "optimizer": "adamw", "learning_rate": 3e-4}
    write_json(folder / "run.json", description)
    steps = []
    for step in range(1, count + 1):
        measured = -0.01 * (1 + step % 3)
        steps.append({
            "step": step, "coefficients": (-1.0) ** step, "first_order": measured,
            "exact": measured, "entropy_gradient": measured / 2, "accounted": measured,
            "measured": measured,
            "parts": {"gradient": 1.5 * measured, "momentum": -0.5 * measured} if step > 1 else {
                "gradient": measured},
        })
    write_json(folder / "audit.json", {"summary": {}, "steps": steps})


def write_audit(results):
    """The same, with a covariance that names the wrong token first."""
    folder = results / "runs" / "a"
    write_steps(folder, STEPS)
    column = np.zeros((1, 10))
    columns = {
        field.name: column for field in dataclasses.fields(audited_tokens.AuditedTokens)
    } | {
        "step": 1, "learning_rate": 1e-4, "mask": column == 0,
        "attribution": np.array([[-3.0, -1.0, 1.0, *[0.0] * 7]]),
        "covariance": np.array([[0.0, 1.0, 2.0, *[-1.0] * 7]]),
    }
    (folder / "audit").mkdir()
    audited_tokens.write(
        folder / "audit" / "tokens-00001.npz", audited_tokens.AuditedTokens(**columns))


@pytest.fixture
def table(tmp_path):
    write_audit(tmp_path)
    return figure.data(tmp_path)


def test_a_run_with_tokens_goes_before_a_longer_one_without(tmp_path):
    """A training run accounts for more steps than an audit, and keeps no tokens."""
    write_audit(tmp_path)
    write_steps(tmp_path / "runs" / "longer", 2 * STEPS)
    table = figure.data(tmp_path)
    assert set(table["panel"]) >= {"chosen", "sign"}


def test_the_forecasts_are_compared_by_their_intervals(table):
    """A correlation of few steps taken for what it would be of many."""
    (asked,) = figure.finding(table).criteria
    forecasts = table[table["panel"] == "forecast"].groupby("name")
    (_, most), (least, _) = (figure.interval(forecasts.get_group(name))
                             for name in ("coefficients", "entropy_gradient"))
    assert asked.value == least - most
    assert "Cui et al. (Figure 8)" in figure.FIGURE.paper


def test_an_interval_knows_that_steps_resemble_each_other():
    """Steps taken for independent ones where each is there four times: half as long as it is."""
    x, noise = np.repeat(np.random.default_rng(0).normal(size=(2, 200)), 4, axis=1)
    steps = pandas.DataFrame({"x": x, "y": x + noise})
    low, high = figure.interval(steps)
    middle = np.arctanh(np.corrcoef(x, x + noise)[0, 1])
    of_independent = np.ptp(np.tanh(middle + np.array([-1.96, 1.96]) / np.sqrt(len(x) - 3)))
    # Blocks of 5 see 1 + 2 (.8 x .75 + .6 x .5 + .4 x .25) = 3 of the four times the variance.
    assert 1.4 < (high - low) / of_independent < 2
    assert low < np.tanh(middle) < high
