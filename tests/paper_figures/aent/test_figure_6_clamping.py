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
    numbers = figure.finding(table).numbers
    assert numbers["coefficient 0.5: p = 0.8"] > numbers["coefficient 0.5: p = 0"] + 0.1
    entropy = table[(table["panel"] == "entropy") & (table["line"] == "0.5")].groupby("x")["y"].mean()
    assert entropy[0.8] < entropy[0.0]


def test_a_third_of_a_vocabulary_moves_the_critical_coefficient_little(table):
    """1/log k: exactly log(k)/log(0.67 k) - 1 for one right answer, 3.5 % at 151,936 tokens."""
    numbers = figure.finding(table).numbers
    assert 0.03 < numbers["moved by the second p"] < 0.04
    critical = table[table["panel"] == "critical"]
    for _, line in critical.groupby("line"):
        assert line.sort_values("x")["y"].is_monotonic_increasing


def test_an_inner_best_p_at_every_coefficient_reproduces(table):
    assert figure.finding(table).verdict == "core claim fails", "two shares have no inner one"
    inner = table[(table["panel"] == "reward") & (table["x"] == 0.0)].assign(x=0.5, y=0.99)
    assert figure.finding(pandas.concat([table, inner])).verdict == "holds"
    others = inner[inner["line"] != "0.2"]
    assert figure.finding(pandas.concat([table, others])).verdict == "holds under a condition"


def test_the_words_follow_from_the_best_shares_and_starts(table):
    found = figure.finding(table)
    best = {found.numbers[f"coefficient {line}: best p"] for line in ("0.2", "0.5")}
    assert ("how much to clamp depends on the coefficient" in found.headline) == (len(best) > 1)
    assert "Mean reward of 1 start at the best p" in found.text
    assert 0.09 < found.numbers["moved by the second p, smallest vocabulary"] < 0.1
    inner = table[(table["panel"] == "reward") & (table["x"] == 0.0)].assign(x=0.5, y=0.99)
    alike = pandas.concat([table, inner])
    assert figure.finding(alike).headline.endswith("the same share is best at every coefficient.")
    alike.loc[(alike["panel"] == "reward") & (alike["x"] == 0.0), "y"] = 0.6
    second = alike[alike["panel"] == "reward"].assign(start=9)
    second.loc[second["x"] == 0.0, "y"] = 0.5
    text = figure.finding(pandas.concat([alike, second])).text
    assert "Mean reward of 2 starts" in text
    assert "+0.390 and" in text
    assert "+0.490 and" in text


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
