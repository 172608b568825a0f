"""The map of F's sign: what the theorem and the corollary say on it."""

import numpy as np

from paper_figures.aepo import theorem_4_3_sign_map as figure
from tests.paper_figures.conftest import judged


def test_the_black_line_separates_the_signs(table):
    """T0 or F at another policy's place."""
    rises = table["temperature"] > table["sign_change"]
    assert (np.sign(table["rate"]) == np.where(rises, 1, -1)).all()


def test_the_verdict_follows_the_numbers(table):
    """Points where the theorem says nothing, held against it; a theorem that does not count."""
    against, outside = figure.against_corollary(table), table["rate_at_1"] > 0
    assert (against & outside).any()
    assert judged(figure, table[outside | ~against]) == {"tabular": "seen"}
    table.loc[table["rate_at_1"] < 0, "slope_at_1"] = -1.0
    assert judged(figure, table[~against]) == {"tabular": "fails as we read it"}
