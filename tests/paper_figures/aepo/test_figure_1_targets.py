"""AEPO, Figure 1: held targets and the ceiling, as plotted."""

import numpy as np
import pytest
import xarray

from paper_figures.aepo import figure_1_targets as figure
from tests.paper_figures.conftest import judged


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


def test_targets_above_the_ceiling_decide_nothing(table):
    """A ceiling that the paper does not have; a share of all targets in place of those below it."""
    tail = table["panel"] == "tail"
    below = table["target"] < np.log(table["right_answers"].astype(float))
    table.loc[tail, "held"] = below
    assert judged(figure, table) == {"tabular": "seen"}
    table.loc[tail, "held"] = ~below
    assert judged(figure, table) == {"tabular": "not seen"}
