"""Cui et al., Figure 11: GRPO, clip-higher, Clip-Cov and KL-Cov, at equal steps, accuracy and entropy."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas
import pytest

from llm_bridge import recipes
from paper_figures.data import inputs
from paper_figures.entropy_mechanism import figure_11_methods as figure_11
from paper_figures.entropy_mechanism import methods
from tests.paper_figures.conftest import write_run

EXPERIMENTS = (
    "intervention_sweeps", "response_length", "rules_at_equal_reward", "interventions_on_the_curve",
)


@pytest.fixture(scope="module")
def results(simulated: Callable[..., Path]) -> Path:
    return simulated(*EXPERIMENTS)


@pytest.fixture(scope="module")
def table(results: Path) -> pandas.DataFrame:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "MEASURED", results / "none")
        return methods.data(results)


def moved(table: pandas.DataFrame, panel: str, by: float) -> pandas.DataFrame:
    """The runs of Clip-Cov and KL-Cov moved against GRPO's."""
    rows = (table["panel"] == panel) & table["rule"].isin(methods.METHODS)
    return table.assign(y=table["y"] + by * rows)


def test_grpo_is_no_distance_from_itself(table: pandas.DataFrame) -> None:
    """Gaps taken between different starts, or to another rule."""
    for panel in ("at equal reward", "at equal entropy", "families", "length"):
        rows = table[(table["panel"] == panel) & (table["rule"] == "GRPO")]
        assert len(rows)
        assert (rows["y"].dropna() == 0).all()
        assert rows["y"].notna().any()


def test_values_at_equal_accuracy_are_read_off_the_curves(table: pandas.DataFrame) -> None:
    """Entropy at another moment than that of the accuracy."""
    gap = table[(table["panel"] == "at equal reward") & (table["rule"] == "Clip-Cov")
                & (table["start"] == 1)].iloc[2]
    at = {}
    for rule in ("GRPO", "Clip-Cov"):
        run = table[(table["rule"] == rule) & (table["start"] == 1) & (table["family"] == gap["family"])]
        reward, entropy = (run[run["panel"] == p].sort_values("x")["y"].to_numpy()
                           for p in ("reward", "entropy"))
        after = int((reward >= gap["x"]).argmax())
        share = (gap["x"] - reward[after - 1]) / (reward[after] - reward[after - 1])
        at[rule] = entropy[after - 1] + share * (entropy[after] - entropy[after - 1])
    assert gap["y"] == pytest.approx(at["Clip-Cov"] - at["GRPO"], abs=1e-12)


def test_length_follows_no_entropy_where_it_pays_nothing(table: pandas.DataFrame) -> None:
    """The claim of the third column: responses get longer."""
    numbers = figure_11.finding(table).numbers
    assert numbers["length: certain gains"] == 0
    assert abs(numbers["length, token trees: Clip-Cov"]) < 0.1


def test_gains_beyond_the_intervals_change_the_verdict(table: pandas.DataFrame) -> None:
    """A verdict typed in instead of derived."""
    more = table
    for panel in ("entropy", "reward"):
        more = moved(more, panel, 9.0)
    assert figure_11.finding(more).verdict == "holds under a condition"
    more = moved(more, "length", 9.0)
    found = figure_11.finding(more)
    assert found.verdict == "holds"
    assert "entropy in 2 of 2, accuracy in 2 of 2 and length in 2 of 2" in found.headline
    less = figure_11.finding(moved(moved(table, "entropy", -9.0), "reward", -9.0))
    assert less.verdict == "core claim fails"


def test_a_curve_that_is_left_is_told(table: pandas.DataFrame) -> None:
    """The referee's question answered without looking."""
    slides = figure_11.finding(table).numbers
    assert slides["above GRPO's curve"] == slides["below GRPO's curve"] == 0  # weak and short
    for by, side in ((9.0, "above"), (-9.0, "below")):
        numbers = figure_11.finding(moved(table, "at equal entropy", by)).numbers
        assert numbers[f"{side} GRPO's curve"] == numbers["comparisons with GRPO's curve"] == 4


def test_transformer_runs_get_a_row(results: Path, tmp_path: Path) -> None:
    """Runs of one rule, or on-policy ones, taken for a comparison."""
    shutil.copytree(results / "simulations", tmp_path / "simulations")
    write_run(tmp_path / "runs" / "g", rule="grpo", entropies=[0.8, 0.1])
    assert not methods.data(tmp_path)["panel"].str.startswith("transformer").any()
    write_run(tmp_path / "runs" / "k", rule="kl-cov", entropies=[0.8, 0.4], options=("ratio=0.02",))
    write_run(tmp_path / "runs" / "other", rule="kl-cov", entropies=[0.8, 9.0], options=("ratio=0.5",))
    table = methods.data(tmp_path)
    runs = table[table["panel"] == "transformer entropy"]
    assert set(runs["rule"]) == {"GRPO", "KL-Cov"}
    assert runs["y"].max() < 1
    assert "GRPO at 0.45 nats" in figure_11.finding(table).text
    axes = figure_11.draw(table).axes
    assert len(axes) == 9
    assert np.sum([bool(panel.lines) for panel in axes]) == 8  # these runs have no lengths


@pytest.mark.parametrize("name", ["grpo-off-policy", "clip-higher", "clip-cov", "kl-cov"])
def test_the_runs_of_the_recipes_are_found(name: str) -> None:
    """A recipe that was changed, and whose runs no figure shows any more."""
    for run in recipes.load(f"gpu-small/{name}").runs.values():
        taken = [choice.values(run.rule, run.rule_options) for choice in methods.RUNS]
        assert sum(values is not None for values in taken) == 1
        assert run.mini_batches == 4
