"""Guards experiment covariance_identity_on_trees: what a sum over states misses, and what does not."""

import numpy as np
import pytest

from entropy_theory.token_tree import TokenTree
from simulations.computing.store import path_of, read
from simulations.experiments import covariance_identity_on_trees as experiment


@pytest.fixture(scope="module")
def dataset(simulated):
    return read(path_of(experiment.EXPERIMENT, simulated(experiment.EXPERIMENT.name) / "simulations"))


def test_one_token_has_no_visitation_and_longer_responses_have(dataset):
    error = dataset.relative_error.sel(announcement="state_wise")
    assert (error.sel(horizon=1) < 1e-12).all()
    assert (error.sel(horizon=3) > 0.1).all()


def test_only_first_orders_shrink_with_the_step(dataset):
    """Twenty times the step: the gradient's error grows, that of the sum over states is there anyway."""
    small, large = (dataset.sel(learning_rate=rate, horizon=3) for rate in (0.05, 1.0))
    gradient = [x.relative_error.sel(announcement="gradient") for x in (small, large)]
    assert (gradient[0] < 0.03).all()
    assert (gradient[1] > 3 * gradient[0]).all()
    lemma = [x.relative_error.sel(announcement="state_wise") for x in (small, large)]
    assert (lemma[0] > 0.8 * lemma[1]).all()


def test_whole_responses_say_it_for_the_natural_gradient_only(dataset):
    """And the theorems are what they are at one token: the first order of their own rule."""
    long = dataset.relative_error.sel(horizon=3, learning_rate=0.05)
    np.testing.assert_allclose(long.sel(rule="NPG", announcement="response"),
                               long.sel(rule="NPG", announcement="gradient"), rtol=1e-6)
    assert (long.sel(rule="PG", announcement="response") > 0.1).all()
    one = dataset.relative_error.sel(horizon=1, learning_rate=0.05, announcement="theorem")
    assert (one.sel(rule=["PG", "NPG"]) < 0.03).all()


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
