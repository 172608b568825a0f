"""Guards paper_figures/extensions/response_length.py."""

from paper_figures.extensions import response_length as figure


def test_only_a_mean_over_each_response_moves_length(table):
    """Objectives exchanged; right and wrong responses exchanged."""
    found = figure.finding(table)
    assert all(one.met for one in found.criteria)


def test_other_lengths_are_judged_otherwise(table):
    """A headline typed in."""
    changed = table.copy()
    rows = (changed["panel"] == "length") & (changed["x"] == changed.loc[
        changed["panel"] == "length", "x"].max())
    changed.loc[rows & (changed["kind"] == "right"), "y"] += 1
    assert [one.met for one in figure.finding(changed).criteria] == [False, True, False]
