"""Cui et al., Figures 11 and 12: GRPO, clip-higher, Clip-Cov and KL-Cov, at one or several strengths."""

import pytest

from llm_bridge import recipes
from paper_figures.entropy_mechanism import figure_12_strengths, methods

STRENGTHS = tuple(choice for rule in figure_12_strengths.RUNS.values() for choice in rule)


@pytest.mark.parametrize(("name", "choices"), [
    *((name, methods.RUNS) for name in ("grpo-off-policy", "clip-higher", "clip-cov", "kl-cov")),
    ("clip-cov", STRENGTHS), ("kl-cov", STRENGTHS)])
def test_the_runs_of_the_recipes_are_found(name, choices):
    """A recipe that was changed, and whose runs no figure shows any more."""
    for run in recipes.load(f"gpu-small/{name}").runs.values():
        taken = [choice.values(run.rule, run.rule_options) for choice in choices]
        assert sum(values is not None for values in taken) == 1
        assert run.mini_batches == 4
