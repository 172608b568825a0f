"""Guards experiment entropy_against_performance: which answers a stricter judge passes."""

import numpy as np

from simulations.experiments import entropy_against_performance as experiment


def test_a_stricter_judge_passes_the_likeliest_of_the_accepted():
    logits = np.array([[[3.0, 0.5, 1.0, 2.0]]])
    accepted = np.array([[[False, True, True, True]]])
    np.testing.assert_array_equal(
        experiment.likeliest(logits, accepted, 2), [[[False, False, True, True]]])
