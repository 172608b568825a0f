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
