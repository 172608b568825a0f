"""AEPO, Section 5.2: performance against the target entropy."""

import pytest

from paper_figures.aepo import entropy_and_performance as figure


def test_printed_averages_rise_to_half_a_nat_and_fall(table):
    """Table 3: 53.00, 53.87, 53.45, 53.13 at 0.25 to 1.00."""
    paper = table[table["family"] == figure.PAPER]
    assert list(paper["x"]) == [0.25, 0.5, 0.75, 1.0]
    assert paper["y"].iloc[1] == paper["y"].max()
    assert paper["best"].iloc[0] == 0.5
    assert paper["grpo"].iloc[0] == pytest.approx(51.60, abs=0.005)
    assert paper["rise"].iloc[0] == pytest.approx(0.87, abs=0.02)
    assert paper["fall"].iloc[0] == pytest.approx(0.74, abs=0.02)


def test_rise_and_fall_are_taken_from_the_curve(table):
    """Rises of another judge or family; a best target that is not the highest point."""
    ours = table[table["family"] != figure.PAPER]
    for _, rows in ours.groupby(["family", "passing"]):
        curve = rows.set_index("x")["y"]
        assert curve.idxmax() == rows["best"].iloc[0]
        assert curve.max() - curve.iloc[0] == pytest.approx(rows["rise"].iloc[0], abs=1e-9)
        assert curve.max() - curve.iloc[-1] == pytest.approx(rows["fall"].iloc[0], abs=1e-9)


def test_the_verdict_follows_the_numbers(table):
    """A verdict typed in instead of derived."""
    both = table.assign(rise=1.0, rise_error=0.1, fall=1.0, fall_error=0.1)
    assert figure.finding(both).verdict == "holds"
    neither = both.assign(rise_error=1.0)
    assert figure.finding(neither).verdict == "core claim fails"
    one = both.copy()
    one.loc[one["family"] == "solved", "rise"] = 0.0
    assert figure.finding(one).verdict == "holds under a condition"
    one.loc[(one["family"] == "rare") & (one["passing"] == one["passing"].max()), "fall"] = 0.0
