"""Cui et al., Figure 5: the end of a run announced from its first 15 %."""

import numpy as np
import pytest

from paper_figures.entropy_mechanism import figure_5_prediction as figure
from tests.paper_figures.entropy_mechanism.runs import write_curve


def test_a_run_on_the_law_is_announced(results, tmp_path):
    """Fitted to other steps than the first 15 %."""
    entropy = np.linspace(1.0, 0.1, 118)
    reward = 1.2 - 0.3 * np.exp(entropy)
    reward[18 + 8:] += 0.1  # after the early steps and the steps that their means reach to
    table = figure.data(write_curve(tmp_path, results, entropy=entropy, reward=reward))
    row = table.query("panel == 'model error'").iloc[0]
    assert row["final_error"] == pytest.approx(-0.1, abs=0.005)
    assert row["covered"] == 0
    assert len(figure.draw(table).axes) == 5
