"""The map of F's sign: what the theorem and the corollary say on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import pytest

from entropy_theory.policy import softmax
from paper_figures.aepo import theorem_4_3_sign_map as figure


@pytest.fixture(scope="module")
def table() -> pandas.DataFrame:
    return figure.data(Path("unused"))


def test_policies_have_the_accuracy_of_their_place() -> None:
    for size, peakedness in figure.FAMILIES:
        logits, correct = figure.policy(size, peakedness, 0.3)
        assert softmax(logits)[correct].sum() == pytest.approx(0.3, rel=1e-12)
        assert correct.sum() == size


def test_the_black_line_separates_the_signs(table: pandas.DataFrame) -> None:
    """T0 or F at another policy's place."""
    rises = table["temperature"] > table["sign_change"]
    assert (np.sign(table["rate"]) == np.where(rises, 1, -1)).all()


def test_theorem_holds_and_corollary_fails_only_where_entropy_rises_or_below_one(
    table: pandas.DataFrame,
) -> None:
    """Verdicts 4 and 5: the high half of the corollary is global where F(1) < 0."""
    found = figure.finding(table)
    assert found.verdict == "holds under a condition"


def test_on_solved_prompts_the_sign_changes_at_one(table: pandas.DataFrame) -> None:
    """Claim: all answers right, F(T) > 0 above T = 1 and < 0 below."""
    solved = table[(table["right_answers"] > 1) & (table["accuracy"] > 0.998)]
    assert len(solved) > 0
    assert (np.abs(solved["sign_change"] - 1) < 0.02).all()


def test_the_verdict_follows_the_numbers(table: pandas.DataFrame) -> None:
    """A verdict typed in instead of derived."""
    changed = table.copy()
    changed.loc[changed["rate_at_1"] < 0, "slope_at_1"] = -1.0
    assert figure.finding(changed).verdict == "core claim fails"
    agrees = table[~figure.against_corollary(table)]
    assert figure.finding(agrees).verdict == "holds"
