"""AEnt, Figure 1: what one step lifts, who survives size and sparsity, and the paper's own numbers."""

import pytest

from paper_figures.aent import figure_1_one_step as figure
from paper_figures.data import paper_numbers
from paper_figures.data.inputs import simulation


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
    assert figure.finding(table).verdict == "holds under a condition"
    better = table.copy()
    ends, clamped = better["panel"] == "end", better["treatment"].isin(figure.CLAMPED)
    better.loc[ends & clamped, "y"] = 0.98
    assert figure.finding(better).verdict == "holds"
    worse = table.copy()
    worse.loc[ends & clamped, "y"] *= 0.3
    assert set(figure.CLAMPED.values()) < set(figure.finding(worse).judgment.fails)
    squeezed = worse["panel"].eq("token") & worse["treatment"].eq("no bonus")
    worse.loc[squeezed, "y"] = 1.0
    assert figure.finding(worse).verdict == "core claim fails"


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
    assert met(table, "lead over the full bonus")[0] is (0.1 / table[ends]["optimal"].nunique() > 0.05)
    where, gained = "reward gained where the full bonus does not gain", ends & (table["optimal"] == 1)
    assert met(table, where)[0] is False
    table.loc[gained & (table["treatment"] == "by a third"), "y"] = 0.4
    assert met(table, where)[0] is True
    table.loc[gained & (table["treatment"] == "full"), "y"] = 0.4
    assert met(table, where)[0] is False
    assert not any(one.where == "" and "clamp" in one.says for one in figure.finding(table).criteria)


def test_the_papers_numbers_say_what_its_text_says():
    """The bonus' gain vanishes with one optimal action, the clamped one's does not."""
    tables = paper_numbers.read(figure.__file__)
    for column in ("15 optimal", "10 optimal", "1 optimal"):
        reward, gain = tables["reward"].column(column), tables["gain"].column(column)
        for method in ("entropy bonus", "clamped bonus"):
            assert gain[method] == pytest.approx(reward[method] - reward["no bonus"], abs=1e-9)
    assert tables["gain"].column("1 optimal") == {"entropy bonus": 0.0, "clamped bonus": 0.24}
