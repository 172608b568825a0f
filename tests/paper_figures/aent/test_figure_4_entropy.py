"""AEnt, Figure 4: whose entropy is used up, whose is kept, whose fluctuates."""

import pytest

from paper_figures.aent import figure_4_entropy as figure
from paper_figures.aent import methods


@pytest.fixture
def table(simulated):
    return methods.data(simulated("aent_one_step", "intervention_sweeps"))


def test_grpo_uses_its_entropy_up_and_entreg_spreads_over_the_tail(table):
    numbers = figure.finding(table).numbers
    assert numbers["GRPO: end"] < 0.01
    assert 1 < numbers[f"{methods.ORACLE}: end"] < numbers["EntReg: end"] - 1
    assert abs(numbers["AEnt: end"] - numbers["EntReg: end"]) < 0.5
    assert numbers["EntReg: end"] > numbers["EntReg: start"] + 1


def test_fluctuation_leaves_out_a_trend(table):
    """A steady fall is not called fluctuation, a zigzag of amplitude a is one of about a."""
    rows = (table["world"] == methods.MDP) & (table["quantity"] == "entropy")
    aent = rows & (table["method"] == "AEnt")
    table.loc[aent, "value"] = 5 - 0.01 * table.loc[aent, "step"]
    entreg = rows & (table["method"] == "EntReg")
    steps = sorted(table.loc[entreg, "step"].unique())
    zigzag = {step: 3 + 0.5 * (-1) ** i for i, step in enumerate(steps)}
    table.loc[entreg, "value"] = table.loc[entreg, "step"].map(zigzag)
    numbers = figure.finding(table).numbers
    assert numbers["AEnt: fluctuation"] < 1e-12
    assert numbers["EntReg: fluctuation"] == pytest.approx((4 / 6) ** 0.5)


def test_a_steady_aent_reproduces_and_an_entropy_that_stays_with_grpo_does_not(table):
    rows = (table["world"] == methods.MDP) & (table["quantity"] == "entropy")
    assert figure.finding(table).verdict == "core claim fails"
    table.loc[rows & (table["method"] == "AEnt"), "value"] = 2.0
    assert figure.finding(table).verdict == "core claim fails", "EntReg must fluctuate drastically too"
    assert not figure.finding(table).criteria[4].met
    entreg = rows & (table["method"] == "EntReg")
    places = {step: i for i, step in enumerate(sorted(table.loc[entreg, "step"].unique()))}
    sign = table.loc[entreg, "step"].map({step: (-1) ** i for step, i in places.items()})
    table.loc[entreg, "value"] = 3 + 2 * sign
    assert figure.finding(table).verdict == "holds"
    zigzag = table.copy()
    zigzag.loc[rows & (table["method"] == "AEnt"), "value"] = (3 + 2 * sign).to_numpy()
    assert figure.finding(zigzag).criteria[2].value == pytest.approx(1)
    table.loc[rows & (table["method"] == "GRPO"), "value"] = 3.0
    assert figure.finding(table).verdict == "core claim fails"
    assert len(figure.draw(table).axes) == 2
