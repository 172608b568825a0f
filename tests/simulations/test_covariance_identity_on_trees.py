"""Guards experiment covariance_identity_on_trees: what a sum over states misses, and what does not."""

import numpy as np
import pytest

from entropy_theory.token_tree import TokenTree
from simulations.experiments import covariance_identity_on_trees as experiment


def test_the_smallest_counterexample():
    """Two tokens of two, reward for the first alone: every covariance of a state is 0, and entropy falls
    by (log 2 - h(1/10))/8 a unit of learning rate."""
    tree, eta = TokenTree(2, 2), 1e-4
    start = np.log([[0.5, 0.5], [0.9, 0.1], [0.5, 0.5]])
    step = eta * np.array([[0.25, -0.25], [0, 0], [0, 0]])  # pi x (Q - V), the root alone
    logits = np.stack([start, start + step])[:, None, None, None]
    right = np.array([[True, True, False, False]])
    rates = np.full((1, 1, 1), eta)
    parts = experiment.entropy_parts(tree, right, "PG", rates, logits)
    found = dict(zip(experiment.CHANGES, parts.ravel(), strict=True))
    h = -(0.9 * np.log(0.9) + 0.1 * np.log(0.1))
    expected = -eta * (np.log(2) - h) / 8
    assert found["theorem"] == pytest.approx(0, abs=1e-18)
    assert found["gradient"] == pytest.approx(expected, rel=1e-12)
    assert found["measured"] == pytest.approx(expected, rel=1e-3)
    assert abs(found["state_wise"]) < 1e-3 * abs(expected)
