"""Cui et al., Figure 7: the law's coefficients against size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas
import pytest

from paper_figures.entropy_mechanism import figure_7_coefficients_by_size as figure

PRETRAINED = figure.STAND_INS["features"]


@pytest.fixture(scope="module")
def results(simulated: Callable[..., Path]) -> Path:
    return simulated("performance_law_coefficients")


@pytest.fixture
def table(results: Path) -> pandas.DataFrame:
    return figure.data(results)


def test_other_coefficients_change_the_verdict(table: pandas.DataFrame) -> None:
    """A verdict typed in."""
    line = np.log(table["size"].astype(float))
    table[["a", "b"]] = np.stack([0.1 * line, 0.2 * line], axis=1)
    assert figure.finding(table).verdict == "holds"
    table[["a", "b"]] = np.stack([(line - line.mean()) ** 2, np.sin(40 * line)], axis=1)
    assert figure.finding(table).verdict == "core claim fails"


def test_each_coefficient_is_judged_by_itself(table: pandas.DataFrame) -> None:
    """A verdict on b printed of a."""
    table["a"] = 0.1 * np.log(table["size"].astype(float)) + 0.1
    found = figure.finding(table)
    assert {one.says.split("line's ")[1][0]: one.met for one in found.criteria
            if one.where == f"for {PRETRAINED}" and "error" in one.says} == {"a": True, "b": False}
