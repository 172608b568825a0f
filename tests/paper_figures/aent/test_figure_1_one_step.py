"""AEnt, Figure 1: what one step lifts, who survives size and sparsity, and the paper's own numbers."""

import pytest

from paper_figures.aent import figure_1_one_step as figure
from paper_figures.data import paper_numbers
from paper_figures.data.inputs import simulation
from tests.paper_figures.conftest import judged, outcomes


def test_the_numbers_are_those_of_the_simulation_at_the_best_coefficient(table, results):
    dataset = simulation(results, "aent_one_step")
    last = dataset.trained_reward.isel(step=-1).mean("context")
    ends = table[table["panel"] == "end"].groupby(["vocabulary", "optimal", "treatment"])["y"].mean()
    assert len(ends) == 4 * dataset.sizes["problem"]
    for problem, (n, m) in enumerate(
            zip(dataset.trained_vocabulary.values, dataset.trained_optimal.values, strict=True)):
        for name, treatment in figure.TREATMENTS.items():
            best = float(last.isel(problem=problem).sel(trained_treatment=name).max())
            # Means of a few numbers below 1, taken in another order.
            assert ends[n, m, treatment] == pytest.approx(best, abs=1e-12)


def test_the_verdict_is_that_of_the_numbers(table):
    """A set that only an oracle knows counted for the paper, or against it; a gain of one context."""
    ends = table["panel"] == "end"
    third, oracle = (ends & (table["treatment"] == name) for name in figure.CLAMPED)
    table.loc[ends & (table["treatment"] == "no bonus"), "y"] = 0.2
    table.loc[third, "y"] = 0.98
    for value in (0.98, 0.0):
        table.loc[oracle, "y"] = value
        assert "not seen" not in outcomes(figure, table, "as in the paper's runs: reward gained")
        assert judged(figure, table) == {"tabular": "seen in part"}  # the full bonus gains at this size
    table.loc[third & (table["start"] > 0), "y"] = 0.1
    assert outcomes(figure, table, "as in the paper's runs: reward gained")[-1] == "undecided"
    table.loc[table["panel"].eq("token") & table["treatment"].eq("no bonus"), "y"] = 1.0
    assert judged(figure, table) == {"tabular": "not seen"}


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
