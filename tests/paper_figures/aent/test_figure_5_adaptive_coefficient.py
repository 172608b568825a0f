"""AEnt, Figure 5: constant against adaptive coefficient through a change of prompts."""

from paper_figures.aent import figure_5_adaptive_coefficient as figure
from paper_figures.aent.halves import BAND, HALVES
from simulations.experiments.aent_coefficient import PROFILES
from tests.paper_figures.conftest import judged, outcomes


def test_the_coefficient_rises_below_the_band_falls_above_it_and_stays_in_its_box(table):
    rows = table[(table["kind"] == "adaptive") & table["quantity"].notna()]
    wide = rows.pivot_table(
        index=["half", "setting", "start", "step"], columns="quantity", values="value")
    low, high = PROFILES["smoke"].box
    by_run = ["half", "setting", "start"]
    assert wide["coefficient"].between(low, high).all()
    # Ten updates lie between two records; their first and last entropies say which way all went.
    change = wide.groupby(by_run)["coefficient"].diff()
    before = wide.groupby(by_run)["entropy"].shift()
    below = (wide["entropy"] < BAND[0]) & (before < BAND[0])
    above = (wide["entropy"] > BAND[1]) & (before > BAND[1])
    assert below.sum() > 1
    assert (change[below] > 0).all()
    assert above.sum() > 1
    assert (change[above] <= 0).all()  # 0 at the lower end of the box
    assert (change[above] < 0).any()


def test_what_follows_our_change_of_prompts_decides_nothing(table):
    """A change that we made counted as the paper's; smoke runs are too short to get into the band."""
    table.loc[table["in_band"].notna() & (table["kind"] == "adaptive"), "in_band"] = 0.6
    assert outcomes(figure, table, figure.BAND_HELD) == ["seen"]
    assert outcomes(figure, table, figure.BLOWN_UP) == ["not seen"]
    constant = (table["kind"] == "constant") & (table["quantity"] == "entropy")
    table.loc[constant & (table["half"] == HALVES[1]), "value"] = 2.0
    assert outcomes(figure, table, figure.BLOWN_UP) == ["seen"]
    table.loc[(table["kind"] == "adaptive") & (table["quantity"] == "reward"), "value"] = 0.5
    assert outcomes(figure, table, figure.SCORES) == ["not seen"]
    assert judged(figure, table) == {"": "beyond the paper"}
