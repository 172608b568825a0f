"""The map of F's sign: what the theorem and the corollary say on it."""

import numpy as np

from paper_figures.aepo import theorem_4_3_sign_map as figure


def test_the_black_line_separates_the_signs(table):
    """T0 or F at another policy's place."""
    rises = table["temperature"] > table["sign_change"]
    assert (np.sign(table["rate"]) == np.where(rises, 1, -1)).all()


def test_the_verdict_follows_the_numbers(table):
    """A verdict typed in instead of derived."""
    changed = table.copy()
    changed.loc[changed["rate_at_1"] < 0, "slope_at_1"] = -1.0
    assert figure.finding(changed).verdict == "core claim fails"
    agrees = table[~figure.against_corollary(table)]
    assert figure.finding(agrees).verdict == "holds"
