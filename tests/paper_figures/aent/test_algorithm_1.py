"""AEnt, Algorithm 1: the coefficient is that of the printed update, and the functions named exist."""

import pytest

from paper_figures.aent import algorithm_1 as figure
from tests.paper_figures.conftest import judged


def test_the_coefficients_follow_the_printed_update_from_the_logged_entropies(table):
    """Eq. 4.1 written once more, in plain Python: a sign, an order or a bound changes it."""
    rule = figure.RULE
    coefficient = rule.coefficient
    branches = set()
    for k, row in enumerate(table.itertuples()):
        if k:
            below = min(row.clamped_entropy - rule.entropy_low, 0.0)
            above = min(rule.entropy_high - row.clamped_entropy, 0.0)
            moved = coefficient - rule.coefficient_step * below + rule.coefficient_step * above
            coefficient = max(rule.coefficient_low, min(moved, rule.coefficient_high))
            branches |= {"below" if below else "above" if above else "inside"}
            branches |= {"boxed"} if coefficient != moved else set()
        # 80 additions of numbers below 1, each rounded to 1e-16.
        assert row.coefficient == pytest.approx(coefficient, abs=1e-12)
    assert branches == {"below", "above", "inside", "boxed"}, "the run must use every part of it"


def test_one_run_decides_on_the_formula_and_not_on_the_band(table):
    """A sampled run of one seed taken for all runs; a band that makes up for a wrong coefficient."""
    table.loc[table.index[-1], "clamped_entropy"] = figure.RULE.entropy_low  # ends in the band
    assert judged(figure, table) == {"tabular": "undecided"}
    table.loc[50, "coefficient"] += 1e-6
    assert judged(figure, table) == {"tabular": "not seen"}


@pytest.mark.parametrize("end", [0.1, 0.5])
def test_an_end_outside_the_band_is_no_staying_in_it(table, end):
    table.loc[table.index[-1], "clamped_entropy"] = end
    assert not figure.finding(table).criteria[-1].met
