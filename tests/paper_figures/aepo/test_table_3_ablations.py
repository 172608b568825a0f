"""AEPO, Table 3: ablations and targets."""

import numpy as np
import pytest
import xarray

from paper_figures.aepo import table_3_ablations as figure
from tests.paper_figures.conftest import judged, outcomes

NEEDED = ("aepo_ablations", "entropy_against_performance")


def test_the_base_average_is_shown_beside_the_right_one(table):
    """37.66 is printed, the row's mean is 32.56, as in Table 1."""
    targets = figure.tables(table)[0]
    assert targets.rows[0][-2:] == ("37.66 (printed)", "32.56")


def test_cells_are_those_of_the_simulation(table, results):
    """A target's pass@1 under another one's name."""
    dataset = xarray.load_dataset(results / "simulations" / f"{NEEDED[1]}.nc")
    cell = dataset.pass_at_k.sel(family="rare", passing=2, k=1, target=0.5).isel(step=-1).mean("start")
    rows = table[table["panel"] == "targets"].set_index(["column", "x"])["y"]
    assert rows["rare, 2 pass", 0.5] == pytest.approx(100 * float(cell))


def test_the_verdict_follows_the_numbers(table):
    """Reward compared with AEPO's where the paper has GRPO's, or without its interval; one right answer,
    where no target can be held, counted against AEPO."""
    exact, reward = table["panel"] == "exact", table["panel"] == "reward"
    table.loc[exact & (table["row"] == "AEPO"), "y"] = table.attrs["target"]
    table.loc[exact & table["row"].isin(["ablation (2)", "ablation (3)"]), "y"] = 0.0
    table.loc[exact & (table["row"] == "AEPO") & (table["column"] == 1), "y"] = 0.0
    table.loc[reward, "y"] = 0.9 + 0.001 * table.loc[reward, "start"]
    table.loc[reward & (table["row"] == "AEPO"), "y"] += 0.1
    assert outcomes(figure, table, "for reward") == ["not seen"] * 2
    assert judged(figure, table) == {"tabular": "seen in part"}
    ablated = reward & table["row"].str.startswith("ablation", na=False)
    noise = table.assign(y=table["y"] + ablated * np.where(table["start"] % 2, 0.05, -0.1))
    assert outcomes(figure, noise, "for reward") == ["undecided"] * 2
    table.loc[ablated, "y"] -= 0.1
    assert judged(figure, table) == {"tabular": "seen"}
    table.loc[exact, "y"] = table.attrs["target"]
    assert "not seen" in outcomes(figure, table, "right answers: entropy")
