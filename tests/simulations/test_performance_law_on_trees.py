"""Guards experiment performance_law_on_trees: both entropies, the schedule, and which fits."""

import numpy as np

from entropy_theory.policy import entropy
from simulations.experiments import performance_law_on_trees as experiment


def test_entropy_of_a_response_is_that_of_its_distribution():
    problem = experiment.problem_of(experiment.Config(prompts=3), "variable", 3)
    logits = problem.starts(2, seed=0)
    shares = problem.tree.response_probabilities(
        np.exp(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)).reshape(2, 3, -1, 3))
    np.testing.assert_allclose(experiment.response_entropy(problem, logits),
                               entropy(np.log(shares)).mean(-1))
