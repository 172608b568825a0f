"""Guards paper_figures/extensions/remainder_bound.py."""

import pytest

from entropy_theory.claims.extensions.remainder_constant import two_big_actions
from paper_figures.extensions import remainder_bound as figure


def test_reached_constants_are_those_of_two_likely_actions(table):
    """A worst case that is none: K_n/2, found by actual steps and by the formula of the claim."""
    reached = table[(table["panel"] == "constant") & (table["kind"] == "reached")].set_index("x")["y"]
    # Steps of 0.02 are of second order to their square; 99 probabilities miss a flat maximum by less.
    assert reached[2] == pytest.approx(1 / 4, rel=1e-3)
    for n in (3, 30, 1000, figure.LARGEST_COUNT):
        assert reached[n] == pytest.approx(two_big_actions(n) / 2, rel=2e-3)
