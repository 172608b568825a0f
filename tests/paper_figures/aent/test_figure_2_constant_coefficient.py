"""AEnt, Figure 2: what becomes of a constant coefficient when prompts change."""

import pytest

from paper_figures.aent import figure_2_constant_coefficient as figure
from paper_figures.aent.halves import BAND, HALVES
from paper_figures.inputs import simulation
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
    assert numbers["in the band after"] <= figure.LEAVES
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


def test_a_constant_that_stays_in_the_band_is_no_reproduction(table):
    assert figure.finding(table).verdict == "reproduces in part"
    table.loc[table["in_band"].notna(), "in_band"] = 0.9
    assert figure.finding(table).verdict == "does not reproduce"


def test_language_models_with_several_coefficients_get_a_row(results, tmp_path, table):
    assert len(figure.draw(table).axes) == 2
    (tmp_path / "simulations").symlink_to(results / "simulations")
    for coefficient in (0.001, 0.05):
        write_run(tmp_path / "runs" / f"bonus-{coefficient}", rule="entropy-bonus",
                  entropies=[1.0, 0.8, 0.9, 0.5], options=(f"coefficient={coefficient}",))
    assert len(figure.draw(figure.data(tmp_path)).axes) == 4
