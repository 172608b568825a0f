"""AEPO, Section 5.2: performance against the target entropy."""

import pytest

from paper_figures.aepo import entropy_and_performance as figure
from tests.paper_figures.conftest import judged


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
    """Rises of another judge or family; an end that is best, and so neither risen to nor fallen from."""
    ours = table[table["family"] != figure.PAPER]
    for _, rows in ours.groupby(["family", "passing"]):
        curve = rows.set_index("x")["y"]
        assert curve.iloc[1:-1].idxmax() == rows["best"].iloc[0]
        assert curve.iloc[1:-1].max() - curve.iloc[0] == pytest.approx(rows["rise"].iloc[0], abs=1e-9)
        assert curve.iloc[1:-1].max() - curve.iloc[-1] == pytest.approx(rows["fall"].iloc[0], abs=1e-9)


def test_the_average_before_the_trainings_judge_decides(table):
    """A kind of prompts, or a judge of our own, that votes: the paper has benchmarks that differ too."""
    both = table.assign(rise=1.0, rise_error=0.1, fall=1.0, fall_error=0.1)
    decides = (both["family"] == figure.AVERAGE) & (both["passing"] == both["passing"].max())
    both.loc[~decides & (both["family"] != figure.PAPER), ["rise", "fall"]] = -1.0
    assert judged(figure, both) == {"tabular": "seen"}
    for fall, error, verdict in ((-1.0, 0.1, "not seen"), (-1.0, 0.9, "undecided")):
        both.loc[decides, ["fall", "fall_error"]] = fall, error  # the paper's .74 lies inside of the last
        assert judged(figure, both) == {"tabular": verdict}
