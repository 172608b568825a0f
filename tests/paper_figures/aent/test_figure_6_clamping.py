"""AEnt, Figure 6: what clamping gains and costs."""

import pandas
import pytest

from paper_figures.aent import figure_6_clamping as figure
from tests.paper_figures.conftest import write_run


@pytest.fixture(scope="module")
def results(simulated):
    return simulated("aent_coefficient", "aent_bias")


@pytest.fixture
def table(results):
    return figure.data(results)


def test_clamping_gains_at_the_large_coefficient(table):
    entropy = table[(table["panel"] == "entropy") & (table["line"] == "0.5")].groupby("x")["y"].mean()
    assert entropy[0.8] < entropy[0.0]


def test_an_inner_best_p_at_every_coefficient_reproduces(table):
    assert figure.finding(table).verdict == "core claim fails", "two shares have no inner one"
    inner = table[(table["panel"] == "reward") & (table["x"] == 0.0)].assign(x=0.5, y=0.99)
    assert figure.finding(pandas.concat([table, inner])).verdict == "holds"
    others = inner[inner["line"] != "0.2"]
    assert figure.finding(pandas.concat([table, others])).verdict == "holds under a condition"


def test_language_models_are_compared_at_one_coefficient(results, tmp_path, table):
    assert len(figure.draw(table).axes) == 3
    (tmp_path / "simulations").symlink_to(results / "simulations")
    for p in (0.2, 0.33, 0.6):
        options = ("adaptive=False", f"removed_fraction={p}")
        write_run(tmp_path / "runs" / f"p{p}", rule="aent", entropies=[1.0] * 4,
                  options=(*options, "coefficient=0.02"))
        write_run(tmp_path / "runs" / f"other{p}", rule="aent", entropies=[1.0] * 4, seed=1,
                  options=(*options, "coefficient=0.5"))
    found = figure.data(tmp_path)
    assert sorted(found.loc[found["panel"] == "runs", "x"]) == [0.2, 0.33, 0.6]
    assert len(figure.draw(found).axes) == 4
