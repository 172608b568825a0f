"""AEPO, Figure 3: collapse, explosion and control, as plotted."""

import pytest

from paper_figures.aepo import figure_3_bonus_extremes as figure
from tests.paper_figures.conftest import judged, outcomes


def test_the_extremes_and_control_are_what_the_verdict_says(table):
    """A verdict that does not look at AEPO; one right answer, under which no target can be held."""
    either = next(one.value for one in figure.finding(table).criteria
                  if "either" in one.says and one.where == "with 4 right answers")
    extremes = table[table["panel"].isin(figure.EXTREMES) & (table["right_answers"] == 4)]
    ended = extremes[extremes["setting"] > 0].groupby(["setting", "start"])["y"].max()
    assert either == pytest.approx(ended.mean())
    kinds = table["panel"].isin(figure.EXTREMES)
    table.loc[kinds, "y"] = (table["start"] % 2 == (table["panel"] == "collapsed")).astype(float)
    held = (table["method"] == "aepo") & (table["panel"] == "entropy")
    table.loc[held, "y"] = table["setting"].where(table["right_answers"] > 1, 9.0)
    assert judged(figure, table) == {"tabular": "seen"}
    assert "not seen" in outcomes(figure, table, "with one right answer")
    unheld = table.assign(y=table["y"].where(~held, 0.0))
    assert judged(figure, unheld) == {"tabular": "not seen"}
    one = table.copy()  # a single run in each extreme is not "often"
    first = one["setting"].isin([one["setting"].max()]) & (one["start"] == 0)
    one.loc[kinds, "y"] = first.astype(float)
    assert "not seen" in outcomes(figure, one, "with 4 right answers")
    table.loc[(table["panel"] == "collapsed") & (table["setting"] > 0), "y"] = 0.0
    assert judged(figure, table) == {"tabular": "not seen"}  # one that never collapses
