"""AEnt, Figure 4: whose entropy is used up, whose is kept, whose fluctuates."""

import pytest

from paper_figures.aent import figure_4_entropy as figure
from paper_figures.aent import methods
from tests.paper_figures.conftest import judged, outcomes


def test_a_steady_aent_and_an_unsteady_entreg_are_seen_and_decide_nothing(table):
    """A trend taken for fluctuation; a constant coefficient judged as AEnt."""
    def here(setting):
        return set(outcomes(figure, table, f"{methods.HERE}{setting}:"))

    rows = (table["world"] == methods.MDP) & (table["quantity"] == "entropy")
    table.loc[rows & (table["method"] == "AEnt"), "value"] = 2.0
    assert here(figure.UNSTEADY) == {"not seen"}
    entreg = rows & (table["method"] == "EntReg")
    places = {step: i for i, step in enumerate(sorted(table.loc[entreg, "step"].unique()))}
    sign = table.loc[entreg, "step"].map({step: (-1) ** i for step, i in places.items()})
    table.loc[entreg, "value"] = 3 + 2 * sign
    assert set(outcomes(figure, table)) == {"seen"}
    assert judged(figure, table) == {"": "beyond the paper"}
    table.loc[rows & (table["method"] == "GRPO"), "value"] = 3.0
    assert here(figure.DEPLETES) == {"not seen"}
    table.loc[rows & (table["method"] == "AEnt"), "value"] = (3 + 2 * sign).to_numpy()
    assert figure.finding(table).criteria[3].value == pytest.approx(1)
    assert here(figure.CALM) == {"not seen"}
    assert len(figure.draw(table).axes) == 2
