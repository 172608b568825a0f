"""AEPO, Figure 3: collapse, explosion and control, as plotted."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper_figures.aepo import figure_3_bonus_extremes as figure_3


def test_the_extremes_and_control_are_what_the_verdict_says(smoke_results: Path) -> None:
    """A verdict that does not look at AEPO."""
    table = figure_3.data(smoke_results)
    either = next(one.value for one in figure_3.finding(table).criteria
                  if "either" in one.says and one.where == "with 4 right answers")
    unheld = table.copy()
    unheld.loc[(table["method"] == "aepo") & (table["panel"] == "entropy"), "y"] = 0.0
    assert figure_3.finding(unheld).verdict == "core claim fails"
    extremes = table[table["panel"].isin(figure_3.EXTREMES) & (table["right_answers"] == 4)]
    ended = extremes[extremes["setting"] > 0].groupby(["setting", "start"])["y"].max()
    assert either == pytest.approx(ended.mean())
    one = table.copy()  # a single run in each extreme is not "often"
    one.loc[one["panel"].isin(figure_3.EXTREMES), "y"] = 0.0
    first = one["setting"].isin([one["setting"].max()]) & (one["start"] == 0)
    one.loc[one["panel"].isin(figure_3.EXTREMES) & first, "y"] = 1.0
    assert "with 4 right answers" in figure_3.finding(one).judgment.fails
    table.loc[(table["panel"] == "collapsed") & (table["setting"] > 0), "y"] = 0.0
    found = figure_3.finding(table)  # what collapses without a bonus is none of a bonus' extremes
    assert found.verdict == "core claim fails"
