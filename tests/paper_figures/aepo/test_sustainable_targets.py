"""AEPO, Section 4.2: which targets are held, as plotted."""

from paper_figures.aepo import sustainable_targets as figure
from tests.paper_figures.conftest import judged, outcomes


def test_the_verdict_follows_the_numbers(table):
    """One scan that holds at one setting and not at another, taken for both; a scan's mean."""
    table.loc[table["panel"] == "alpha", "y"] = 0.9
    assert judged(figure, table) == {"": "beyond the paper"}
    assert outcomes(figure, table) == ["seen", "seen"]
    first = (table["panel"] == "alpha") & (table["setting"] == table["setting"].iloc[0])
    table.loc[first, "y"] = 0.6
    assert outcomes(figure, table) == ["not seen", "seen"]
    table.loc[first & (table["alpha"] == table.loc[first, "alpha"].min()), "y"] = 0.2
    assert outcomes(figure, table) == ["not seen", "not seen"]
