"""AEPO, Figure 2: temperature and the direction of entropy, as plotted."""

from paper_figures.aepo import figure_2_tempered_reinforce as figure
from tests.paper_figures.conftest import judged, outcomes


def test_a_wrong_sign_on_solved_prompts_is_no_reproduction(table):
    """A verdict typed in instead of derived; one right answer, which the paper does not single out."""
    rate = table["panel"] == "rate"
    assert judged(figure, table)["tabular"] in {"seen", "seen in part"}
    table.loc[rate & (table["right_answers"] == 1), "y"] = 0.0
    assert judged(figure, table)["tabular"] in {"seen", "seen in part"}
    table.loc[rate & (table["accuracy"] == table["accuracy"].max()), "y"] *= -1
    assert set(outcomes(figure, table, "on solved prompts")) == {"not seen", "undecided"}
