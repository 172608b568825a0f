"""AEPO, Figure 1: held targets and the ceiling, as plotted."""

import numpy as np
import pytest
import xarray

from paper_figures.aepo import figure_1_targets as figure


def test_curves_are_those_of_the_simulation(table, results):
    """Coordinates mixed up on the way from dataset to table."""
    table = table.query("panel == 'curve'")
    dataset = xarray.load_dataset(results / "simulations" / "aepo_figure_1.nc")
    row = table.iloc[len(table) // 2]
    expected = dataset.entropy.sel(
        right_answers=row["right_answers"], start=row["start"], target=row["target"],
        step=row["x"],
    )
    assert row["y"] == pytest.approx(float(expected), rel=1e-12)
    assert table["x"].max() == dataset.step.max()


def test_held_targets_change_the_verdict(table):
    """A verdict typed in instead of derived; one held target above the ceiling taken for all."""
    tail = table["panel"] == "tail"
    ceiling = np.log(table.loc[tail, "right_answers"].astype(float))
    table.loc[tail, "held"] = table.loc[tail, "target"] < ceiling
    assert figure.finding(table).verdict == "holds under a condition"
    table.loc[table[tail]["target"].idxmax(), "held"] = True
    assert figure.finding(table).verdict == "holds under a condition"
    table.loc[tail, "held"] = True
    assert figure.finding(table).verdict == "holds"
    table.loc[tail, "held"] = False
    assert figure.finding(table).verdict == "core claim fails"
