"""Cui et al., Figure 6: algorithms on one curve."""

from paper_figures.entropy_mechanism import figure_6_algorithms as figure


def test_a_gap_counts_once_and_of_all_starts(table):
    """One fact as a core and as two conditions; a mean over the starts that came so far."""
    criteria = figure.finding(table).criteria
    assert [one.where for one in criteria] == ["", "", "for the natural gradient"]
    curve = (table["panel"] == "curve") & (table["algorithm"] == figure.OTHER)
    share = table.loc[curve & table["gap"].notna() & (table["share"] < 1), "share"].max()
    some = curve & (table["share"] == share) & (table["start"] == table["start"].min())
    found = figure.gaps(table.assign(gap=table["gap"].mask(some)))
    assert share not in found.xs(figure.OTHER, level="algorithm").index.unique("share")
