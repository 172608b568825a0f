"""Guards paper_figures/extensions/growth_and_collapse.py."""

import pandas
import pytest

from paper_figures.extensions import growth_and_collapse as figure
from tests.paper_figures.conftest import outcomes

OWN = {"adam": 0.1, "adam, beta2 = 0.9": 0.4, "sgd": 0.0, "adam, eps = 0.1": 0.0}
COINS = {(64, 0.98): 0.1, (64, 0.02): -0.1, (2, 0.98): 0.0}


def made(own=(), coins=(), error=0.01):
    """A table in which all is as the headline has it, but for what is changed."""
    rows = []
    for name, change in {**OWN, **dict(own)}.items():
        # The reward is flat from step 10 on; what entropy did before does not count.
        rows += [("course", name, 0.9, 0.0, step, None, y, error, reward)
                 for step, y, reward in ((0, 0.9, 0.1), (10, 0.1, 0.89), (20, 0.1 + change, 0.9))]
    rows += [("coin", "adam", None, None, x, size, y, error, None)
             for (size, x), y in {**COINS, **dict(coins)}.items()]
    return pandas.DataFrame(rows, columns=[
        "panel", "optimizer", "ceiling", "capacity", "x", "row", "y", "error", "reward"])


@pytest.mark.parametrize(("changed", "wrong"), [
    ({}, None), ({"own": {"adam": -0.1}}, 0), ({"own": {"adam": 0.02}}, 0),
    ({"own": {"adam, beta2 = 0.9": 0.0}}, 1), ({"own": {"sgd": 0.2}}, 2),
    ({"own": {"adam, eps = 0.1": 0.2}}, 3), ({"coins": {(64, 0.98): -0.1}}, 4),
    ({"coins": {(64, 0.02): 0.1}}, 5), ({"coins": {(2, 0.98): 0.1}}, 6),
])
def test_each_number_can_speak_against_the_headline(changed, wrong):
    """A headline typed in; an interval left out (0.02 is within two errors of 0)."""
    table = made(**{"error": 0.005, **changed} if wrong is None else changed)
    found = outcomes(figure, table)
    assert (found[wrong] != "seen") if wrong is not None else set(found) == {"seen"}
    assert bool(figure.FIGURE.headline.shown(figure.finding(table).criteria)) == (wrong is None)
