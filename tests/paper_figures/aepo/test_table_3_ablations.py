"""AEPO, Table 3: ablations and targets."""

from paper_figures.aepo import table_3_ablations as figure


def test_the_base_average_is_shown_beside_the_right_one(table):
    """37.66 is printed, the row's mean is 32.56, as in Table 1."""
    targets = figure.tables(table)[0]
    assert targets.rows[0][-2:] == ("37.66 (printed)", "32.56")
