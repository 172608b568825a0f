"""AEnt, Figure 5: constant against adaptive coefficient through a change of prompts."""

from paper_figures.aent import figure_5_adaptive_coefficient as figure
from paper_figures.aent.halves import HALVES
from tests.paper_figures.conftest import judged, outcomes


def test_what_follows_our_change_of_prompts_decides_nothing(table):
    """A change that we made counted as the paper's; smoke runs are too short to get into the band."""
    table.loc[table["in_band"].notna() & (table["kind"] == "adaptive"), "in_band"] = 0.6
    assert outcomes(figure, table, figure.BAND_HELD) == ["seen"]
    assert outcomes(figure, table, figure.BLOWN_UP) == ["not seen"]
    constant = (table["kind"] == "constant") & (table["quantity"] == "entropy")
    table.loc[constant & (table["half"] == HALVES[1]), "value"] = 2.0
    assert outcomes(figure, table, figure.BLOWN_UP) == ["seen"]
    table.loc[(table["kind"] == "adaptive") & (table["quantity"] == "reward"), "value"] = 0.5
    assert outcomes(figure, table, figure.SCORES) == ["not seen"]
    assert judged(figure, table) == {"": "beyond the paper"}
