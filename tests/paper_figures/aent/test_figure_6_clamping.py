"""AEnt, Figure 6: what clamping gains and costs."""

import pandas

from paper_figures.aent import figure_6_clamping as figure
from tests.paper_figures.conftest import judged, outcomes


def test_an_inner_p_must_be_ahead_of_both_extremes_beyond_its_interval(table):
    """An extreme that is best, held against the paper though the lead over an inner p is noise."""
    assert judged(figure, table) == {"tabular": "undecided"}, "two shares have no inner one"
    table = pandas.concat([table, table.assign(start=1.0)])  # the smoke size has one
    table.loc[table["panel"] == "reward", "y"] = 0.5
    inner = table[(table["panel"] == "reward") & (table["x"] == 0.0)].assign(x=0.5, y=0.99)
    assert judged(figure, pandas.concat([table, inner])) == {"tabular": "seen"}
    others = inner.assign(y=inner["y"].where(inner["line"] != "0.2", 0.0))
    assert judged(figure, pandas.concat([table, others])) == {"tabular": "seen in part"}
    noise = inner.assign(y=inner["start"] % 2)
    assert set(outcomes(figure, pandas.concat([table, noise]))) == {"undecided"}
