"""Cui et al., Figure 12: entropy under Clip-Cov and KL-Cov of several strengths."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pandas
import pytest

from llm_bridge import recipes
from paper_figures.entropy_mechanism import figure_12_strengths as figure_12
from paper_figures.entropy_mechanism import sweeps
from tests.paper_figures.conftest import write_run


@pytest.fixture
def results(simulated: Callable[..., Path]) -> Path:
    return simulated("intervention_sweeps")


@pytest.fixture
def table(results: Path) -> pandas.DataFrame:
    return figure_12.data(results)


def test_entropy_rises_with_the_strength_of_both(table: pandas.DataFrame) -> None:
    """The paper's finding; rules swapped."""
    found = figure_12.finding(table)
    assert found.verdict == "holds"
    assert set(table["quantity"]) == {"entropy"}


def test_a_strength_without_effect_changes_the_verdict(table: pandas.DataFrame) -> None:
    """A verdict typed in instead of derived."""
    idle = (table["rule"] == "KL-Cov") & (table["strength"] > 0)
    found = figure_12.finding(table.assign(value=table["value"] - idle))
    assert found.verdict == "holds under a condition"
    assert all("KL-Cov" in where for where in found.judgment.fails)
    assert all("Clip-Cov" in where for where in found.judgment.holds)


def test_training_runs_of_several_strengths_get_a_panel(results: Path, tmp_path: Path) -> None:
    """Runs of one rule drawn as another's."""
    shutil.copytree(results / "simulations", tmp_path / "simulations")
    for ratio in (0.01, 0.1):
        write_run(tmp_path / "runs" / f"c{ratio}", rule="clip-cov", entropies=[0.8, 0.1 + ratio],
                  options=(f"ratio={ratio}", "lower=0.2", "base.clip_low=1", "base.clip_high=1.0"))
    table = figure_12.data(tmp_path)
    runs = table[table["world"] == "transformer"]
    assert set(runs["rule"]) == {"Clip-Cov"}
    assert set(runs["strength"]) == {0.01, 0.1}
    assert [bool(panel.lines) for panel in sweeps.draw(table).axes] == [True, True, True, False]


@pytest.mark.parametrize("name", ["clip-cov", "kl-cov"])
def test_the_runs_of_the_recipes_are_found(name: str) -> None:
    """A recipe that was changed, and whose runs no figure shows any more."""
    choices = [choice for rule in figure_12.RUNS.values() for choice in rule]
    for run in recipes.load(f"gpu-small/{name}").runs.values():
        taken = [choice.values(run.rule, run.rule_options) for choice in choices]
        assert sum(values is not None for values in taken) == 1
