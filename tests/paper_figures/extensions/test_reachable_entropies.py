"""Guards paper_figures/extensions/reachable_entropies.py."""

import numpy as np
import pytest

from entropy_theory.policy import entropy
from paper_figures.extensions import reachable_entropies as figure


def test_the_edges_are_those_of_policies():
    """A term of the range left out: the upper edge is a uniform policy on either side."""
    n, m, reward = 20, 4, 0.7
    logits = np.where(np.arange(n) < m, np.log(reward / m), np.log((1 - reward) / (n - m)))
    highest = figure.highest_entropy(np.array(reward), n, np.array(m))
    assert highest == pytest.approx(float(entropy(logits)))
    assert figure.lowest_entropy(np.array(reward)) == pytest.approx(
        float(entropy(np.log([reward, 1 - reward]))))


def test_the_ceiling_falls_from_log_n_to_log_m():
    """A ceiling below entropies that a policy with that gap has, or one that never comes down."""
    n = 20
    for m in (1, 4):
        values = figure.ceiling(np.array([-1.0, 0.0, 3.0, 40.0]), n, m)
        assert (np.diff(values) <= 1e-12).all()
        assert values[:2] == pytest.approx(np.log(n))  # a uniform policy has gap 0
        assert values[-1] == pytest.approx(np.log(m), abs=1e-12)
        level = np.where(np.arange(n) < m, 3.0, 0.0)  # of all policies of gap 3 the most uniform
        assert values[2] >= float(entropy(level))
