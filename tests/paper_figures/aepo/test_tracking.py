"""AEPO, Section 1: moving targets, as plotted."""

import numpy as np

from paper_figures.aepo import tracking as figure


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
    """A verdict typed in instead of derived."""
    gain = (table["panel"] == "gain") & (table["control"] == "switch")
    changed = table.copy()
    changed.loc[gain, "y"] = 1.0
    assert figure.finding(changed).judgment.fails == ("for a step to a target above log |A*|",)
    one = changed[(changed["panel"] == "end") & (changed["control"] == "switch")].index[-1]
    changed.loc[one, "y"] = 9.0  # the highest start counts
    assert figure.finding(changed).verdict == "holds"
    changed.loc[gain & (table["x"] == table.loc[gain, "x"].min()), "y"] = 0.3
    assert figure.finding(changed).verdict == "holds under a condition"
    changed = table.copy()
    changed.loc[gain, "y"] = 0.3
    assert figure.finding(changed).verdict == "core claim fails"
