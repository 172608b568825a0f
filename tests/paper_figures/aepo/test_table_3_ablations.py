"""AEPO, Table 3: ablations and targets."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pandas
import pytest
import xarray

from paper_figures.aepo import table_3_ablations as figure
from tests.paper_figures.conftest import write_run

NEEDED = ("aepo_ablations", "entropy_against_performance")


@pytest.fixture
def table(simulated: Callable[..., Path]) -> pandas.DataFrame:
    return figure.data(simulated(*NEEDED))


def test_ablations_end_far_below_aepo(table: pandas.DataFrame) -> None:
    """Claims aepo.ablation-2, aepo.ablation-3: neither raises entropy again."""
    ends = figure.final_entropy(table)
    assert ends.loc["ablation (2)", 8] < ends.loc["AEPO", 8] / 2
    assert ends.loc["ablation (3)", 8] < ends.loc["AEPO", 8] / 2
    assert (ends[1] < 0.2).all()


def test_the_base_average_is_shown_beside_the_right_one(table: pandas.DataFrame) -> None:
    """37.66 is printed, the row's mean is 32.56, as in Table 1."""
    targets = figure.tables(table)[0]
    assert targets.rows[0][-2:] == ("37.66 (printed)", "32.56")


def test_ablations_are_printed_below_aepo(table: pandas.DataFrame) -> None:
    """Printed: 51.31 and 51.56, 2.56 and 2.31 below 53.87."""
    printed = {row[0]: float(row[8]) for row in figure.tables(table)[1].rows}
    assert [round(53.87 - value, 2) for value in printed.values()] == [2.56, 2.31]


def test_cells_are_those_of_the_simulation(
    table: pandas.DataFrame, simulated: Callable[..., Path]
) -> None:
    """A target's pass@1 under another one's name."""
    dataset = xarray.load_dataset(simulated(*NEEDED) / "simulations" / f"{NEEDED[1]}.nc")
    cell = dataset.pass_at_k.sel(family="rare", passing=2, k=1, target=0.5).isel(step=-1).mean("start")
    rows = table[table["panel"] == "targets"].set_index(["column", "x"])["y"]
    assert rows["rare, 2 pass", 0.5] == pytest.approx(100 * float(cell))


def test_the_verdict_follows_the_numbers(table: pandas.DataFrame) -> None:
    """A verdict typed in instead of derived; reward compared with AEPO's where the paper has GRPO's; the
    column with one right answer left out."""
    changed = table.copy()
    exact = changed["panel"] == "exact"
    changed.loc[exact & (changed["row"] == "AEPO"), "y"] = table.attrs["target"]
    changed.loc[exact & changed["row"].isin(["ablation (2)", "ablation (3)"]), "y"] = 0.0
    reward = changed["panel"] == "reward"
    changed.loc[reward, "y"] = 0.9 + 0.001 * changed.loc[reward, "start"]
    assert figure.finding(changed).verdict == "core claim fails"
    changed.loc[reward & (changed["row"] == "AEPO"), "y"] += 0.1
    assert figure.finding(changed).verdict == "core claim fails"
    worse = reward & changed["row"].str.startswith("ablation", na=False)
    changed.loc[worse, "y"] -= 0.1
    found = figure.finding(changed)
    assert found.verdict == "holds"
    changed.loc[exact & (changed["row"] == "AEPO") & (changed["column"] == 1), "y"] = 0.0
    assert figure.finding(changed).judgment.fails == ("for entropy, with one right",)
    changed.loc[exact, "y"] = table.attrs["target"]
    assert figure.finding(changed).judgment.holds == ()


def test_trained_ablations_get_a_table(simulated: Callable[..., Path], tmp_path: Path) -> None:
    (tmp_path / "simulations").mkdir()
    for name in NEEDED:
        shutil.copy(simulated(*NEEDED) / "simulations" / f"{name}.nc", tmp_path / "simulations")
    runs = tmp_path / "runs"
    write_run(runs / "a", rule="aepo", entropies=[0.5] * 20, options=("target=0.25",))
    write_run(runs / "g", rule="grpo", entropies=[0.2] * 20, task="sum")
    write_run(runs / "h", rule="aepo", entropies=[0.5] * 20, task="sum")
    none = figure.data(tmp_path)  # GRPO and AEPO alone say nothing of ablations
    assert none[none["panel"] == "training"].empty
    assert not any("small-sums" in one.where for one in figure.finding(none).criteria)
    write_run(runs / "b", rule="aepo", entropies=[0.1] * 20, options=("ablation=untempered",))
    last = figure.tables(figure.data(tmp_path))[-1]
    assert last.title.startswith("small-sums on split")
    entropies = {row[0]: row[1:3] for row in last.rows}
    assert entropies == {"AEPO, target 0.25": ("1", "0.500"),
                         "AEPO without temperature (2)": ("1", "0.100")}
