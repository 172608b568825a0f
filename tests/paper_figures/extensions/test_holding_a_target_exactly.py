"""Guards paper_figures/extensions/holding_a_target_exactly.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas
import pytest

from paper_figures.extensions import holding_a_target_exactly as exact


@pytest.fixture(scope="module")
def table(simulated: Callable[..., Path]) -> pandas.DataFrame:
    return exact.data(simulated("holding_a_target"))


def test_the_summary_tells_targets_below_the_ceiling_from_those_above(
    table: pandas.DataFrame,
) -> None:
    """A target above log |A*| counted as one that was not held."""
    table = table.copy()
    found = exact.summary(table)
    above = (table["panel"] == "run") & (table["shape"] == "1")
    table.loc[above, "shape"] = "2.3"
    table.loc[above, "out_of_power"] = 0.75
    moved = exact.summary(table)
    assert np.isfinite(found["deviation"]).all()
    assert moved["deviation"].isna().all()
    assert (moved["beyond"] == 0.75).all()


def test_it_is_drawn_of_what_was_computed(table: pandas.DataFrame) -> None:
    found = exact.finding(table)
    rows = table[(table["panel"] == "run") & (table["shape"] == "1") & (table["controller"] == "AEPO")]
    assert found.numbers["AEPO: deviation"] == pytest.approx(rows["deviation"].mean())
    assert len(exact.tables(table)[0].rows) == 8
    exact.draw(table).draw_without_rendering()


def held(table: pandas.DataFrame, off: dict[str, float], noise: float) -> pandas.DataFrame:
    """A table whose controllers are as far off as ``off`` says, or else by 1, over six runs each."""
    runs = pandas.DataFrame([
        {"panel": "run", "controller": name, "learning_rate": 1.0, "shape": shape, "start": start,
         "deviation": off.get(name, 1.0) + noise * (-1) ** i * (start - 1), "reward": 0.9 - 0.1 * i,
         "mean_entropy": 1.0, "steps_to_follow": 9.0, "out_of_power": 0.0}
        for i, name in enumerate(table.loc[table["controller"].notna(), "controller"].unique())
        if name != "target" for shape in ("0.5", "1") for start in range(3)])
    moving = runs[runs["shape"] == "1"].assign(shape="step")
    return pandas.concat([runs, moving, table[table["panel"] == "ceiling"]], ignore_index=True)


def test_all_that_are_not_told_apart_from_the_nearest_are_named(table: pandas.DataFrame) -> None:
    """One named of two that runs do not part; the highest reward praised where nothing is held."""
    off = {"forecast, diverse bonus": 0.0058, "forecast, entropy bonus": 0.0065}
    made = held(table, off, noise=0.001)
    assert exact.leading(made) == list(off)
    found = exact.finding(made)
    assert found.headline.startswith(
        "Targets below log |A*| are held best by the forecast on the diverse bonus, which is not told "
        "apart from the forecast on the entropy bonus. On")
    assert "forecast, entropy bonus: 100% held, 0.006 nats off" in found.text
    assert "reward is highest with AEPO, which is 1.000 nats off and holds 0%" in found.text
    assert exact.leading(held(table, off, noise=0.0)) == ["forecast, diverse bonus"]
    many = dict.fromkeys(made["controller"].dropna(), 0.01)
    assert "not told apart from 7 others. On" in exact.finding(held(table, many, noise=0.001)).headline


def test_the_longest_headline_can_be_said(table: pandas.DataFrame) -> None:
    """Words that fit for today's nearest alone."""
    longest = ["two-sided integral, diverse bonus", "two-sided integral, entropy bonus"]
    made = held(table, dict(zip(longest, (0.0058, 0.0065), strict=True)), noise=0.001)
    assert exact.leading(made) == longest
    assert exact.finding(made).headline.endswith(
        "from the two-sided integral on the entropy bonus. On the entropy bonus the forecast is no "
        "nearer than the integral.")


def test_starts_are_the_units_that_are_told_apart(table: pandas.DataFrame) -> None:
    """Runs of one start at several targets and rates, alike, taken for independent ones."""
    off = {"forecast, diverse bonus": 0.006, "forecast, entropy bonus": 0.009}
    # Differences of .001, .003 and .005 of three starts: t is 2.6 of two degrees of freedom, p .12; twice
    # each, as of six runs, it would be 4.1 of five, p .009.
    assert exact.leading(held(table, off, noise=0.001)) == list(off)
    # And of .0028, .003 and .0032 t is 26, p .0015.
    assert exact.leading(held(table, off, noise=0.0001)) == list(off)[:1]
