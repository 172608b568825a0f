"""AEPO, Table 2: pass@k before and after training."""

import numpy as np
import pytest
import xarray

from paper_figures.aepo import table_2_pass_at_k as figure
from tests.paper_figures.conftest import judged, outcomes


def test_the_numbers_are_those_of_the_simulation(table, results):
    """The base after training, or k and step mixed up."""
    dataset = xarray.load_dataset(results / "simulations" / "pass_at_k.nc")
    mean = dataset.pass_at_k.mean("right_answers").sel(sharing=0.5, start=1)
    rows = table[(table["sharing"] == 0.5) & (table["start"] == 1)].set_index(["panel", "rule", "x"])["y"]
    assert rows["k", "base", 8] == pytest.approx(float(mean.sel(rule="AEPO", k=8).isel(step=0)))
    assert rows["k", "AEPO", 8] == pytest.approx(float(mean.sel(rule="AEPO", k=8).isel(step=-1)))
    assert rows["step", "GRPO", 20] == pytest.approx(float(mean.sel(rule="GRPO", k=1024, step=20)))


def test_the_verdict_follows_differences_beyond_their_interval(table):
    """A verdict typed in instead of derived, or by the sign of a mean."""
    end = (table["panel"] == "k") & (table["x"] == 1024) & (table["sharing"] == 0.5)
    base = table.loc[end & (table["rule"] == "base"), "y"].to_numpy()
    noise = np.resize([0.1, -0.09], len(base))  # above the base in the mean, by less than its interval
    for grpo, aepo, found in (
        (base - 0.1, base + 0.1, ["seen", "seen"]),
        (base - 0.1, base + noise, ["seen", "undecided"]),
        (base - noise, base + 0.1, ["undecided", "seen"]),
        (base + 0.1, base - 0.1, ["not seen", "not seen"]),
    ):
        table.loc[end & (table["rule"] == "GRPO"), "y"] = grpo
        table.loc[end & (table["rule"] == "AEPO"), "y"] = aepo
        assert outcomes(figure, table, "with shared parameters") == found
        if found == ["seen", "seen"]:  # not where logits are their own
            assert judged(figure, table) == {"tabular": "seen in part"}
