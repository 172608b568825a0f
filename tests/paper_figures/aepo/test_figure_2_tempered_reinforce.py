"""AEPO, Figure 2: temperature and the direction of entropy, as plotted."""

from __future__ import annotations

from pathlib import Path

from paper_figures.aepo import figure_2_tempered_reinforce as figure_2


def test_a_wrong_sign_on_solved_prompts_is_no_reproduction(smoke_results: Path) -> None:
    """A verdict typed in instead of derived."""
    table = figure_2.data(smoke_results)
    table.loc[table["panel"] == "rate", "y"] *= -1
    found = figure_2.finding(table)
    assert found.verdict == "core claim fails"
