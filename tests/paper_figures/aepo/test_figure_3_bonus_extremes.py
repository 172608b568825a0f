"""AEPO, Figure 3: collapse, explosion and control, as plotted."""

import pytest

from paper_figures.aepo import figure_3_bonus_extremes as figure


def test_the_extremes_and_control_are_what_the_verdict_says(table):
    """A verdict that does not look at AEPO."""
    either = next(one.value for one in figure.finding(table).criteria
                  if "either" in one.says and one.where == "with 4 right answers")
    unheld = table.copy()
    unheld.loc[(table["method"] == "aepo") & (table["panel"] == "entropy"), "y"] = 0.0
    assert figure.finding(unheld).verdict == "core claim fails"
    extremes = table[table["panel"].isin(figure.EXTREMES) & (table["right_answers"] == 4)]
    ended = extremes[extremes["setting"] > 0].groupby(["setting", "start"])["y"].max()
    assert either == pytest.approx(ended.mean())
    one = table.copy()  # a single run in each extreme is not "often"
    one.loc[one["panel"].isin(figure.EXTREMES), "y"] = 0.0
    first = one["setting"].isin([one["setting"].max()]) & (one["start"] == 0)
    one.loc[one["panel"].isin(figure.EXTREMES) & first, "y"] = 1.0
    assert "with 4 right answers" in figure.finding(one).judgment.fails
    table.loc[(table["panel"] == "collapsed") & (table["setting"] > 0), "y"] = 0.0
    found = figure.finding(table)  # what collapses without a bonus is none of a bonus' extremes
    assert found.verdict == "core claim fails"
