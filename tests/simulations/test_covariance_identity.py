"""Guards experiment covariance_identity: what difficulty does to the covariance."""

import itertools
import math

import numpy as np
import pytest

from entropy_theory.policy import log_softmax
from simulations.experiments import covariance_identity as experiment


@pytest.fixture(scope="module")
def dataset():
    return experiment.compute(experiment.PROFILES["default"], 0, lambda steps: None)


def test_easier_stays_larger_only_as_estimated_without_pi(dataset):
    """At the start ease orders Theorem 2's covariance; once easy prompts are solved, the middle leads."""
    first = dataset.covariance_by_accuracy.sel(estimate="NPG").isel(record=0, learning_rate=0)
    assert (first.mean("right_answers").diff("batch_accuracy") > 0).all()
    last = dataset.covariance_by_accuracy.sel(learning_rate=0.2).isel(record=-1).mean("right_answers")
    for estimate in ("PG", "NPG", "PG, from samples"):
        assert last.sel(estimate=estimate).argmax("batch_accuracy") == 1, estimate
    assert (last.sel(estimate="NPG, from samples").diff("batch_accuracy") > 0).all()


@pytest.mark.parametrize("right", [1, 2])
def test_the_expected_estimate_is_the_mean_over_all_samples(right):
    """Against every ordered draw of three samples with ``right`` right ones."""
    logits, correct, size = np.array([0.3, -1.0, 0.8, 0.0]), np.array([1, 1, 0, 0], bool), 3
    log_pi = log_softmax(logits)
    pi = np.exp(log_pi)
    total, weight = np.zeros(2), 0.0
    for draw in itertools.product(range(4), repeat=size):
        actions = np.array(draw)
        reward = correct[actions]
        if reward.sum() != right:
            continue
        q = right / size
        advantage = (reward - q) / math.sqrt(q * (1 - q))
        chance = pi[actions].prod()
        for form, y in enumerate((pi[actions] * advantage, advantage)):
            x = log_pi[actions]
            total[form] += chance * ((x * y).mean() - x.mean() * y.mean())
        weight += chance
    np.testing.assert_allclose(
        experiment.estimated_covariances(logits, correct, right, size), total / weight, rtol=1e-13)
