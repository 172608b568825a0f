"""Guards experiment performance_law_on_trees: both entropies, the schedule, and which fits."""

import numpy as np
import pytest

from entropy_theory.policy import entropy
from simulations.computing.store import path_of, read
from simulations.experiments import performance_law_on_trees as experiment


@pytest.fixture(scope="module")
def dataset(simulated):
    return read(path_of(experiment.EXPERIMENT, simulated(experiment.EXPERIMENT.name) / "simulations"))


def test_a_response_of_one_token_has_its_entropy(dataset):
    one = dataset.sel(horizon=1)
    np.testing.assert_allclose(one.rmse.sel(of="token"), one.rmse.sel(of="response"))


def test_entropy_of_a_response_is_that_of_its_distribution():
    problem = experiment.problem_of(experiment.Config(prompts=3), "variable", 3)
    logits = problem.starts(2, seed=0)
    shares = problem.tree.response_probabilities(
        np.exp(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)).reshape(2, 3, -1, 3))
    np.testing.assert_allclose(experiment.response_entropy(problem, logits),
                               entropy(np.log(shares)).mean(-1))


def test_the_law_is_closer_to_the_entropy_of_a_response(dataset):
    several = dataset.sel(horizon=2)
    token, response = (several.rmse.sel(of=of) for of in experiment.ENTROPIES)
    assert (response.sel(length="fixed") < 0.6 * token.sel(length="fixed")).all()
    assert (response < token).all()
    assert (several.early_rmse.sel(of="response") < several.early_rmse.sel(of="token")).all()
    assert (token > 0.004).all()
