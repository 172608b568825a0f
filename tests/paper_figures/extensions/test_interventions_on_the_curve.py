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
    assert figure.finding(on).headline.startswith("0 of ")
    assert "trade-off" not in figure.finding(on).headline
    assert "no trade-off that interventions must obey" in figure.finding(off).headline
