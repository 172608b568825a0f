"""Guards paper_figures/extensions/collapse_rates.py."""

from paper_figures.extensions import collapse_rates as figure


def test_a_missed_exponent_and_a_lost_entropy_are_judged(table):
    """A finding typed in."""
    assert [one.met for one in figure.finding(table).criteria][1:] == [True, True]
    changed = table.copy()
    rows = changed["algorithm"] == "PG"
    changed.loc[rows & (changed["panel"] == "exponent"), "y"] = -3.0
    rows = (changed["algorithm"] == "NPG") & (changed["panel"] == "within") & (changed["x"] > 1)
    changed.loc[rows, "y"] = 0.0
    (missed, kept, _) = figure.finding(changed).criteria
    assert missed.value >= 2  # -3 where -1 is predicted, in the mean over starts
    assert not kept.met
