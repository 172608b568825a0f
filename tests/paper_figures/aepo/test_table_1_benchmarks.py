"""AEPO, Table 1: printed numbers, recomputed averages, and our reruns."""

import pandas
import pytest
import xarray

from paper_figures.aepo import table_1_benchmarks as figure


def test_wrong_averages_stand_beside_the_right_ones(table):
    """Entropy-Adv of Qwen2.5-Math-7B: 51.69 (printed 51.76); AEPO of Qwen2.5-7B: 49.59 (49.57)."""
    blocks = {block.title: block for block in figure.tables(table)}
    shaped = {row[0]: row for row in blocks["Qwen2.5-Math-7B"].rows}["+Entropy-Adv"]
    assert shaped[-2:] == ("51.76 (printed)", "51.69")
    aepo = {row[0]: row for row in blocks["Qwen2.5-7B"].rows}["+AEPO"]
    assert aepo[-2:] == ("49.57", "49.59")


def test_rewards_are_those_of_the_end(table, results):
    """A row of another rule, or of another step."""
    dataset = xarray.load_dataset(results / "simulations" / "rules_at_equal_reward.nc")
    cells = table[table["origin"] == "bandits"].set_index(["row", "column"])["value"]
    family = str(dataset.family.values[0])
    bonus = dataset.reward.sel(rule="entropy bonus", family=family)
    row = "Entropy-Reg (a bonus of 0.1)"
    assert cells[row, family] == pytest.approx(100 * float(bonus.isel(step=-1).mean()))
    assert cells["before training", family] == pytest.approx(100 * float(bonus.isel(step=0).mean()))


def test_the_verdict_follows_the_numbers(table):
    """A verdict typed in instead of derived."""
    behind = table.copy()
    behind.loc[(table["origin"] == "bandits") & (table["row"] == "AEPO"), "value"] = 0.0
    behind.loc[table["row"] == "AEPO less GRPO", "value"] = -50.0
    assert figure.finding(behind).verdict == "core claim fails"
    ahead = table.copy()
    ahead.loc[table["row"] == "AEPO less GRPO", ["value", "error"]] = [5.0, 1.0]
    ahead.loc[(table["origin"] == "bandits") & (table["row"] == "AEPO"), "value"] = 100.0
    assert figure.finding(ahead).verdict == "holds"


def test_equal_samples_are_conditions_of_their_own(table):
    """A comparison that the paper does not make taken for its core; ties counted as GRPO's lead."""
    less = table["row"] == "AEPO less GRPO"
    tied = table.copy()
    tied.loc[(table["origin"] == "bandits") & (table["row"] == "AEPO"), "value"] = 100.0
    tied.loc[less, ["value", "error"]] = [0.0, 1.0]
    found = figure.finding(tied)
    assert found.verdict == "core claim fails"  # too few conditions count
    assert found.judgment.core is None
    assert "at as many samples" in found.judgment.fails


def test_a_run_of_one_seed_enters_the_verdict(table):
    """A user's run of one seed that is shown and not judged; means apart whose seeds overlap."""
    rows = {"origin": "training", "title": "small-sums on x", "column": "reward (%)"}

    def judged(seeds, lowest, highest=51.0):
        runs = pandas.DataFrame([
            {**rows, "row": "GRPO", "value": 50.0, "low": 49.0, "high": highest, "seeds": seeds},
            {**rows, "row": "AEPO", "value": 52.0, "low": lowest, "high": 53.0, "seeds": seeds}])
        found = figure.finding(pandas.concat([table, runs], ignore_index=True))
        return [one.met for one in found.criteria if one.where == "on small-sums on x"]

    assert judged(1, 52.0, 50.0) == [True]
    assert judged(1, 52.0, 52.5) == [False]
    assert judged(2, 50.5) == [False]
    assert judged(2, 51.5) == [True]
