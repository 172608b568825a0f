"""AEnt, Figure 2: what becomes of a constant coefficient when prompts change."""

import pandas
import pytest

from paper_figures.aent import figure_2_constant_coefficient as figure
from paper_figures.aent.halves import HALVES
from tests.paper_figures.conftest import judged

CHANGE = 50


def of_curve(table, entropy, reward=lambda step: 1.0):
    """The table with other curves before the change under the constant that fits best."""
    best = table["coefficient"] == figure.in_band(table)[HALVES[0]].idxmax()
    before = best & (table["half"] == HALVES[0]) & table["value"].notna()
    parts = [table[~before]]
    for quantity, curve in (("entropy", entropy), ("reward", reward)):
        row = table[before & (table["quantity"] == quantity)].iloc[[0] * CHANGE]
        parts.append(row.assign(step=range(CHANGE), value=[curve(step) for step in range(CHANGE)]))
    return pandas.concat(parts, ignore_index=True)


def late(step):
    return step > CHANGE / 2


@pytest.mark.parametrize("curve", [
    lambda step: 0.3 + 0.2 * (-1) ** step * late(step),
    lambda step: 0.3 * 0.9 ** (late(step) * (step - 25)),
    lambda step: 0.3 * 1.1 ** (late(step) * (step - 25)),
], ids=["fluctuates", "collapses", "blows up"])
def test_what_is_stable_early_and_breaks_away_late_reproduces(table, curve):
    assert judged(figure, of_curve(table, curve)) == {"tabular": "seen"}
    # While performance grows it is another story.
    growing = figure.finding(of_curve(table, curve, lambda step: step / CHANGE))
    assert [one.met for one in growing.criteria] == [True, True, False]


def test_entropy_that_breaks_away_from_the_start_or_never_is_no_reproduction(table):
    zigzag = figure.finding(of_curve(table, lambda step: 0.3 + 0.2 * (-1) ** step))
    assert [one.met for one in zigzag.criteria] == [False, True, True]
    steady = figure.finding(of_curve(table, lambda step: 0.3))
    assert [one.met for one in steady.criteria] == [True, False, True]
