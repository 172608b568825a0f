"""Cui et al., Figure 12: entropy under Clip-Cov and KL-Cov of several strengths."""

import pytest

from llm_bridge import recipes
from paper_figures.entropy_mechanism import figure_12_strengths as figure


@pytest.mark.parametrize("name", ["clip-cov", "kl-cov"])
def test_the_runs_of_the_recipes_are_found(name):
    """A recipe that was changed, and whose runs no figure shows any more."""
    choices = [choice for rule in figure.RUNS.values() for choice in rule]
    for run in recipes.load(f"gpu-small/{name}").runs.values():
        taken = [choice.values(run.rule, run.rule_options) for choice in choices]
        assert sum(values is not None for values in taken) == 1
