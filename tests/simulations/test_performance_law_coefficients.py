"""Guards experiment performance_law_coefficients: its features and its pretraining."""

import numpy as np

from simulations.experiments import performance_law_coefficients as experiment
from simulations.problems.shared_parameters import random_features


def test_fewer_features_are_part_of_more_and_kernels_average_to_the_identity():
    few, many = (random_features(2, 3, d, seed=(5, 1)) for d in (4, 4000))
    np.testing.assert_allclose(few * np.sqrt(4), many[:, :4] * np.sqrt(4000), rtol=1e-12)
    # An entry of the kernel has a standard error of at most sqrt(2 / 4000) = 0.022.
    np.testing.assert_allclose(many @ many.T, np.eye(6), atol=0.1)


def test_pretrained_logits_are_the_nearest_in_the_span():
    features = random_features(3, 5, 6, seed=1)
    teacher = np.random.default_rng(0).normal(size=(2, 3, 5))
    found = experiment.pretrained(features, teacher)
    centered = teacher - teacher.mean(axis=-1, keepdims=True)
    rest = (centered - found).reshape(2, -1)
    np.testing.assert_allclose(rest @ features, 0, atol=1e-12)
    weights, *_ = np.linalg.lstsq(features, found.reshape(2, -1).T)
    np.testing.assert_allclose(features @ weights, found.reshape(2, -1).T, atol=1e-12)
