"""Guards paper_figures/extensions/noise_and_entropy.py."""

import numpy as np
import pandas
import pytest

from paper_figures.extensions import noise_and_entropy as figure
from tests.paper_figures.conftest import outcomes


def made(**changed):
    """A table in which all is as the headline has it, but for what is ``changed``."""
    values = {"adam": 1.0, "sgd": 2.0, "rate": 100.0, "large": -1.0, "ends": (0.1, 0.12), "half": 0.2}
    values |= changed
    rows = [(panel, optimizer, np.nan, 0.05, y, 0.1) for optimizer in ("adam", "sgd") for panel, y in (
        ("short", values[optimizer]), ("long", values["large"]),
        ("rate", values["rate"] if optimizer == "adam" else 1.0))]
    for start, end in enumerate(values["ends"]):
        rows += [("drift", "adam", start, step, y, 0.01)
                 for step, y in ((0, 0.1 + 0.8 * start), (50, values["half"]), (100, end))]
    return pandas.DataFrame(rows, columns=["panel", "optimizer", "start", "x", "y", "error"])


@pytest.mark.parametrize(("changed", "wrong"), [
    ({}, None), ({"adam": 3.0}, 0), ({"adam": 1.9}, 0), ({"rate": 10.0}, 1), ({"large": 0.1}, 2),
    ({"ends": (0.1, 0.5)}, 3), ({"half": 0.05}, 4),
])
def test_each_number_can_speak_against_the_headline(changed, wrong):
    """A headline typed in; an interval left out (1.9 is less than 2, but not by two errors)."""
    found = outcomes(figure, made(**changed))
    assert (found[wrong] != "seen") if wrong is not None else set(found) == {"seen"}
    shown = figure.FIGURE.headline.shown(figure.finding(made(**changed)).criteria)
    assert bool(shown) == (wrong is None)
