"""Guards paper_figures/extensions/covariance_sign_map.py."""

from paper_figures.extensions import covariance_sign_map as figure


def test_other_shares_are_judged_otherwise(table):
    """A headline typed in."""
    found = figure.finding(table)
    assert [one.met for one in found.criteria] == [True, True, True]
    late = (table["panel"] == "training") & (table["x"] >= 0.75)
    untrained = table.assign(share=table["share"].where(~late, 0.1))
    assert [one.met for one in figure.finding(untrained).criteria] == [True, True, False]
    easy = table["panel"].eq("difficulty")
    easy &= table["x"] == table.loc[easy, "x"].max()
    none = figure.finding(table.assign(share=table["share"].where(~easy, 0.0)))
    assert [one.met for one in none.criteria] == [False, False, True]
