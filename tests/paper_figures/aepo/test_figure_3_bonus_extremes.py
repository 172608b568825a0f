"""AEPO, Figure 3: collapse, explosion and control, as plotted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from paper_figures.aepo import figure_3_bonus_extremes as figure_3
from tests.paper_figures.conftest import write_run


def test_more_bonus_means_more_entropy_and_less_reward(smoke_results: Path) -> None:
    """Settings and values out of step with each other."""
    table = figure_3.data(smoke_results).query("method == 'bonus'")
    for size in table["right_answers"].unique():
        here = table[table["right_answers"] == size]
        entropy = here[here["panel"] == "entropy"].groupby("setting")["y"].median()
        reward = here[here["panel"] == "reward"].groupby("setting")["y"].median()
        assert entropy.iloc[-1] > entropy.iloc[0]
        assert reward.iloc[-1] < reward.iloc[0]


def test_the_extremes_and_control_are_what_the_verdict_says(smoke_results: Path) -> None:
    """A verdict that does not look at AEPO."""
    table = figure_3.data(smoke_results)
    either = next(one.value for one in figure_3.finding(table).criteria
                  if "either" in one.says and one.where == "with 4 right answers")
    unheld = table.copy()
    unheld.loc[(table["method"] == "aepo") & (table["panel"] == "entropy"), "y"] = 0.0
    assert figure_3.finding(unheld).verdict == "core claim fails"
    extremes = table[table["panel"].isin(figure_3.EXTREMES) & (table["right_answers"] == 4)]
    ended = extremes[extremes["setting"] > 0].groupby(["setting", "start"])["y"].max()
    assert either == pytest.approx(ended.mean())
    one = table.copy()  # a single run in each extreme is not "often"
    one.loc[one["panel"].isin(figure_3.EXTREMES), "y"] = 0.0
    first = one["setting"].isin([one["setting"].max()]) & (one["start"] == 0)
    one.loc[one["panel"].isin(figure_3.EXTREMES) & first, "y"] = 1.0
    assert "with 4 right answers" in figure_3.finding(one).judgment.fails
    table.loc[(table["panel"] == "collapsed") & (table["setting"] > 0), "y"] = 0.0
    found = figure_3.finding(table)  # what collapses without a bonus is none of a bonus' extremes
    assert found.verdict == "core claim fails"


def test_trained_models_get_two_panels(smoke_results: Path, tmp_path: Path) -> None:
    """Coefficients under another one's name; entropy and reward swapped."""
    shutil.copytree(smoke_results / "simulations", tmp_path / "simulations")
    runs = tmp_path / "runs"
    write_run(runs / "a", rule="grpo", entropies=[0.8] * 20)
    write_run(runs / "b", rule="entropy-bonus", entropies=[0.6] * 20, options=("coefficient=0.05",))
    assert figure_3.data(tmp_path)["run_setting"].isna().all()
    write_run(runs / "c", rule="aepo", entropies=[0.5] * 20)
    table = figure_3.data(tmp_path)
    assert [axes.get_ylabel() for axes in figure_3.draw(table).axes[4:]] == [
        "entropy (nats per token)", "reward"]
