"""Guards paper_figures/extensions/phase_diagrams.py."""

import xarray

from paper_figures.extensions import phase_diagrams as figure

NAME = "phase_diagrams"


def test_cells_are_those_of_the_simulation(table, results):
    """Axes exchanged on the way to the table."""
    dataset = xarray.load_dataset(results / "simulations" / f"{NAME}.nc")
    for row in table[table["panel"] == "aepo"].itertuples():
        cell = {"temperature": row.temperature, "alpha": row.alpha, "start": row.start}
        outcome = dataset.aepo_outcome.sel(right_answers=row.right_answers, **cell)
        assert row.outcome == figure.AEPO_OUTCOMES[int(outcome)]
    for row in table[table["panel"] == "bonus"].itertuples():
        outcome = dataset.bonus_outcome.sel(
            bonus_right_answers=row.right_answers, coefficient=row.coefficient, bonus_start=row.start)
        assert row.outcome == figure.BONUS_OUTCOMES[int(outcome)]


def test_lines_that_predict_nothing_are_judged_so(table):
    """A headline typed in."""
    wrong = table.copy()
    wrong.loc[wrong["panel"] == "aepo", "line"] = 0.0
    assert not any(one.met for one in figure.finding(wrong).criteria)
    right = table.copy()
    right.loc[right["panel"] == "aepo", "line"] = 1.0
    assert all(one.met for one in figure.finding(right).criteria)


def test_every_outcome_is_called_by_itself(table):
    """A common outcome that hides a rare one, called no better than by a coin."""
    runs = table["panel"] == "aepo"
    rare = table.copy()
    rare.loc[runs, ["outcome", "line"]] = ["held", 1.0]
    rare.loc[rare.index[runs][:1], "outcome"] = "collapsed"
    rare.loc[rare.index[runs][1:2], ["outcome", "line"]] = ["chatters", 0.0]
    found = figure.finding(rare)
    assert [one.where for one in found.criteria if not one.met] == ["of those chatters"]
