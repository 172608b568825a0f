"""AEPO, Section 4.2: which targets are held, as plotted."""

import pytest
import xarray

from paper_figures.aepo import sustainable_targets as figure


def test_shares_leave_targets_above_the_ceiling_out(table, results):
    """A share of all targets, which no setting could bring to 1."""
    dataset = xarray.load_dataset(results / "simulations" / "aepo_sensitivity.nc")
    shares = table[table["panel"] == "alpha"].set_index(["setting", "x"])["y"]
    setting = str(dataset.setting.values[0])
    below = dataset.held.sel(setting=setting, alpha=2.0, target_share=0.25)
    assert shares[setting, 2.0] == pytest.approx(float(below.mean()))


def test_the_verdict_follows_the_numbers(table):
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
