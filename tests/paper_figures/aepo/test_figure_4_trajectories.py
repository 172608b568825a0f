"""AEPO, Figure 4: which rules keep entropy, as plotted."""

import xarray

from paper_figures.aepo import figure_4_trajectories as figure
from tests.paper_figures.conftest import write_run


def test_lines_are_those_of_their_rule(table, results):
    """GRPO is the bonus of 0, Entropy-Reg the paper's; AEPO's lowest entropy before it came down."""
    dataset = xarray.load_dataset(results / "simulations" / "aepo_figure_3.nc")
    curves = table[(table["panel"] == "curve") & (table["right_answers"] == 4) & (table["start"] == 1)]
    last = curves[curves["x"] == curves["x"].max()].set_index("rule")["y"]
    expected = dataset.sel(right_answers=4, start=1).isel(step=-1)
    assert last["GRPO"] == float(expected.bonus_entropy.sel(coefficient=0.0))
    assert last["Entropy-Reg"] == float(expected.bonus_entropy.sel(coefficient=0.015))
    assert last["Entropy-Adv"] == float(expected.shaped_entropy)
    assert last["AEPO"] == float(expected.aepo_entropy.sel(target=0.25))
    curve = dataset.aepo_entropy.sel(right_answers=4, start=1, target=0.25).values
    lowest = table[(table["panel"] == "lowest") & (table["right_answers"] == 4) & (table["start"] == 1)]
    assert lowest["y"].item() == curve[(curve <= 0.25).argmax():].min()


def test_the_verdict_follows_the_numbers(table):
    """A verdict typed in instead of derived."""
    aepo = (table["panel"] == "tail") & (table["rule"] == "AEPO")
    lowest = table["panel"] == "lowest"
    held = table.copy()
    held.loc[aepo | lowest, "y"] = table.attrs["target"]
    assert figure.finding(held).verdict == "holds"
    dips = held.copy()
    dips.loc[lowest, "y"] = figure.NEAR
    assert figure.finding(dips).verdict == "holds"
    dips.loc[lowest, "y"] = 0.0  # what collapses and comes back is not kept throughout training
    assert figure.finding(dips).verdict == "core claim fails"
    lost = table.copy()
    lost.loc[aepo, "y"] = 0.0
    assert figure.finding(lost).verdict == "core claim fails"


def test_a_run_that_misses_its_target_enters_the_verdict(simulated, tmp_path):
    """A run at .23 nats under a target of .5 that is drawn and changes nothing."""
    (tmp_path / "simulations").symlink_to(simulated("aepo_figure_3") / "simulations")
    for task, end in (("split", 0.47), ("sum", 0.23)):
        falling = [0.9] * 5 + [0.2] * 35
        write_run(tmp_path / "runs" / f"g-{task}", rule="grpo", entropies=falling, task=task)
        write_run(tmp_path / "runs" / f"a-{task}", rule="aepo", entropies=[end] * 40, task=task)
    judgment = figure.finding(figure.data(tmp_path)).judgment
    assert "on small-sums on split, 40 steps, CPU" in judgment.holds
    assert "on small-sums on sum, 40 steps, CPU" in judgment.fails
