"""Cui et al., Figure 8: entropy change against covariance, and covariance by difficulty."""

import json

import numpy as np
import pandas
import pytest

from paper_figures.entropy_mechanism import figure_8_covariance as figure
from paper_figures.entropy_mechanism import model_runs
from tests.paper_figures.entropy_mechanism.runs import write_curve


def test_order_is_read_from_hard_to_easy():
    """An order that any permutation meets; a record with a group missing counted."""
    rows = pandas.DataFrame(
        [(0, 0.125, 1.0), (0, 0.5, 2.0), (0, 0.875, 3.0), (1, 0.125, 1.0), (1, 0.5, 3.0), (1, 0.875, 2.0),
         (2, 0.125, np.nan), (2, 0.5, 1.0), (2, 0.875, 2.0)], columns=["x", "group", "y"],
    ).assign(series="PG", right_answers=1)
    found = figure.ordered(rows, "PG")
    assert found.to_dict() == {(1, 0): True, (1, 1): False}


def test_audited_runs_get_a_panel(results, tmp_path):
    """Forecast and measurement swapped, or a run of two steps drawn as a cloud."""
    folder = write_curve(tmp_path, results, entropy=np.linspace(1.0, 0.1, 12))
    assert figure.data(folder).query("panel == 'model'").empty
    steps = [{"step": i, "first_order": -0.01 * i, "measured": -0.008 * i} for i in range(1, 7)]
    (folder / "runs" / "run" / "audit.json").write_text(json.dumps({"summary": {}, "steps": steps}))
    table = figure.data(folder)
    rows = table.query("panel == 'model'")
    assert (rows["y"] / rows["announced"]).to_numpy() == pytest.approx(0.8)
    assert len(figure.draw(table).axes) == 6
    assert len(figure.draw(figure.data(results)).axes) == 5


def test_what_is_not_drawn_is_not_named(results, tmp_path):
    """Models of one name in one cloud; provenance of runs that nobody sees."""
    steps = [{"step": i, "first_order": -0.01 * i, "measured": -0.008 * i} for i in range(1, 7)]
    for i in range(model_runs.MOST + 1):
        write_curve(tmp_path, results, entropy=np.ones(6), model=f"{i}/m", name=f"r{i}")
        audit = {"summary": {}, "steps": steps}
        (tmp_path / "runs" / f"r{i}" / "audit.json").write_text(json.dumps(audit))
    table = figure.data(tmp_path)
    assert set(table.attrs["inputs"]) == {f"r{i}" for i in range(model_runs.MOST)}
    assert table["series"].str.endswith("/m, split").sum() == model_runs.MOST * len(steps)
