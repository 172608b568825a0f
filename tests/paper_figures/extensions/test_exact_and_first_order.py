"""Guards paper_figures/extensions/exact_and_first_order.py."""

import pytest

from paper_figures.extensions import exact_and_first_order as figure


def test_the_finding_is_read_off_the_table(table):
    """A finding typed in."""
    found = figure.finding(table.assign(first_order=1.05 * table["exact"]))
    assert found.criteria[0].value == pytest.approx(figure.SIZES[-1])
    assert [one.met for one in found.criteria] == [True, False]
