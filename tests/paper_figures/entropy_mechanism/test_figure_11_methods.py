"""Cui et al., Figure 11: GRPO, clip-higher, Clip-Cov and KL-Cov, at equal steps, accuracy and entropy."""

import pytest

from llm_bridge import recipes
from paper_figures.entropy_mechanism import methods


@pytest.mark.parametrize("name", ["grpo-off-policy", "clip-higher", "clip-cov", "kl-cov"])
def test_the_runs_of_the_recipes_are_found(name):
    """A recipe that was changed, and whose runs no figure shows any more."""
    for run in recipes.load(f"gpu-small/{name}").runs.values():
        taken = [choice.values(run.rule, run.rule_options) for choice in methods.RUNS]
        assert sum(values is not None for values in taken) == 1
        assert run.mini_batches == 4
