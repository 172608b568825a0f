"""AEPO, Section 4.2: which targets are held, as plotted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas
import pytest
import xarray

from paper_figures.aepo import sustainable_targets as figure
from paper_figures.drawing.style import style
from simulations.experiments.aepo_sensitivity import PROFILES


@pytest.fixture
def table(simulated: Callable[..., Path]) -> pandas.DataFrame:
    return figure.data(simulated("aepo_sensitivity"))


def test_shares_leave_targets_above_the_ceiling_out(
    table: pandas.DataFrame, simulated: Callable[..., Path]
) -> None:
    """A share of all targets, which no setting could bring to 1."""
    dataset = xarray.load_dataset(simulated("aepo_sensitivity") / "simulations" / "aepo_sensitivity.nc")
    shares = table[table["panel"] == "alpha"].set_index(["setting", "x"])["y"]
    setting = str(dataset.setting.values[0])
    below = dataset.held.sel(setting=setting, alpha=2.0, target_share=0.25)
    assert shares[setting, 2.0] == pytest.approx(float(below.mean()))


def test_the_verdict_follows_the_numbers(table: pandas.DataFrame) -> None:
    """A verdict typed in instead of derived."""
    shown = table["panel"].isin(["alpha", "start"])
    even = table.copy()
    even.loc[shown, "y"] = 0.9
    assert figure.finding(even).verdict == "holds"
    uneven = even.copy()
    first = (even["panel"] == "alpha") & (even["setting"] == even["setting"].iloc[0])
    uneven.loc[first, "y"] = 0.6
    assert figure.finding(uneven).verdict == "holds under a condition"
    assert figure.finding(uneven).judgment.fails == ("over temperatures and group sizes",)
    uneven.loc[first & (uneven["alpha"] == uneven.loc[first, "alpha"].min()), "y"] = 0.2
    assert figure.finding(uneven).verdict == "core claim fails"


def test_as_many_settings_as_the_full_profile_has_are_drawn(table: pandas.DataFrame) -> None:
    """Ten settings, more than there are colors: seen in the smallest profile by none of the others."""
    one = table[table["setting"] == table.loc[table["panel"] == "alpha", "setting"].iloc[0]]
    names = [f"setting {k}" for k in range(len(PROFILES["full"].settings))]
    many = pandas.concat([table, *(one.assign(setting=name) for name in names)], ignore_index=True)
    with style():
        drawing = figure.draw(many)
    written = [text.get_text() for text in drawing.axes[0].texts]
    assert set(names) <= set(written)
