"""Clip-Cov and KL-Cov at equal accuracy and at equal entropy."""

import pytest

from paper_figures.entropy_mechanism import methods
from paper_figures.extensions import covariance_rules_on_the_curve as figure  # noqa: F401 (of `table`)


def test_values_at_equal_accuracy_are_read_off_the_curves(table, simulated):
    """Entropy at another moment than that of the accuracy."""
    curves = methods.data(simulated("response_length"))
    gap = table[(table["panel"] == "at equal reward") & (table["rule"] == "Clip-Cov")
                & (table["start"] == 1)].iloc[2]
    at = {}
    for rule in ("GRPO", "Clip-Cov"):
        run = curves[(curves["rule"] == rule) & (curves["start"] == 1)
                     & (curves["family"] == gap["family"])]
        reward, entropy = (run[run["panel"] == p].sort_values("x")["y"].to_numpy()
                           for p in ("reward", "entropy"))
        after = int((reward >= gap["x"]).argmax())
        share = (gap["x"] - reward[after - 1]) / (reward[after] - reward[after - 1])
        at[rule] = entropy[after - 1] + share * (entropy[after] - entropy[after - 1])
    assert gap["y"] == pytest.approx(at["Clip-Cov"] - at["GRPO"], abs=1e-12)
