"""Cui et al., Figure 7: the law's coefficients against size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas
import pytest

from paper_figures.entropy_mechanism import figure_7_coefficients_by_size as figure
from tests.paper_figures.entropy_mechanism.runs import write_curve

PRETRAINED = figure.STAND_INS["features"]


@pytest.fixture(scope="module")
def results(simulated: Callable[..., Path]) -> Path:
    return simulated("performance_law_coefficients")


@pytest.fixture
def table(results: Path) -> pandas.DataFrame:
    return figure.data(results)


def test_other_coefficients_change_the_verdict(table: pandas.DataFrame) -> None:
    """A verdict typed in."""
    line = np.log(table["size"].astype(float))
    table[["a", "b"]] = np.stack([0.1 * line, 0.2 * line], axis=1)
    assert figure.finding(table).verdict == "holds"
    table[["a", "b"]] = np.stack([(line - line.mean()) ** 2, np.sin(40 * line)], axis=1)
    assert figure.finding(table).verdict == "core claim fails"


def test_each_coefficient_is_judged_by_itself(table: pandas.DataFrame) -> None:
    """A verdict on b printed of a."""
    table["a"] = 0.1 * np.log(table["size"].astype(float)) + 0.1
    found = figure.finding(table)
    assert {one.says.split("line's ")[1][0]: one.met for one in found.criteria
            if one.where == f"for {PRETRAINED}" and "error" in one.says} == {"a": True, "b": False}


def test_transformers_of_several_widths_get_a_column(results: Path, tmp_path: Path) -> None:
    """Fewer than three sizes drawn as a line; coefficients of one size under another."""
    for width, start in ((32, 1.0), (64, 0.9)):
        write_curve(tmp_path, results, entropy=np.linspace(start, 0.1, 60), model=f"x/hidden-{width}",
                    name=f"{width}")
    assert set(figure.data(tmp_path)["stand_in"]) == set(figure.STAND_INS.values())
    entropy = np.linspace(1.0, 0.1, 60)
    write_curve(tmp_path, results, entropy=entropy, reward=1.4 - 0.4 * np.exp(entropy),
                model="x/hidden-128", name="128")
    table = figure.data(tmp_path)
    mean = figure.means(table, figure.MODELS)
    # Means over 5 steps of 0.015 nats leave the law by a tenth of their square.
    assert mean["b"].to_dict() == pytest.approx({32.0: 1.2, 64.0: 1.2, 128.0: 1.4}, abs=0.005)
    assert len(figure.draw(table).axes) == 6
