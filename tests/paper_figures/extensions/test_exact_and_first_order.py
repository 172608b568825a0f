"""Guards paper_figures/extensions/exact_and_first_order.py."""

import numpy as np
import pytest

from paper_figures.extensions import exact_and_first_order as figure


def test_no_step_loses_more_entropy_than_there_is(table):
    """First order drawn as exact: it has no floor."""
    collapse = table[table["case"] == "collapse"]
    p = figure.ACCURACY["collapse"]
    most = -p * np.log(p) - (1 - p) * np.log((1 - p) / (figure.N_ACTIONS - 1))
    assert collapse["exact"].min() >= -most
    assert collapse["first_order"].min() < -most


def test_where_the_first_order_misleads(table):
    """Directions of the wrong sign; the finding's point."""
    last = table[table["size"] == table["size"].max()]
    rare = last[last["case"] == "rare"]
    assert (rare["first_order"] > 0).all()
    assert (rare["exact"] < 0).all()
    five = table[(table["case"] == "bonus") & table["size"].between(4, 7)]
    assert (five["exact"] > 3 * five["first_order"]).all()
    assert (five["first_order"] > 0).all()
    assert [one.met for one in figure.finding(table).criteria] == [True, True]


def test_the_finding_is_read_off_the_table(table):
    """A finding typed in."""
    found = figure.finding(table.assign(first_order=1.05 * table["exact"]))
    assert found.criteria[0].value == pytest.approx(figure.SIZES[-1])
    assert [one.met for one in found.criteria] == [True, False]
