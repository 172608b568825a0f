"""AEPO, Section 1: moving targets, as plotted."""

import numpy as np

from paper_figures.aepo import tracking as figure
from tests.paper_figures.conftest import judged, outcomes


def test_sines_lie_on_their_phase(table):
    """Cycles of different periods drawn out of step with the target."""
    rows = table[(table["panel"] == "sine") & (table["control"] == "target")]
    assert rows["x"].between(0, figure.SHOWN_CYCLES).all()
    middle = (rows["y"].max() + rows["y"].min()) / 2
    expected = middle + 0.5 * np.sin(2 * np.pi * rows["x"])
    np.testing.assert_allclose(rows["y"], expected, atol=1e-9)


def test_steps_start_from_rest(table):
    """The curve of another shape: up starts low, down starts high."""
    first = table[(table["panel"] == "step") & (table["control"] == "target")]
    ends = first.sort_values("x").groupby("shape")["y"].last()
    assert ends["step up"] > ends["step down"]
    assert ends["step out of reach"] > np.log(8)


def test_the_verdict_follows_the_numbers(table):
    """Targets that the paper does not name, counted against it; a mean where the highest start counts."""
    assert judged(figure, table) == {"": "beyond the paper"}
    gain = (table["panel"] == "gain") & (table["control"] == "switch")
    table.loc[gain, "y"] = 1.0
    assert set(outcomes(figure, table, "sine")) == {"seen"}
    assert outcomes(figure, table, "above log") == ["not seen"]
    one = table[(table["panel"] == "end") & (table["control"] == "switch")].index[-1]
    table.loc[one, "y"] = 9.0
    assert outcomes(figure, table, "above log") == ["seen"]
