"""Guards paper_figures/extensions/interventions_on_the_curve.py; what is seen, the experiment's test."""

import pandas

from paper_figures.extensions import interventions_on_the_curve as figure


def tried(table):
    """The interventions that reach a level of entropy from samples in the smallest runs."""
    rows = table[(table["panel"] == "gap") & (table["mode"] == "sampled")]
    return int((~rows["rule"].isin(figure.CONTROLS)).sum())


def test_interventions_are_counted_by_family_and_none_that_is_grpo(table):
    """One intervention counted on every family of prompts, or where it does nothing."""
    gap = table["panel"] == "gap"
    off, on = table.copy(), table.copy()
    off.loc[gap, "side"] = 1
    on.loc[gap, "side"] = 0
    bonus = gap & (table["rule"] == "diverse bonus")
    on.loc[bonus, ["y", "low", "high"]] = 0.0
    on["family"] = "one right, graded"
    both = figure.finding(pandas.concat([off, on], ignore_index=True))
    left = {one.where: one.value for one in both.criteria}
    assert left["on prompts with one right, graded"] == 0
    assert set(left.values()) == {0, tried(table)}
