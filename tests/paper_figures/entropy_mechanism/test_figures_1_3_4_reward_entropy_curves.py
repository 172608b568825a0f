"""Cui et al., Figures 1, 3 and 4: curves of reward against entropy, and the law."""

import numpy as np
import pytest

from paper_figures.entropy_mechanism import figures_1_3_4_reward_entropy_curves as figure
from tests.paper_figures.entropy_mechanism.runs import write_curve


def test_training_runs_are_fitted_too(results, tmp_path):
    """A run that follows the law, found not to."""
    without = len(figure.draw(figure.data(results)).axes)
    table = figure.data(write_curve(tmp_path, results, entropy=np.linspace(1.0, 0.1, 60)))
    row = table.query("panel == 'model fit'").iloc[0]
    # Means over 5 steps of 0.015 nats leave the law by a tenth of their square.
    assert (row["a"], row["b"]) == pytest.approx((0.3, 1.2), abs=0.005)
    assert len(figure.draw(table).axes) == without + 1
