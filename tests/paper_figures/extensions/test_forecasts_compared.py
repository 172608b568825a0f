"""Guards paper_figures/extensions/figure.py."""

import numpy as np
import pytest

from entropy_theory.support.results import write_json
from paper_figures.extensions import forecasts_compared as figure

STEPS = 60


def record(seed, error, label='adamw 0.0001', **run):
    """A run whose (i) is noise, (i') half of what happens, (ii) off by ``error``."""
    rng = np.random.default_rng(seed)
    measured, noise, other = rng.normal(size=(3, STEPS))
    series = {
        "coefficients": other, "entropy_gradient": measured / 2, "first_order": measured + error * noise,
        "second_order": measured, "accounted": measured, "measured": measured,
    }
    return {"label": label, "task": "split", "optimizer": "adamw", "learning_rate": 1e-4, "seed": seed,
            "series": {name: values.tolist() for name, values in series.items()}, **run}


@pytest.fixture(scope="module")
def table(simulated, tmp_path_factory):
    results = tmp_path_factory.mktemp("forecasts")
    (results / "simulations").symlink_to(simulated("entropy_accounts") / "simulations")
    (results / "forecasts").mkdir()
    write_json(results / figure.FILE, {"provenance": {}, "records": [
        record(0, 0.5), record(1, 0.5), record(0, 0.0, "sgd 0.01", optimizer="sgd", learning_rate=1e-2)]})
    return figure.data(results)


def test_correlations_slopes_and_intervals_are_those_of_the_runs(table):
    rows = table[table["panel"] == "trained"].set_index(["where", "variant", "forecast"])
    noisy = rows.loc[("split, AdamW 1e-4", "seed 0", "first_order")]
    series = record(0, 0.5)["series"]
    assert noisy["correlation"] == pytest.approx(
        np.corrcoef(series["first_order"], series["measured"])[0, 1])
    assert noisy["low"] < noisy["correlation"] < noisy["high"] < 1
    assert ("split, SGD 1e-2", "seed 0", "first_order") in rows.index


def test_intervals_are_longer_where_steps_resemble_each_other():
    """Single steps drawn, which would take correlated steps for independent ones."""
    drawn = figure.blocks(STEPS)
    rng = np.random.default_rng(1)
    single = rng.integers(STEPS, size=drawn.shape)
    longer = []
    for _ in range(20):
        x, y = np.zeros((2, STEPS))
        for step, (mine, its) in enumerate(rng.normal(size=(STEPS, 2))):
            x[step] = 0.7 * x[step - 1] + mine
            y[step] = 0.7 * y[step - 1] + its
        blocked, alone = (
            np.ptp(np.percentile(
                figure.correlations(x[of], y[of]), figure.COVERED))
            for of in (drawn, single))
        longer.append(blocked / alone)
    # Of AR(1) columns at .7 the variance of a correlation is (1 + .49) / (1 - .49) = 2.9 times that of
    # independent ones; blocks of 5 see 1 + 2 (.8 x .49 + .6 x .24 + .4 x .12 + .2 x .06) = 2.2 of it.
    assert 1.15 < np.median(longer) < np.sqrt(2.9)


def test_blocks_are_steps_in_a_row_and_all_steps_are_as_likely():
    drawn = figure.blocks(12)
    assert drawn.shape == (figure.DRAWS, 12)
    inside = np.diff(drawn, axis=1)[:, [0, 1, 2, 3, 5, 6, 7, 8, 10]]
    assert set(np.unique(inside % 12)) == {1}
    counts = np.bincount(drawn.ravel(), minlength=12)
    # Of N steps each is drawn N / 12 times, with the deviation of blocks of five drawn at once.
    deviation = np.sqrt(figure.BLOCK * drawn.size / 12)
    assert np.abs(counts - drawn.size / 12).max() < 5 * deviation


def test_the_criteria_depend_on_the_correlations(table):
    """A forecast praised for what it did not do."""
    assert [one.met for one in figure.finding(table).criteria] == [True, True]
    table = table.copy()
    gradient = table.index[(table["panel"] == "trained") & (table["forecast"] == "entropy_gradient")]
    table.loc[gradient[0], "correlation"] = -0.5
    assert [one.met for one in figure.finding(table).criteria] == [False, False]
    assert "Cui et al. (Figure 8)" in figure.FIGURE.paper
