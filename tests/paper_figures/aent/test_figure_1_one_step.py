"""AEnt, Figure 1: what one step lifts, who survives size and sparsity, and the paper's own numbers."""

import pytest

from paper_figures.aent import figure_1_one_step as figure
from paper_figures.data import paper_numbers


def test_each_clamping_is_asked_to_gain_where_the_full_bonus_does_not(table):
    """A lead at one number of optimal tokens, where neither gains, is no lead."""
    def met(table, says):
        return [one.met for one in figure.finding(table).criteria if one.says.startswith(says)]

    ends = (table["panel"] == "end") & (table["vocabulary"] == figure.methods.VOCABULARY)
    for optimal, full, third in ((15, 0.5, 0.5), (1, 0.1, 0.2)):
        here = ends & (table["optimal"] == optimal)
        for treatment, value in (("full", full), ("by a third", third), ("no bonus", 0.2)):
            table.loc[here & (table["treatment"] == treatment), "y"] = value
    table.loc[ends & (table["optimal"] == 5), "y"] = 0.2
    where, gained = "reward gained where the full bonus does not gain", ends & (table["optimal"] == 1)
    assert met(table, where)[0] is False
    table.loc[gained & (table["treatment"] == "by a third"), "y"] = 0.4
    assert met(table, where)[0] is True
    table.loc[gained & (table["treatment"] == "full"), "y"] = 0.4
    assert met(table, where) == []
    assert not any(one.where == "" and "clamp" in one.says for one in figure.finding(table).criteria)


def test_the_papers_numbers_say_what_its_text_says():
    """The bonus' gain vanishes with one optimal action, the clamped one's does not."""
    tables = paper_numbers.read(figure.__file__)
    for column in ("15 optimal", "10 optimal", "1 optimal"):
        reward, gain = tables["reward"].column(column), tables["gain"].column(column)
        for method in ("entropy bonus", "clamped bonus"):
            assert gain[method] == pytest.approx(reward[method] - reward["no bonus"], abs=1e-9)
    assert tables["gain"].column("1 optimal") == {"entropy bonus": 0.0, "clamped bonus": 0.24}
