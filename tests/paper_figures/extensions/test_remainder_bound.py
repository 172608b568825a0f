"""Guards paper_figures/extensions/remainder_bound.py."""

import numpy as np
import pytest

from entropy_theory.claims.extensions.remainder_constant import two_big_actions
from paper_figures.extensions import remainder_bound as figure


def test_the_bound_is_kept_and_nearly_reached(table):
    """Claim extension.remainder-constant, as the figure shows it."""
    assert table[table["panel"] == "share"]["y"].max() < 1
    assert all(one.met for one in figure.finding(table).criteria)


def test_reached_constants_are_those_of_two_likely_actions(table):
    """A worst case that is none: K_n/2, found by actual steps and by the formula of the claim."""
    reached = table[(table["panel"] == "constant") & (table["kind"] == "reached")].set_index("x")["y"]
    # Steps of 0.02 are of second order to their square; 99 probabilities miss a flat maximum by less.
    assert reached[2] == pytest.approx(1 / 4, rel=1e-3)
    for n in (3, 30, 1000, figure.LARGEST_COUNT):
        assert reached[n] == pytest.approx(two_big_actions(n) / 2, rel=2e-3)


def test_a_broken_bound_and_a_wrong_certificate_are_judged_so(table):
    """A verdict typed in."""
    broken = table.copy()
    broken.loc[broken["panel"] == "share", "y"] *= 2
    assert not figure.finding(broken).criteria[0].met
    wrong = table.copy()
    wrong.loc[wrong["panel"] == "sign", "x"] = np.inf
    assert not figure.finding(wrong).criteria[1].met
