"""AEPO, Section 4.2: which targets are held, as plotted."""

import pytest
import xarray

from paper_figures.aepo import sustainable_targets as figure
from tests.paper_figures.conftest import judged, outcomes


def test_shares_leave_targets_above_the_ceiling_out(table, results):
    """A share of all targets, which no setting could bring to 1."""
    dataset = xarray.load_dataset(results / "simulations" / "aepo_sensitivity.nc")
    shares = table[table["panel"] == "alpha"].set_index(["setting", "x"])["y"]
    setting = str(dataset.setting.values[0])
    below = dataset.held.sel(setting=setting, alpha=2.0, target_share=0.25)
    assert shares[setting, 2.0] == pytest.approx(float(below.mean()))


def test_the_verdict_follows_the_numbers(table):
    """One scan that holds at one setting and not at another, taken for both; a scan's mean."""
    table.loc[table["panel"] == "alpha", "y"] = 0.9
    assert judged(figure, table) == {"": "beyond the paper"}
    assert outcomes(figure, table) == ["seen", "seen"]
    first = (table["panel"] == "alpha") & (table["setting"] == table["setting"].iloc[0])
    table.loc[first, "y"] = 0.6
    assert outcomes(figure, table) == ["not seen", "seen"]
    table.loc[first & (table["alpha"] == table.loc[first, "alpha"].min()), "y"] = 0.2
    assert outcomes(figure, table) == ["not seen", "not seen"]
