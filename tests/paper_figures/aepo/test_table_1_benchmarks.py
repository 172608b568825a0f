"""AEPO, Table 1: printed numbers, recomputed averages, and our reruns."""

import pandas

from paper_figures.aepo import table_1_benchmarks as figure
from tests.paper_figures.conftest import judged, outcomes


def test_wrong_averages_stand_beside_the_right_ones(table):
    """Entropy-Adv of Qwen2.5-Math-7B: 51.69 (printed 51.76); AEPO of Qwen2.5-7B: 49.59 (49.57)."""
    blocks = {block.title: block for block in figure.tables(table)}
    shaped = {row[0]: row for row in blocks["Qwen2.5-Math-7B"].rows}["+Entropy-Adv"]
    assert shaped[-2:] == ("51.76 (printed)", "51.69")
    aepo = {row[0]: row for row in blocks["Qwen2.5-7B"].rows}["+AEPO"]
    assert aepo[-2:] == ("49.57", "49.59")


def test_runs_are_judged_by_the_extremes_of_their_seeds(table):
    """One seed that decides; means apart whose seeds overlap."""
    rows = {"origin": "training", "title": "small-sums on x", "column": "reward (%)"}

    def found(seeds, lowest, highest=51.0):
        runs = pandas.DataFrame([
            {**rows, "row": "GRPO", "value": 50.0, "low": 49.0, "high": highest, "seeds": seeds},
            {**rows, "row": "AEPO", "value": 52.0, "low": lowest, "high": 53.0, "seeds": seeds}])
        both = pandas.concat([table, runs], ignore_index=True)
        return outcomes(figure, both, "on small-sums on x"), judged(figure, both)["0.8M transformer"]

    assert found(1, 52.0, 50.0) == (["undecided"], "undecided")
    assert found(2, 50.5) == (["undecided"], "undecided")
    assert found(2, 51.5) == (["seen"], "seen")
