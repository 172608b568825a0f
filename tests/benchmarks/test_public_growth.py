"""Guards benchmarks/public_growth.py: its exact tests, its curves, and the page that quotes it."""

import re
from pathlib import Path

import numpy as np
import pandas
import pytest
from scipy.stats import fisher_exact, permutation_test, spearmanr

from benchmarks import public_growth
from benchmarks import public_predictions as predictions

RUNS = Path(__file__).parents[1] / "diagnosis" / "public_runs"
PAGE = (Path(__file__).parents[2] / "docs" / "why_entropy_grows.md").read_text(encoding="utf-8")
ONE_LINE = " ".join(PAGE.split())


def test_the_exact_p_is_that_of_another_implementation():
    x, y = np.array([1, 2, 3, 4, 5, 6.0]), np.array([2, 1, 2, 6, 3, 5.0])  # with a tie
    found, p = public_growth.exact_p((x, y))
    assert found == pytest.approx(spearmanr(x, y).statistic)
    other = permutation_test((x,), lambda one: spearmanr(one, y).statistic, permutation_type="pairings",
                             n_resamples=np.inf)
    assert p == pytest.approx(other.pvalue)


def test_strata_are_ordered_apart():
    """Two strata of three, both in order: one of 36 orders and its mirror are as extreme."""
    both = (np.arange(3), np.arange(3))
    assert public_growth.exact_p(both, both) == pytest.approx((1, 2 / 36))


def test_an_interval_holds_its_correlation_and_a_curve_against_itself_has_none():
    for row in public_growth.levels().itertuples():
        found, low, high = public_growth.correlation(row.entropy_levels, row.validation_levels)
        assert low <= found <= high
    curve = np.arange(25.0)
    assert public_growth.correlation(curve, curve) == pytest.approx((1, 1, 1))


def test_growth_is_counted_from_where_the_score_is_flat():
    """A fall before that, and what comes back of it, are two things."""
    score = np.array([0, 3, 6, 7, 7, 7, 7, 7, 7.0])
    falls_then_grows = np.array([9, 5, 1, 1, 2, 3, 4, 4, 4.0])
    assert public_growth.grows(falls_then_grows, score)
    assert not public_growth.grows(np.array([1, 3, 9, 8, 6, 4, 3, 3, 3.0]), score)


def test_the_table_has_seven_sizes_of_two_tasks_with_whole_curves():
    table = public_growth.levels()
    assert table.groupby("task")["billions"].nunique().to_dict() == {"GSM8K": 7, "MATH": 7}
    for name, points in (("entropy_levels", 40), ("validation_levels", 25)):
        assert {len(one) for one in table[name]} == {points}
        assert all(one.min() == 0 and one.max() == 7 for one in table[name])


def test_no_public_log_of_steps_has_growth():
    """A run that was left out, or an entropy that came back late."""
    whole = []
    for file in sorted(RUNS.glob("*.csv")):
        if file.name != "seen.csv" and "qwen2.5-7b" not in file.name:  # TRL's are counted elsewhere
            run = pandas.read_csv(file)
            entropy = run[next(name for name in run if "entropy" in name)].dropna().to_numpy()
            whole.append([tenth.mean() for tenth in np.array_split(entropy, 10)])
    assert len(whole) == 7
    last = [tenths[-1] / tenths[0] for tenths in whole]
    assert f"{min(last):.2f} to {max(last):.2f} of that over the first".replace("0.", ".") in ONE_LINE
    assert 0.0055 < max(np.diff(tenths).max() for tenths in whole) < 0.006


def test_the_page_counts_what_is_counted():
    for one in public_growth.counts():
        assert re.search(rf"{one.grow} of {one.runs}\b", PAGE), one


def test_the_page_has_the_prediction_of_every_run():
    """A run's prediction under another's, a count of signs, or a table that the code no longer gives."""
    table = pandas.read_csv(predictions.TABLE)
    runs = public_growth.levels()
    assert table["last_score"].tolist() == runs["last_score"].tolist()
    assert table["grew"].tolist() == [public_growth.grows(*run) for run in zip(
        runs["entropy_levels"], runs["validation_levels"], strict=True)]
    chosen = f"spread {predictions.SPREAD:g}"
    for _, some in table.groupby("task"):
        for name in ("alike", chosen):
            cells = " | ".join(f"{value:+.2f}".replace("0.", ".") for value in some[name])
            assert f", nats | {cells} |" in PAGE
        assert f"| entropy grew | {' | '.join(np.where(some['grew'], 'yes', 'no'))} |" in PAGE
    assert (table["alike"] < 0).all()
    assert (table["spread 0.25"] > 0).all()
    right = {name: int(((table[name] > 0) == table["grew"]).sum()) for name in predictions.COLUMNS}
    assert (f"right in {right['alike']} of 14 runs if prompts are alike, and in {right[chosen]} if"
            in ONE_LINE)
    assert right["spread 1"] == right["spread 2"]
    assert (f"Sums of 1 and 2 give {right['spread 1']}, and .25 gives {right['spread 0.25']}: entropy"
            in ONE_LINE)
    p = fisher_exact(pandas.crosstab(table["grew"], table[chosen] > 0)).pvalue
    assert f"p {p:.2f})".replace("0.", ".") in ONE_LINE
    last = table.iloc[-1]
    found = predictions.change(predictions.shares(last["last_score"], predictions.SPREAD)).mean()
    assert found == pytest.approx(last[chosen], abs=5e-4)


def test_the_spread_of_prompts_fits_a_public_log():
    """The share of groups with equal rewards: a distribution of another mean, or a later step."""
    log = pandas.read_csv(public_growth.NO_BONUS)
    first = log.groupby("run").head(5).groupby("run")[["reward", "frac_reward_zero_std"]].mean().mean()
    success = predictions.shares(first["reward"], predictions.SPREAD)
    # Shares keep that distance from 0 and 1, which moves their mean by less.
    assert success.mean() == pytest.approx(first["reward"], abs=predictions.BOUND)
    equal = (success**4 + (1 - success) ** 4).mean()
    alike = first["reward"] ** 4 + (1 - first["reward"]) ** 4
    numbers = [f"{value:.2f}".replace("0.", ".") for value in (*first, equal, alike)]
    assert ("at a reward of {}, and {} of their groups have equal rewards. For groups of four, as their "
            "configuration has, the distribution gives {}, and prompts alike give {}.").format(
                *numbers) in ONE_LINE


@pytest.mark.deep
def test_training_reward_predicts_what_did_not_come(monkeypatch):
    monkeypatch.setattr(predictions, "STARTS", 1)
    log = pandas.read_csv(RUNS / "deepseek7b-gsm8k-grpo.csv")
    trained, validated = (log[name].dropna().iloc[-1]
                          for name in ("critic/score/mean", "val/test_score/openai/gsm8k"))
    assert f"score, {validated:.2f}, both predict".replace("0.", ".") in ONE_LINE
    assert f"training reward is {trained:.2f},".replace("0.", ".") in ONE_LINE
    spread = predictions.SPREAD
    for score, by, sign in ((validated, None, -1), (validated, spread, -1), (trained, spread, 1)):
        found = predictions.change(predictions.shares(score, by)).mean()
        assert sign * found > 0.05
