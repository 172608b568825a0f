"""Numbers printed in papers: read as they are, averages recomputed."""

import math

import pytest

from paper_figures.data.paper_numbers import read

FILE = """
source = "A paper, Table 9"
header = ["Method", "x", "kind", "y", "Avg."]
average = "Avg."
[right]
title = "right"
rows = [["a", 1.0, "base", 2.0, 1.5], ["b", 1.0, "base", "–", 1.0]]
[wrong]
title = "wrong"
note = "Read off the slides."
rows = [["a", 1.0, "base", 2.1, 1.5], ["b", 1.0, "base", 2.0, 1.7]]
"""


@pytest.fixture
def tables(tmp_path):
    (tmp_path / "table_9.toml").write_text(FILE)
    return read(tmp_path / "table_9.py")


def test_averages_are_of_the_numbers_of_a_row(tables):
    """The average averaged in; a missing number taken for 0; rounding taken for an error."""
    assert tables["right"].averages()["a"] == 1.5
    assert math.isnan(tables["right"].averages()["b"])
    assert tables["right"].wrong_averages() == {}
    assert tables["wrong"].wrong_averages() == {"b": (1.7, 1.5)}


def test_a_wrong_average_is_shown_beside_the_right_one(tables):
    """A paper's number corrected in silence, or passed on."""
    right, wrong = tables["right"].printed(), tables["wrong"].printed()
    assert right.header == ("Method", "x", "kind", "y", "Avg.")
    assert right.rows[1] == ("b", "1.0", "base", "–", "1.0")
    assert wrong.rows[1] == ("b", "1.0", "base", "2.0", "1.7 (printed)", "1.50")
    assert wrong.note.startswith("A paper, Table 9. Read off the slides. 1 of 2 printed averages")
    assert wrong.origin == "the paper"


def test_tidy_numbers_are_the_printed_ones_and_the_means(tables):
    tidy = tables["wrong"].tidy().set_index(["row", "column"])["value"]
    assert tidy["b", "Avg."] == 1.7
    assert tidy["b", "recomputed"] == 1.5
    assert ("b", "kind") not in tidy.index


def test_a_row_that_does_not_fit_and_an_unknown_key_are_named(tmp_path):
    """A number that slipped into the next column."""
    path = tmp_path / "t.toml"
    path.write_text(FILE.replace('["a", 1.0, "base", 2.0, 1.5]', '["a", 1.0, 1.5]'))
    with pytest.raises(ValueError, match="has 3 cells, the header 5"):
        read(path)
    path.write_text(FILE.replace("note =", "nota ="))
    with pytest.raises(ValueError, match="note"):
        read(path)
    path.write_text(FILE.replace('average = "Avg."', 'average = "Mean"'))
    with pytest.raises(ValueError, match="Mean"):
        read(path)
