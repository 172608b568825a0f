"""Guards paper_figures/extensions/covariance_sign_map.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas
import pytest

from paper_figures.extensions import covariance_sign_map as figure


@pytest.fixture(scope="module")
def table(simulated: Callable[..., Path]) -> pandas.DataFrame:
    return figure.data(simulated("covariance_sign_map"))


def test_the_sign_is_that_of_the_problem(table: pandas.DataFrame) -> None:
    """Hard prompts negative, easy ones positive, training and competence positive."""
    numbers = figure.finding(table).numbers
    assert numbers["hard: highest"] < 0.5 < numbers["easy: lowest"]
    assert numbers["calibrated batches: lowest"] > numbers["calibrated prompts: lowest"]
    assert numbers["calibrated batches: lowest"] > numbers["blind batches: lowest"]
    competence = table[(table["panel"] == "competence")].groupby("x")["share"].median()
    assert competence.is_monotonic_increasing
    assert ((table["share"] >= 0) & (table["share"] <= 1)).all()


def test_shares_of_one_would_be_said(table: pandas.DataFrame) -> None:
    """A headline typed in."""
    assert "in nearly all problems" in figure.finding(table.assign(share=1.0)).headline
    assert "sign is that of the problem" in figure.finding(table).headline
