"""AEnt, Figure 6: what clamping gains and costs."""

import pandas

from paper_figures.aent import figure_6_clamping as figure
from tests.paper_figures.conftest import judged, outcomes


def test_an_inner_p_must_be_ahead_of_both_extremes_beyond_its_interval(table):
    """An extreme that is best, held against the paper though the lead over an inner p is noise."""
    assert judged(figure, table) == {"": "beyond the paper"}
    assert set(outcomes(figure, table)) == {"undecided"}, "two shares have no inner one"
    table = pandas.concat([table, table.assign(start=1.0)])  # the smoke size has one
    table.loc[table["panel"] == "reward", "y"] = 0.5
    inner = table[(table["panel"] == "reward") & (table["x"] == 0.0)].assign(x=0.5, y=0.99)
    assert set(outcomes(figure, pandas.concat([table, inner]))) == {"seen"}
    others = inner.assign(y=inner["y"].where(inner["line"] != "0.2", 0.0))
    found = pandas.concat([table, others])
    assert set(outcomes(figure, found, "of 0.2:")) == {"not seen"}
    assert set(outcomes(figure, found, "of 0.5:")) == {"seen"}
    noise = inner.assign(y=inner["start"] % 2)
    assert set(outcomes(figure, pandas.concat([table, noise]))) == {"undecided"}
