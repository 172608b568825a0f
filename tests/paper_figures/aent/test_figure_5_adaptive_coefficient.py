"""AEnt, Figure 5: constant against adaptive coefficient through a change of prompts."""

import pytest

from paper_figures.aent import figure_5_adaptive_coefficient as figure
from paper_figures.aent.halves import BAND, HALVES
from simulations.experiments.aent_coefficient import PROFILES
from tests.paper_figures.conftest import write_run


@pytest.fixture(scope="module")
def results(simulated):
    return simulated("aent_coefficient", "response_length")


@pytest.fixture
def table(results):
    return figure.data(results)


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


def test_length_follows_entropy_where_the_loss_is_a_mean_over_each_response(table):
    """And not where tokens count alike: a token tree in which length says nothing about the reward."""
    lines = figure.lengths(table)
    for kind, line in lines.items():
        assert line["entropy"].iloc[-1] < line["entropy"].iloc[0], kind
    assert lines["sequence-mean"]["length"].iloc[-1] < lines["token-mean"]["length"].iloc[-1]


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


def test_language_models_show_reward_entropy_and_length(results, tmp_path, table):
    assert len(figure.draw(table).axes) == 4
    (tmp_path / "simulations").symlink_to(results / "simulations")
    runs = tmp_path / "runs"
    write_run(runs / "a", rule="aent", entropies=[1.0, 0.6, 0.4, 0.4])
    write_run(runs / "b", rule="aent", entropies=[1.0, 0.9, 1.2, 1.5],
              options=("adaptive=False", "coefficient=0.02"))
    # Before "b" in the order of names: clamping differs too, which is Figure 6.
    write_run(runs / "aa", rule="aent", entropies=[9.0] * 4,
              options=("adaptive=False", "coefficient=0.02", "removed_fraction=0.8"))
    found = figure.data(tmp_path)
    real = found[~found["world"].isin(["tabular", figure.TREES])]
    assert set(real["line"]) == {"adaptive", "constant 0.02"}
    assert real.loc[real["quantity"] == "entropy", "value"].max() < 2
    assert len(figure.draw(found).axes) == 6
