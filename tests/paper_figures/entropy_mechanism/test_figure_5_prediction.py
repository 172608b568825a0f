"""Cui et al., Figure 5: the end of a run announced from its first 15 %."""

import numpy as np
import pytest

from paper_figures.entropy_mechanism import figure_5_prediction as figure
from tests.paper_figures.conftest import judged, outcomes
from tests.paper_figures.entropy_mechanism.runs import write_curve


def test_the_drawn_announcement_is_the_one_that_is_judged(table):
    """Error and curve of different runs, or over other points."""
    curves = table.query("panel == 'curve'")
    errors = table.query("panel == 'error'").set_index(["series", "size", "start"])
    for key, run in curves.groupby(["series", "size", "start"]):
        later = run[run["point"] >= figure.EARLY]
        assert len(later) == figure.LATER
        row = errors.loc[key]
        miss = later["announced"] - later["reward"]
        assert np.sqrt(np.mean(miss**2)) == pytest.approx(row["error"], rel=1e-9)
        assert miss.iloc[-1] == pytest.approx(row["final_error"], rel=1e-9)


def test_smaller_errors_change_the_verdict(table):
    """A threshold below the printed errors; a mean over starts without its interval."""
    errors = table["panel"] == "error"
    table.loc[errors, "error"] = 0.012
    assert judged(figure, table) == {"tabular": "seen"}
    family = table.loc[errors].groupby("series")["start"].nunique().idxmax()
    here = errors & (table["series"] == family)
    table.loc[here, "error"] = 0.013
    assert judged(figure, table) == {"tabular": "seen in part"}
    table.loc[here, "error"] = table.loc[here, "start"] * 0.02
    assert "undecided" in outcomes(figure, table, f"with {family},")


def test_a_run_on_the_law_is_announced(results, tmp_path):
    """Fitted to other steps than the first 15 %."""
    entropy = np.linspace(1.0, 0.1, 118)
    reward = 1.2 - 0.3 * np.exp(entropy)
    reward[18 + 8:] += 0.1  # after the early steps and the steps that their means reach to
    table = figure.data(write_curve(tmp_path, results, entropy=entropy, reward=reward))
    row = table.query("panel == 'model error'").iloc[0]
    assert row["final_error"] == pytest.approx(-0.1, abs=0.005)
    assert row["covered"] == 0
    assert len(figure.draw(table).axes) == 5
