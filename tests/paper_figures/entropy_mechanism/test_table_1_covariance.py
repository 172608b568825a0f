"""Cui et al., Table 1: the mean covariance of the tokens with the largest."""

import pytest

from paper_figures.entropy_mechanism import table_1_covariance as figure
from simulations.experiments import covariance_table


def test_the_printed_numbers_are_the_slide_s():
    """A slip of the pen in the data; two copies that differ."""
    printed = (5.654, 3.112, 1.385, 0.351, 0.152, 0.003)
    assert tuple(figure.PRINTED.column("Mean value").values()) == printed
    assert tuple(figure.GROUPS) == covariance_table.SHARES


def test_a_shape_is_free_of_the_unit(table):
    """Values compared where ratios are meant."""
    ours = table["advantage"] != "printed"
    doubled = figure.shapes(table.assign(value=table["value"].where(~ours, 2 * table["value"])))
    before = figure.shapes(table)
    assert doubled["error"].to_numpy() == pytest.approx(before["error"].to_numpy())
    assert doubled["level"].to_numpy() == pytest.approx(2 * before["level"].to_numpy())
