"""Cui et al., Figure 11: GRPO, clip-higher, Clip-Cov and KL-Cov, at equal steps, accuracy and entropy."""

import pytest

from llm_bridge import recipes
from paper_figures.entropy_mechanism import figure_11_methods as figure
from paper_figures.entropy_mechanism import methods
from tests.paper_figures.conftest import judged, outcomes


def moved(table, panel, by):
    """The runs of Clip-Cov and KL-Cov moved against GRPO's."""
    rows = (table["panel"] == panel) & table["rule"].isin(methods.METHODS)
    return table.assign(y=table["y"] + by * rows)


def test_each_difference_is_judged_by_itself(table):
    """Two of three differences that outvote the third; what is kept of the start, a vote."""
    more = table
    for panel in ("entropy", "reward"):
        more = moved(more, panel, 9.0)
    assert judged(figure, moved(more, "length", -99.0)) == {"tabular": "seen in part"}
    more = moved(more, "length", 9.0)
    start = (more["panel"] == "entropy") & (more["x"] == 0)
    for high in (0.0, 99.0):  # a little more than nothing is a collapse too, and beyond the paper
        found = more.assign(y=more["y"] + high * start)
        assert judged(figure, found) == {"tabular": "seen"}
    assert set(outcomes(figure, found, "for entropy kept")) == {"not seen"}
    for panel in ("entropy", "reward", "length"):
        table = moved(table, panel, -9.0)
    assert judged(figure, table) == {"tabular": "not seen"}


@pytest.mark.parametrize("name", ["grpo-off-policy", "clip-higher", "clip-cov", "kl-cov"])
def test_the_runs_of_the_recipes_are_found(name):
    """A recipe that was changed, and whose runs no figure shows any more."""
    for run in recipes.load(f"gpu-small/{name}").runs.values():
        taken = [choice.values(run.rule, run.rule_options) for choice in methods.RUNS]
        assert sum(values is not None for values in taken) == 1
        assert run.mini_batches == 4
