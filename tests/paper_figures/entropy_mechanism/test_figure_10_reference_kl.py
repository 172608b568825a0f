"""Cui et al., Figure 10: a KL penalty to the starting model."""

import pytest

from paper_figures.entropy_mechanism import figure_10_reference_kl as figure
from tests.paper_figures.conftest import judged


@pytest.mark.parametrize(("quantity", "by"), [("entropy", -2.0), ("reward", 0.5)])
def test_an_idle_or_a_free_penalty_is_no_reproduction(table, quantity, by):
    """A verdict typed in instead of derived."""
    rows = (table["strength"] > 0) & (table["quantity"] == quantity)
    later = rows & (table["step"] > 0)
    moved = table.assign(value=table["value"] + by * later)
    assert judged(figure, moved) == {"tabular": "not seen"}  # in the one family of this size
