"""Guards benchmarks/public_growth.py: its exact tests, its curves, and the page that quotes it."""

import re
from pathlib import Path

import numpy as np
import pandas
import pytest
from scipy.stats import permutation_test, spearmanr

from benchmarks import public_growth

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
