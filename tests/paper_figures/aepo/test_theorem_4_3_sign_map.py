"""The map of F's sign: what the theorem and the corollary say on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import pytest

from paper_figures.aepo import theorem_4_3_sign_map as figure


@pytest.fixture(scope="module")
def table() -> pandas.DataFrame:
    return figure.data(Path("unused"))


def test_the_black_line_separates_the_signs(table: pandas.DataFrame) -> None:
    """T0 or F at another policy's place."""
    rises = table["temperature"] > table["sign_change"]
    assert (np.sign(table["rate"]) == np.where(rises, 1, -1)).all()


def test_the_verdict_follows_the_numbers(table: pandas.DataFrame) -> None:
    """A verdict typed in instead of derived."""
    changed = table.copy()
    changed.loc[changed["rate_at_1"] < 0, "slope_at_1"] = -1.0
    assert figure.finding(changed).verdict == "core claim fails"
    agrees = table[~figure.against_corollary(table)]
    assert figure.finding(agrees).verdict == "holds"
