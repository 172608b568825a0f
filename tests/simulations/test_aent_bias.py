"""Guards experiment aent_bias: the closed forms against sums."""

import math

import numpy as np
import pytest
from scipy.special import expit

from simulations.experiments import aent_bias as experiment


@pytest.mark.parametrize(("n", "h", "m"), [(3, 1, 1), (3, 2, 4), (2, 3, 7)])
def test_the_bias_is_that_of_the_soft_optimum_over_all_responses(n, h, m):
    coefficient = 0.7
    weights = np.where(np.arange(n**h) < m, math.exp(1 / coefficient), 1.0)
    wrong = weights[m:].sum() / weights.sum()
    log_k = experiment.log_odds_of_wrong(np.array(n), np.array(h), np.array(m))
    assert expit(log_k - 1 / coefficient) == pytest.approx(wrong, rel=1e-13)
    bound = coefficient * (h * math.log(n) - math.log(m))
    assert wrong <= bound


def test_impossible_counts_are_left_out():
    assert np.isnan(experiment.log_odds_of_wrong(np.array(3), np.array(1), np.array(4)))
