"""AEnt, Figure 4: whose entropy is used up, whose is kept, whose fluctuates."""

import pytest

from paper_figures.aent import figure_4_entropy as figure
from paper_figures.aent import methods


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
