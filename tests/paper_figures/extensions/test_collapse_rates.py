"""Guards paper_figures/extensions/collapse_rates.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas
import pytest

from paper_figures.extensions import collapse_rates as figure


@pytest.fixture(scope="module")
def table(simulated: Callable[..., Path]) -> pandas.DataFrame:
    return figure.data(simulated("collapse"))


def test_a_missed_exponent_and_a_lost_entropy_are_judged(table: pandas.DataFrame) -> None:
    """A finding typed in."""
    assert [one.met for one in figure.finding(table).criteria][1:] == [True, True]
    changed = table.copy()
    rows = changed["algorithm"] == "PG"
    changed.loc[rows & (changed["panel"] == "exponent"), "y"] = -3.0
    rows = (changed["algorithm"] == "NPG") & (changed["panel"] == "within") & (changed["x"] > 1)
    changed.loc[rows, "y"] = 0.0
    (missed, kept, _) = figure.finding(changed).criteria
    assert missed.value >= 2  # -3 where -1 is predicted, in the mean over starts
    assert not kept.met
