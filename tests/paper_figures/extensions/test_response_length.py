"""Guards paper_figures/extensions/response_length.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas
import pytest

from paper_figures.extensions import response_length as figure


@pytest.fixture(scope="module")
def table(simulated: Callable[..., Path]) -> pandas.DataFrame:
    return figure.data(simulated("response_length"))


def test_only_a_mean_over_each_response_moves_length(table: pandas.DataFrame) -> None:
    """Objectives exchanged; right and wrong responses exchanged."""
    found = figure.finding(table)
    assert found.numbers["printed: right shorter in every run"] == 1
    assert found.numbers["printed: wrong longer in every run"] == 1
    assert found.numbers["others: largest change"] < figure.STILL
    assert all(one.met for one in found.criteria)


def test_drifts_from_samples_do_not_cancel(table: pandas.DataFrame) -> None:
    """A mean over right and wrong responses, which move against each other."""
    changed = table.copy()
    sampled = (changed["panel"] == "length") & (changed["mode"] == "sampled")
    last = sampled & (changed["x"] == changed.loc[sampled, "x"].max())
    for kind, by in (("right", 5.0), ("wrong", -5.0)):
        changed.loc[last & (changed["kind"] == kind), "y"] += by
    numbers = figure.finding(changed).numbers
    assert numbers["others, sampled: largest mean"] > 4
    assert numbers["others, sampled: largest run"] >= numbers["others, sampled: largest mean"]


def test_a_tilt_towards_short_responses_shortens_them(table: pandas.DataFrame) -> None:
    """A tilt of the wrong sign."""
    numbers = figure.finding(table).numbers
    assert numbers["AEPO: largest tilt, tokens"] < numbers["right at the start"]
    assert numbers["AEPO: largest tilt, tokens"] < numbers["AEPO: least tilt, tokens"]
    assert numbers["neutral tilt"] < 0  # dividing by length shortens by itself


def test_other_lengths_are_judged_otherwise(table: pandas.DataFrame) -> None:
    """A headline typed in."""
    changed = table.copy()
    rows = (changed["panel"] == "length") & (changed["x"] == changed.loc[
        changed["panel"] == "length", "x"].max())
    changed.loc[rows & (changed["kind"] == "right"), "y"] += 1
    assert [one.met for one in figure.finding(changed).criteria] == [False, True, False]
