"""Guards paper_figures/extensions/phase_diagrams.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas
import pytest
import xarray

from paper_figures.extensions import phase_diagrams as figure

NAME = "phase_diagrams"


@pytest.fixture(scope="module")
def table(simulated: Callable[..., Path]) -> pandas.DataFrame:
    return figure.data(simulated(NAME))


def test_the_fixed_point_tells_where_a_bonus_explodes(table: pandas.DataFrame) -> None:
    """A line on the wrong plane."""
    numbers = figure.finding(table).numbers
    assert numbers["bonus: explosion predicted"] == 1
    assert numbers["bonus: explodes"] > 0


def test_cells_are_those_of_the_simulation(
    table: pandas.DataFrame, simulated: Callable[..., Path]
) -> None:
    """Axes exchanged on the way to the table."""
    dataset = xarray.load_dataset(simulated(NAME) / "simulations" / f"{NAME}.nc")
    for row in table[table["panel"] == "aepo"].itertuples():
        cell = {"temperature": row.temperature, "alpha": row.alpha, "start": row.start}
        outcome = dataset.aepo_outcome.sel(right_answers=row.right_answers, **cell)
        assert row.outcome == figure.AEPO_OUTCOMES[int(outcome)]
    for row in table[table["panel"] == "bonus"].itertuples():
        outcome = dataset.bonus_outcome.sel(
            bonus_right_answers=row.right_answers, coefficient=row.coefficient, bonus_start=row.start)
        assert row.outcome == figure.BONUS_OUTCOMES[int(outcome)]


def test_lines_that_predict_nothing_are_said(table: pandas.DataFrame) -> None:
    """A headline typed in."""
    wrong = table.copy()
    wrong.loc[wrong["panel"] == "aepo", "line"] = 0.0
    assert "is not predicted" in figure.finding(wrong).headline
    right = table.copy()
    right.loc[right["panel"] == "aepo", "line"] = 1.0
    assert "is predicted" in figure.finding(right).headline
