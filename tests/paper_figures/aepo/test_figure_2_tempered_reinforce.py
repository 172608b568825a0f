"""AEPO, Figure 2: temperature and the direction of entropy, as plotted."""

from paper_figures.aepo import figure_2_tempered_reinforce as figure


def test_a_wrong_sign_on_solved_prompts_is_no_reproduction(table):
    """A verdict typed in instead of derived."""
    table.loc[table["panel"] == "rate", "y"] *= -1
    found = figure.finding(table)
    assert found.verdict == "core claim fails"
