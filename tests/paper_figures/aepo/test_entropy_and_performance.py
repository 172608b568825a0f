"""AEPO, Section 5.2: performance against the target entropy."""

import pytest

from paper_figures.aepo import entropy_and_performance as figure


def test_printed_averages_rise_to_half_a_nat_and_fall(table):
    """Table 3: 53.00, 53.87, 53.45, 53.13 at 0.25 to 1.00; changes are of the unrounded averages."""
    paper = table[table["family"] == figure.PAPER]
    assert list(paper["x"]) == [0.25, 0.5, 0.75, 1.0]
    assert paper["y"].iloc[1] == paper["y"].max()
    assert paper["best"].iloc[0] == 0.5
    for name, rounded in (("grpo", 51.60), ("rise", 0.87), ("fall", 0.74)):
        assert paper[name].iloc[0] == pytest.approx(rounded, abs=0.005)  # half of the last digit
