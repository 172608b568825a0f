"""Guards paper_figures/extensions/holding_a_target_exactly.py."""

import numpy as np
import pandas

from paper_figures.extensions import holding_a_target_exactly as figure


def test_the_summary_tells_targets_below_the_ceiling_from_those_above(table):
    """A target above log |A*| counted as one that was not held."""
    table = table.copy()
    found = figure.summary(table)
    above = (table["panel"] == "run") & (table["shape"] == "1")
    table.loc[above, "shape"] = "2.3"
    table.loc[above, "out_of_power"] = 0.75
    moved = figure.summary(table)
    assert np.isfinite(found["deviation"]).all()
    assert moved["deviation"].isna().all()
    assert (moved["beyond"] == 0.75).all()


def held(table, off, noise):
    """A table whose controllers are as far off as ``off`` says, or else by 1, over six runs each."""
    runs = pandas.DataFrame([
        {"panel": "run", "controller": name, "learning_rate": 1.0, "shape": shape, "start": start,
         "deviation": off.get(name, 1.0) + noise * (-1) ** i * (start - 1), "reward": 0.9 - 0.1 * i,
         "mean_entropy": 1.0, "steps_to_follow": 9.0, "out_of_power": 0.0}
        for i, name in enumerate(table.loc[table["controller"].notna(), "controller"].unique())
        if name != "target" for shape in ("0.5", "1") for start in range(3)])
    moving = runs[runs["shape"] == "1"].assign(shape="step")
    return pandas.concat([runs, moving, table[table["panel"] == "ceiling"]], ignore_index=True)


def test_the_nearest_is_read_off_the_runs(table):
    """A headline typed in."""
    off = {"forecast, diverse bonus": 0.0058, "forecast, entropy bonus": 0.0065}
    assert [one.met for one in figure.finding(held(table, off, noise=0.0)).criteria] == [True, True]
    off = {"AEPO": 0.001, "integral, entropy bonus": 0.002, **off}
    assert [one.met for one in figure.finding(held(table, off, noise=0.0)).criteria] == [False, False]
