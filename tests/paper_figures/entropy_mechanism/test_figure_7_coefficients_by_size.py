"""Cui et al., Figure 7: the law's coefficients against size."""

import numpy as np
import pandas

from paper_figures.entropy_mechanism import figure_7_coefficients_by_size as figure
from tests.paper_figures.conftest import judged

PRETRAINED = figure.STAND_INS["features"]


def test_other_coefficients_change_the_verdict(table):
    """Random features read as sizes of language models; transformers that are drawn and not judged."""
    line = np.log(table["size"].astype(float))
    table[["a", "b"]] = np.stack([(line - line.mean()) ** 2, np.sin(40 * line)], axis=1)
    assert judged(figure, table) == {"": "beyond the paper"}
    runs = table[table["stand_in"] == PRETRAINED].assign(stand_in=figure.MODELS)
    assert judged(figure, pandas.concat([table, runs])) == {"transformers": "not seen"}
    runs[["a", "b"]] = np.stack([0.1 * np.log(runs["size"]), 0.2 * np.log(runs["size"])], axis=1)
    assert judged(figure, pandas.concat([table, runs])) == {"transformers": "seen"}


def test_each_coefficient_is_judged_by_itself(table):
    """A verdict on b printed of a."""
    table["a"] = 0.1 * np.log(table["size"].astype(float)) + 0.1
    found = figure.finding(table)
    assert {one.says.split("line's ")[1][0]: one.met for one in found.criteria
            if one.where == f"for {PRETRAINED}" and "error" in one.says} == {"a": True, "b": False}
