"""Guards experiment covariance_identity: the estimate from samples."""

import itertools
import math

import numpy as np
import pytest

from entropy_theory.policy import log_softmax
from simulations.experiments import covariance_identity as experiment


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
