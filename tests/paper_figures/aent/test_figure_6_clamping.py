"""AEnt, Figure 6: what clamping gains and costs."""

import pandas

from paper_figures.aent import figure_6_clamping as figure


def test_an_inner_best_p_at_every_coefficient_reproduces(table):
    assert figure.finding(table).verdict == "core claim fails", "two shares have no inner one"
    inner = table[(table["panel"] == "reward") & (table["x"] == 0.0)].assign(x=0.5, y=0.99)
    assert figure.finding(pandas.concat([table, inner])).verdict == "holds"
    others = inner[inner["line"] != "0.2"]
    assert figure.finding(pandas.concat([table, others])).verdict == "holds under a condition"
