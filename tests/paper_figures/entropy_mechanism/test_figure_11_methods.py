"""Cui et al., Figure 11: GRPO, clip-higher, Clip-Cov and KL-Cov, at equal steps, accuracy and entropy."""

import pytest

from llm_bridge import recipes
from paper_figures.entropy_mechanism import figure_11_methods as figure
from paper_figures.entropy_mechanism import methods


def moved(table, panel, by):
    """The runs of Clip-Cov and KL-Cov moved against GRPO's."""
    rows = (table["panel"] == panel) & table["rule"].isin(methods.METHODS)
    return table.assign(y=table["y"] + by * rows)


def test_gains_beyond_the_intervals_change_the_verdict(table):
    """A verdict typed in instead of derived."""
    more = table
    for panel in ("entropy", "reward"):
        more = moved(more, panel, 9.0)
    assert figure.finding(more).verdict == "holds under a condition"
    more = moved(more, "length", 9.0)
    found = figure.finding(more)
    assert found.verdict == "holds"
    less = figure.finding(moved(moved(table, "entropy", -9.0), "reward", -9.0))
    assert less.verdict == "core claim fails"


def test_more_entropy_than_grpo_may_be_a_collapse_too(table):
    """A little more than nothing, taken for entropy that was kept."""
    more = table
    for panel in ("entropy", "reward", "length"):
        more = moved(more, panel, 9.0)
    start = (more["panel"] == "entropy") & (more["x"] == 0)
    found = figure.finding(more.assign(y=more["y"] + 99.0 * start))
    assert any("for entropy" in where for where in found.judgment.fails)


@pytest.mark.parametrize("name", ["grpo-off-policy", "clip-higher", "clip-cov", "kl-cov"])
def test_the_runs_of_the_recipes_are_found(name):
    """A recipe that was changed, and whose runs no figure shows any more."""
    for run in recipes.load(f"gpu-small/{name}").runs.values():
        taken = [choice.values(run.rule, run.rule_options) for choice in methods.RUNS]
        assert sum(values is not None for values in taken) == 1
        assert run.mini_batches == 4
