"""AEPO, Table 3: ablations and targets."""

import pytest
import xarray

from paper_figures.aepo import table_3_ablations as figure

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
