"""AEnt, Figure 5: constant against adaptive coefficient through a change of prompts."""

from paper_figures.aent import figure_5_adaptive_coefficient as figure
from paper_figures.aent.halves import BAND, HALVES
from simulations.experiments.aent_coefficient import PROFILES


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


def test_a_controller_that_holds_the_band_changes_the_verdict(table):
    """Smoke runs are too short for it to get there."""
    assert figure.finding(table).verdict == "core claim fails"
    held = table.copy()
    held.loc[held["in_band"].notna() & (held["kind"] == "adaptive"), "in_band"] = 0.6
    assert figure.finding(held).verdict == "core claim fails"
    constant = (held["kind"] == "constant") & (held["quantity"] == "entropy")
    held.loc[constant & (held["half"] == HALVES[1]), "value"] = 2.0
    trees = (held["world"] == figure.TREES) & (held["quantity"] == "length")
    held.loc[trees, "value"] = -held.loc[trees, "step"]
    assert figure.finding(held).verdict == "holds"
    held.loc[(held["kind"] == "adaptive") & (held["quantity"] == "reward"), "value"] = 0.5
    assert figure.finding(held).verdict == "core claim fails"
