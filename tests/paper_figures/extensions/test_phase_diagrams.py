"""Guards paper_figures/extensions/phase_diagrams.py."""

from paper_figures.extensions import phase_diagrams as figure


def test_every_outcome_is_called_by_itself(table):
    """A common outcome that hides a rare one, called no better than by a coin."""
    runs = table["panel"] == "aepo"
    rare = table.copy()
    rare.loc[runs, ["outcome", "line"]] = ["held", 1.0]
    rare.loc[rare.index[runs][:1], "outcome"] = "collapsed"
    rare.loc[rare.index[runs][1:2], ["outcome", "line"]] = ["chatters", 0.0]
    found = figure.finding(rare)
    assert [one.where for one in found.criteria if not one.met] == ["of those chatters"]
