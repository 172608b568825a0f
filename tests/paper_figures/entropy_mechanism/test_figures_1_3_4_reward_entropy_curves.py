"""Cui et al., Figures 1, 3 and 4: curves of reward against entropy, and the law."""

import numpy as np
import pytest
import xarray

from paper_figures.entropy_mechanism import figures_1_3_4_reward_entropy_curves as figure
from tests.paper_figures.conftest import judged, outcomes
from tests.paper_figures.entropy_mechanism.runs import write_curve


def test_the_law_misses_by_what_it_says(table, results):
    """a, b and misses of different curves in one row."""
    dataset = xarray.load_dataset(results / "simulations" / "performance_law_curves.nc")
    row = table.query("panel == 'fit'").iloc[-1]
    one = dataset.sel(family=row["series"], size=row["size"], start=row["start"])
    miss = (row["b"] - row["a"] * np.exp(one.entropy) - one.reward).values
    assert np.sqrt(np.mean(miss**2)) == pytest.approx(row["rmse"], rel=1e-9)
    assert abs(miss).max() == pytest.approx(row["largest_miss"], rel=1e-9)


def test_other_fits_change_the_verdict(table):
    """Sets counted against each other; a mean over starts without its interval."""
    fits = table["panel"] == "fit"
    for explained, verdict in ((0.99, "seen"), (0.5, "not seen")):
        table.loc[fits, "r_squared"] = explained
        assert judged(figure, table) == {"tabular": verdict}
    family = table.loc[fits].groupby("series")["start"].nunique().idxmax()
    here = fits & (table["series"] == family)
    table.loc[here, "r_squared"] = 0.99
    assert judged(figure, table) == {"tabular": "seen in part"}
    table.loc[here, "r_squared"] = 0.99 - 0.2 * (table.loc[here, "start"] > 0)
    assert "undecided" in outcomes(figure, table, f"with {family},")


def test_training_runs_are_fitted_too(results, tmp_path):
    """A run that follows the law, found not to."""
    without = len(figure.draw(figure.data(results)).axes)
    table = figure.data(write_curve(tmp_path, results, entropy=np.linspace(1.0, 0.1, 60)))
    row = table.query("panel == 'model fit'").iloc[0]
    # Means over 5 steps of 0.015 nats leave the law by a tenth of their square.
    assert (row["a"], row["b"]) == pytest.approx((0.3, 1.2), abs=0.005)
    assert len(figure.draw(table).axes) == without + 1
