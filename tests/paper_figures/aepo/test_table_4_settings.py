"""AEPO, Table 4: the paper's settings, the recipes' and the rules'."""

from paper_figures.aepo import table_4_settings as figure
from tests.paper_figures.conftest import judged


def test_slipped_values_are_put_back(table):
    """Each value of the first block belongs to the row above it."""
    rows = table.set_index("setting")
    block = list(rows.index[1:9])
    assert list(rows.loc[block[1:], "printed"])[:7] == list(rows.loc[block[:-1], "paper"])[:7]
    assert rows.loc["$T_{high}$", "paper"] == "1.2"


def test_another_value_in_a_recipe_is_counted_and_named(table):
    table.loc[table["setting"] == "Rollout group size G", figure.FULL] = "16"
    assert figure.finding(table).criteria[0].value == 1
    assert judged(figure, table) == {"": "for reference"}


def test_values_are_equal_as_numbers():
    assert figure.same("1e-6", "0.000001")
    assert figure.same("binary", "binary")
    assert not figure.same("0.2", "0.28")
