"""Guards paper_figures/extensions/interventions_on_the_curve.py; what is seen, the experiment's test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas
import pytest
import xarray

from paper_figures.extensions import interventions_on_the_curve as figure

NAME = "interventions_on_the_curve"


@pytest.fixture(scope="module")
def table(simulated: Callable[..., Path]) -> pandas.DataFrame:
    return figure.data(simulated(NAME))


def tried(table: pandas.DataFrame) -> int:
    """The interventions that reach a level of entropy from samples in the smallest runs."""
    rows = table[(table["panel"] == "gap") & (table["mode"] == "sampled")]
    return int((~rows["rule"].isin(figure.CONTROLS)).sum())


def test_gaps_are_those_of_the_simulation(
    table: pandas.DataFrame, simulated: Callable[..., Path]
) -> None:
    """Rules or families exchanged on the way from dataset to table."""
    dataset = xarray.load_dataset(simulated(NAME) / "simulations" / f"{NAME}.nc")
    gaps = table[table["panel"] == "gap"]
    assert "GRPO" not in set(gaps["rule"])
    for row in gaps.sample(6, random_state=0).itertuples():
        place = {"family": row.family, "mode": row.mode, "rule": row.rule}
        assert row.y == pytest.approx(float(dataset.reward_gap_mean.sel(place)))
        assert row.side == int(dataset.side.sel(place))


def test_controls_are_not_counted_and_every_rule_is_in_the_table(table: pandas.DataFrame) -> None:
    """GRPO with other samples reported as an intervention."""
    numbers = figure.finding(table).numbers
    sampled = table[(table["panel"] == "gap") & (table["mode"] == "sampled")]
    counted = sum(value for key, value in numbers.items() if key.split(": ")[1] in figure.SIDES.values())
    assert counted == len(sampled) - sampled["family"].nunique() * len(figure.CONTROLS)
    shown = {row[0] for found in figure.tables(table) for row in found.rows}
    assert shown == set(table[table["panel"] == "gap"]["rule"])


def test_the_headline_follows_the_sides(table: pandas.DataFrame) -> None:
    """A headline typed in."""
    gap = table["panel"] == "gap"
    on, off = table.copy(), table.copy()
    on.loc[gap, "side"] = 0
    off.loc[gap, "side"] = 1
    assert f"0 of {tried(table)} interventions" in figure.finding(on).headline
    assert figure.finding(on).headline.startswith("From samples")
    assert "trade-off" not in figure.finding(on).headline
    assert "no trade-off that interventions must obey" in figure.finding(off).headline


def test_interventions_are_counted_by_family_and_none_that_is_grpo(table: pandas.DataFrame) -> None:
    """One intervention counted on every family of prompts, or where it does nothing."""
    gap = table["panel"] == "gap"
    off, on = table.copy(), table.copy()
    off.loc[gap, "side"] = 1
    on.loc[gap, "side"] = 0
    bonus = gap & (table["rule"] == "diverse bonus")
    on.loc[bonus, ["y", "low", "high"]] = 0.0
    on["family"] = "one right, graded"
    both = figure.finding(pandas.concat([off, on], ignore_index=True))
    assert f"{tried(table)} of {tried(table)} interventions" in both.headline
    assert "on prompts with one right answer none does" in both.headline
    assert both.numbers["one right, graded: on"] == tried(table) - 1
    assert "the same as GRPO diverse bonus" in both.text


def test_what_exact_expectation_says_otherwise_is_named(table: pandas.DataFrame) -> None:
    """A side from samples passed off as that of the rule."""
    gap = table["panel"] == "gap"
    changed = table.copy()
    changed.loc[gap, "side"] = 0
    changed.loc[gap & (table["mode"] == "exact") & (table["rule"] == "REINFORCE"), "side"] = 1
    found = figure.finding(changed)
    assert "elsewhere than from samples: REINFORCE (" in found.text
    shown = gap & (table["mode"] == "sampled") & ~table["rule"].isin(figure.CONTROLS)
    excludes = (table[shown]["low"] > 0) | (table[shown]["high"] < 0)
    assert f"for {excludes.sum()} of {tried(table)} the interval excludes 0" in found.text
