"""Guards paper_figures/extensions/covariance_sign_map.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas
import pytest

from paper_figures.extensions import covariance_sign_map as figure
from simulations.experiments import covariance_sign_map as experiment


@pytest.fixture(scope="module")
def table(simulated: Callable[..., Path]) -> pandas.DataFrame:
    return figure.data(simulated("covariance_sign_map"))


def test_the_sign_is_that_of_the_problem(table: pandas.DataFrame) -> None:
    """Hard prompts negative, easy ones positive, training and competence positive."""
    numbers = figure.finding(table).numbers
    assert numbers["hard: highest"] < 0.5 < numbers["easy: lowest"]
    assert numbers["calibrated batches: lowest"] > numbers["calibrated prompts: lowest"]
    assert numbers["calibrated batches: lowest"] > numbers["blind batches: lowest"]
    competence = table[(table["panel"] == "competence")].groupby("x")["share"].median()
    assert competence.is_monotonic_increasing
    assert ((table["share"] >= 0) & (table["share"] <= 1)).all()


def test_other_shares_are_judged_otherwise(table: pandas.DataFrame) -> None:
    """A headline typed in."""
    found = figure.finding(table)
    assert [one.met for one in found.criteria] == [True, True, True]
    late = (table["panel"] == "training") & (table["x"] >= 0.75)
    untrained = table.assign(share=table["share"].where(~late, 0.1))
    assert [one.met for one in figure.finding(untrained).criteria] == [True, True, False]
    easy = (table["panel"] == "difficulty") & (table["x"] == found.numbers["easy accuracy"])
    none = figure.finding(table.assign(share=table["share"].where(~easy, 0.0)))
    assert [one.met for one in none.criteria] == [False, False, True]



def test_calibrated_policies_have_one_right_answer(table: pandas.DataFrame) -> None:
    """Several right answers drawn from a policy: it is then right more often than it is confident."""
    numbers = figure.finding(table).numbers
    changed = table.assign(share=table["share"].where(table["right_answers"] == 1, 0.5))
    for name in ("calibrated prompts", "calibrated batches"):
        for end in ("lowest", "highest"):
            assert figure.finding(changed).numbers[f"{name}: {end}"] == numbers[f"{name}: {end}"]
    problems = experiment.PROFILES["smoke"].n_problems
    assert numbers["batches"] == problems // numbers["batch"]
