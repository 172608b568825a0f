"""Cui et al., Figure 7: the law's coefficients against size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas
import pytest
import xarray

from paper_figures.entropy_mechanism import figure_7_coefficients_by_size as figure
from tests.paper_figures.entropy_mechanism.runs import write_curve

PRETRAINED = figure.STAND_INS["features"]


@pytest.fixture(scope="module")
def results(simulated: Callable[..., Path]) -> Path:
    return simulated("performance_law_coefficients")


@pytest.fixture
def table(results: Path) -> pandas.DataFrame:
    return figure.data(results)


def test_parameters_move_the_coefficients_and_knowledge_does_not(table: pandas.DataFrame) -> None:
    """The finding: stand-ins mixed up."""
    numbers = figure.finding(table).numbers
    assert numbers[f"{PRETRAINED}: b change"] > 5 * abs(numbers["knowledge: b change"])
    assert numbers[f"{PRETRAINED}: a change"] > 2 * abs(numbers["knowledge: a change"])
    # The line goes on where nothing is left to be reached.
    assert numbers[f"{PRETRAINED}: b announcement error"] > 0
    assert numbers[f"{PRETRAINED}: ceiling announced"] > 1


def test_lines_are_those_of_the_experiment(table: pandas.DataFrame, results: Path) -> None:
    """Sizes, or coefficients, of another stand-in."""
    dataset = xarray.load_dataset(results / "simulations" / "performance_law_coefficients.nc")
    numbers = figure.finding(table).numbers
    for key, name in figure.STAND_INS.items():
        one = dataset.sel(stand_in=key)
        for c in figure.COEFFICIENTS:
            x, y = np.log(one.capacity_size.values), one[f"capacity_{c}"].mean("start").values
            assert numbers[f"{name}: {c} R^2"] == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2, abs=1e-9)
            announced = np.polyval(np.polyfit(x[:-1], y[:-1], 1), x[-1])
            assert numbers[f"{name}: {c} announcement error"] == pytest.approx(
                announced - y[-1], abs=1e-9)


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
