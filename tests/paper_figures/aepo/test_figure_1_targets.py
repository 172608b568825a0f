"""AEPO, Figure 1: held targets and the ceiling, as plotted."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray

from paper_figures.aepo import figure_1_targets as figure_1
from tests.paper_figures.conftest import write_run


def test_no_target_above_the_ceiling_is_held(smoke_results: Path) -> None:
    """Claim aepo.arbitrary-entropy, as the figure reports it."""
    table = figure_1.data(smoke_results)
    found = figure_1.finding(table)
    assert found.verdict != "holds"


def test_alpha_below_its_threshold_holds_fewer_targets(smoke_results: Path) -> None:
    """The scan over alpha, turned round."""
    tail = figure_1.data(smoke_results).query("panel == 'tail' and right_answers == 4")
    held = tail[tail["target"] < np.log(4)].groupby("alpha")["held"].mean()
    assert held.iloc[0] <= held.iloc[-1]


def test_curves_are_those_of_the_simulation(smoke_results: Path) -> None:
    """Coordinates mixed up on the way from dataset to table."""
    table = figure_1.data(smoke_results).query("panel == 'curve'")
    dataset = xarray.load_dataset(smoke_results / "simulations" / "aepo_figure_1.nc")
    row = table.iloc[len(table) // 2]
    expected = dataset.entropy.sel(
        right_answers=row["right_answers"], start=row["start"], target=row["target"],
        step=row["x"],
    )
    assert row["y"] == pytest.approx(float(expected), rel=1e-12)
    assert table["x"].max() == dataset.step.max()


def test_held_targets_change_the_verdict(smoke_results: Path) -> None:
    """A verdict typed in instead of derived; one held target above the ceiling taken for all."""
    table = figure_1.data(smoke_results)
    tail = table["panel"] == "tail"
    ceiling = np.log(table.loc[tail, "right_answers"].astype(float))
    table.loc[tail, "held"] = table.loc[tail, "target"] < ceiling
    assert figure_1.finding(table).verdict == "holds under a condition"
    table.loc[table[tail]["target"].idxmax(), "held"] = True
    assert figure_1.finding(table).verdict == "holds under a condition"
    table.loc[tail, "held"] = True
    assert figure_1.finding(table).verdict == "holds"
    table.loc[tail, "held"] = False
    assert figure_1.finding(table).verdict == "core claim fails"


def test_transformer_runs_with_several_targets_get_a_panel(
    smoke_results: Path, tmp_path: Path
) -> None:
    """One target is no comparison; other alphas and rules do not belong in it."""
    shutil.copytree(smoke_results / "simulations", tmp_path / "simulations")
    runs = tmp_path / "runs"
    write_run(runs / "a", rule="aepo", entropies=[0.8, 0.5, 0.5])
    assert figure_1.data(tmp_path).query("panel == 'transformer'").empty
    write_run(runs / "b", rule="aepo", entropies=[0.8, 0.3, 0.3], options=("target=0.3",))
    write_run(runs / "c", rule="aepo", entropies=[0.8, 2.0, 2.0], options=("alpha=9",))
    write_run(runs / "d", rule="grpo", entropies=[0.8, 0.1, 0.0])
    table = figure_1.data(tmp_path)
    assert set(table.query("panel == 'transformer'")["target"]) == {0.5, 0.3}
    assert len(figure_1.draw(table).axes) == 6
