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


def test_lines_that_predict_nothing_are_judged_so(table: pandas.DataFrame) -> None:
    """A headline typed in."""
    wrong = table.copy()
    wrong.loc[wrong["panel"] == "aepo", "line"] = 0.0
    assert not any(one.met for one in figure.finding(wrong).criteria)
    right = table.copy()
    right.loc[right["panel"] == "aepo", "line"] = 1.0
    assert all(one.met for one in figure.finding(right).criteria)


def test_every_outcome_is_called_by_itself(table: pandas.DataFrame) -> None:
    """A common outcome that hides a rare one, called no better than by a coin."""
    runs = table["panel"] == "aepo"
    rare = table.copy()
    rare.loc[runs, ["outcome", "line"]] = ["held", 1.0]
    rare.loc[rare.index[runs][:1], "outcome"] = "collapsed"
    rare.loc[rare.index[runs][1:2], ["outcome", "line"]] = ["chatters", 0.0]
    found = figure.finding(rare)
    assert found.numbers["AEPO: chatters, called"] == 0
    assert [one.where for one in found.criteria if not one.met] == ["of those chatters"]


def test_the_line_of_collapse_is_scored(table: pandas.DataFrame) -> None:
    """Collapse claimed for a line that scores explosion only."""
    runs = table["panel"] == "bonus"
    none = table.copy()
    none.loc[runs, "outcome"] = "neither"
    numbers = figure.finding(none).numbers
    assert numbers["bonus: collapse, left of the line"] == 0
    left = table.copy()
    left.loc[left["panel"] == "bonus_collapse_line", "line"] = 0.1
    left.loc[runs, "outcome"] = "neither"
    left.loc[runs & (left["coefficient"] < 0.1), "outcome"] = "collapsed"
    numbers = figure.finding(left).numbers
    assert numbers["bonus: collapse, left of the line"] == 1
    assert numbers["bonus: collapse, right of it"] == 0
    assert numbers["bonus: collapse called, several"] == 1
