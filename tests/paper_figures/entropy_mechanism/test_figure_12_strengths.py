"""Cui et al., Figure 12: entropy under Clip-Cov and KL-Cov of several strengths."""

import pytest

from llm_bridge import recipes
from paper_figures.entropy_mechanism import figure_12_strengths as figure
from tests.paper_figures.conftest import judged, outcomes


def test_a_strength_without_effect_changes_the_verdict(table):
    """A step of the strength, which the paper does not ask for, that decides; a rule counted for both."""
    strong = table["strength"] == table.groupby("rule")["strength"].transform("max")
    more = table.assign(value=table["value"] + 9.0 * (strong & (table["step"] > 0)))
    assert judged(figure, more) == {"tabular": "seen"}
    idle = (more["rule"] == "KL-Cov") & (more["strength"] > 0)
    less = more.assign(value=more["value"] - 19.0 * idle)
    assert judged(figure, less) == {"tabular": "seen in part"}
    assert set(outcomes(figure, less, "under KL-Cov")) == {"not seen"}


@pytest.mark.parametrize("name", ["clip-cov", "kl-cov"])
def test_the_runs_of_the_recipes_are_found(name):
    """A recipe that was changed, and whose runs no figure shows any more."""
    choices = [choice for rule in figure.RUNS.values() for choice in rule]
    for run in recipes.load(f"gpu-small/{name}").runs.values():
        taken = [choice.values(run.rule, run.rule_options) for choice in choices]
        assert sum(values is not None for values in taken) == 1
