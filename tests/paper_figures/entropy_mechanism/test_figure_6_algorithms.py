"""Cui et al., Figure 6: algorithms on one curve."""

import pytest
import xarray

from paper_figures.entropy_mechanism import figure_6_algorithms as figure
from tests.paper_figures.conftest import judged


def test_sampled_runs_are_compared_with_sampled_grpo(table, results):
    """What sampling costs, put down to the algorithm."""
    dataset = xarray.load_dataset(results / "simulations" / "performance_law_coefficients.nc")
    at = dataset.reward_at_entropy.sel(right_answers=5, start=1)
    share = float(at.share[2])
    rows = table.query("panel == 'curve' and algorithm == 'RLOO' and start == 1 and right_answers == 5")
    found = rows[rows["share"] == share].set_index("sampled")["gap"]
    pairs = (("policy gradient (RLOO)", "GRPO"), ("RLOO, sampled", "GRPO, sampled"))
    exact, sampled = (float(at.sel(algorithm=a, share=share) - at.sel(algorithm=b, share=share))
                      for a, b in pairs)
    assert found[False] == pytest.approx(exact, rel=1e-9)
    assert found[True] == pytest.approx(sampled, rel=1e-9)


def test_other_gaps_change_the_verdict(table):
    """An algorithm that the paper does not have counted; sampled groups left out."""
    curve = table["panel"] == "curve"
    other = table["algorithm"] == figure.OTHER
    table.loc[curve & ~other, "gap"] = 0.01
    table.loc[curve & other, "gap"] = -0.9
    assert judged(figure, table) == {"tabular": "seen"}
    table.loc[curve & (table["algorithm"] == "RLOO") & table["sampled"], "gap"] = -0.2
    assert judged(figure, table) == {"tabular": "not seen"}


def test_a_gap_counts_once_and_of_all_starts(table):
    """One fact as a core and as two conditions; a mean over the starts that came so far."""
    criteria = figure.finding(table).criteria
    assert [one.where for one in criteria] == ["", "", "for the natural gradient"]
    curve = (table["panel"] == "curve") & (table["algorithm"] == figure.OTHER)
    share = table.loc[curve & table["gap"].notna() & (table["share"] < 1), "share"].max()
    some = curve & (table["share"] == share) & (table["start"] == table["start"].min())
    found = figure.gaps(table.assign(gap=table["gap"].mask(some)))
    assert share not in found.xs(figure.OTHER, level="algorithm").index.unique("share")
