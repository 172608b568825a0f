"""AEnt, Figure 2: what becomes of a constant coefficient when prompts change."""

import pytest

from paper_figures.aent import figure_2_constant_coefficient as figure
from paper_figures.aent.halves import BAND, HALVES
from paper_figures.data.inputs import simulation
from tests.paper_figures.conftest import write_run


@pytest.fixture(scope="module")
def results(simulated):
    return simulated("aent_coefficient")


@pytest.fixture
def table(results):
    return figure.data(results)


def test_the_constant_that_fits_leaves_the_band_and_larger_ones_hold_more_entropy(table):
    numbers = figure.finding(table).numbers
    assert numbers["in the band before"] >= figure.STAYS
    assert numbers["in the band after"] <= 0.15
    assert numbers["entropy at the end"] < min(BAND[0], numbers["entropy before"])
    last = table[(table["step"] == table["step"].max()) & (table["quantity"] == "entropy")]
    by_constant = last.groupby("coefficient")["value"].mean()
    assert by_constant.is_monotonic_increasing
    assert by_constant.iloc[-1] > BAND[1]


def test_the_second_half_stands_behind_the_first(table, results):
    dataset = simulation(results, "aent_coefficient")
    steps = int(dataset.step[-1])
    rows = table[(table["quantity"] == "reward") & (table["half"] == HALVES[1])]
    assert rows["step"].min() == steps
    assert rows["step"].max() == 2 * steps
    constant = float(dataset.constant[0])
    here = rows[(rows["coefficient"] == constant) & (rows["step"] == 2 * steps)]
    expected = dataset.constant_reward.sel(half=HALVES[1], constant=constant).isel(step=-1)
    assert sorted(here["value"]) == pytest.approx(sorted(expected.values))


def test_what_follows_the_change_that_we_impose_is_no_reproduction(table):
    """Entropy must break away before it."""
    found = figure.finding(table)
    assert found.numbers["in the band after"] < figure.STAYS < found.numbers["in the band before"]
    assert found.verdict == "core claim fails"
    assert "settles by itself" in found.headline
    rows = (table["coefficient"] == found.numbers["best constant"]) & (table["quantity"] == "entropy")
    steps = sorted(table.loc[rows, "step"].unique())
    zigzag = table.copy()
    sign = zigzag.loc[rows, "step"].map({step: (-1) ** i for i, step in enumerate(steps)})
    zigzag.loc[rows, "value"] = 0.3 + 0.2 * sign
    assert figure.finding(zigzag).verdict == "holds"
    assert "fluctuates drastically" in figure.finding(zigzag).headline
    fallen = table.copy()
    fallen.loc[rows, "value"] = 1 - 0.9 * fallen.loc[rows, "step"] / float(table["change"].iloc[0])
    assert "collapses by itself" in figure.finding(fallen).headline
    fallen.loc[table["in_band"].notna(), "in_band"] = 0.1
    assert figure.finding(fallen).verdict == "core claim fails"


def test_language_models_with_several_coefficients_get_a_row(results, tmp_path, table):
    assert len(figure.draw(table).axes) == 2
    (tmp_path / "simulations").symlink_to(results / "simulations")
    for coefficient in (0.001, 0.05):
        write_run(tmp_path / "runs" / f"bonus-{coefficient}", rule="entropy-bonus",
                  entropies=[1.0, 0.8, 0.9, 0.5], options=(f"coefficient={coefficient}",))
    assert len(figure.draw(figure.data(tmp_path)).axes) == 4
