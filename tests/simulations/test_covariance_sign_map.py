"""Guards experiment covariance_sign_map: the covariances themselves."""

import numpy as np
import pytest

from entropy_theory.policy import covariance, log_softmax, softmax
from simulations.experiments import covariance_sign_map as experiment


def test_covariances_are_those_of_the_theorems():
    generator = np.random.default_rng(0)
    logits = 2 * generator.normal(size=(50, 7))
    correct = generator.random((50, 7)) < 0.4
    correct[:, 0], correct[:, 1] = True, False
    pi, log_pi = softmax(logits), log_softmax(logits)
    advantage = correct - (pi * correct).sum(axis=-1, keepdims=True)
    expected = [covariance(pi, log_pi, pi * advantage), covariance(pi, log_pi, advantage)]
    np.testing.assert_allclose(experiment.covariances(logits, correct), expected, atol=1e-14)


def test_the_forms_can_disagree_and_the_sign_survives_saturation():
    pg, npg = experiment.covariances(np.log([1.0, 4.0, 5.0]), np.array([False, True, False]))
    assert pg == pytest.approx(-0.01699, abs=5e-6)
    assert npg == pytest.approx(0.01082, abs=5e-6)
    # p (1 - p) (gap of log pi) with 1 - p = 2 e^-60, where sums of products cancel to nothing.
    logits = np.array([60.0, 0.0, 0.0])
    for right in (0, 1):
        found = experiment.covariances(logits, np.arange(3) == right)
        assert (np.sign(found) == (1 if right == 0 else -1)).all()


def test_right_as_often_as_confident_means_a_positive_mean():
    """The means over the right answer, drawn from the policy, are Cov(pi, c) and Cov(log pi, pi)."""
    logits = 3 * np.random.default_rng(1).normal(size=(200, 6))
    pi, log_pi = softmax(logits), log_softmax(logits)
    own = pi * (log_pi - (pi * log_pi).sum(axis=-1, keepdims=True))
    mean = sum(pi[:, a] * experiment.covariances(logits, np.arange(6) == a) for a in range(6))
    np.testing.assert_allclose(
        mean, [covariance(pi, pi, own), covariance(pi, log_pi, pi)], atol=1e-15)
    assert (mean > 0).all()
