"""Clip-Cov and KL-Cov at equal accuracy and at equal entropy."""

import pytest

from paper_figures.entropy_mechanism import methods
from paper_figures.extensions import covariance_rules_on_the_curve as figure


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


def test_strong_and_weak_rules_are_told_apart(table):
    """Strength taken for the family of prompts; a comparison that tells nothing taken for the curve."""
    rules = table["rule"].isin(methods.METHODS)
    assert table[rules]["selected"].notna().all()
    assert table[~rules]["selected"].isna().all()
    weak = table["family"].str.endswith("graded")
    assert set(table[rules & weak]["selected"]) == {0.1}
    assert (table[rules & ~weak & (table["panel"] == "at equal entropy")]["selected"] == 0.2).all()
    assert set(table[table["rule"] == "KL-Cov"]["penalty"]) == {1.0}  # in smoke runs the strongest
    assert table[table["rule"] != "KL-Cov"]["penalty"].isna().all()
    rows = (table["panel"] == "at equal entropy") & rules
    noise = 1e-4 * table["start"]
    split = table.assign(y=table["y"].where(~rows, noise + 0.5 * ~weak))
    found = figure.finding(split)
    assert [one.met for one in found.criteria] == [True, True]
    loud = table.assign(y=table["y"].where(~rows, 5.0 * (-1.0) ** table["start"]))
    assert [one.met for one in figure.finding(loud).criteria] == [False, False]
