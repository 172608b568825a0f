"""AEPO, Figure 4: which rules keep entropy, as plotted."""

import pandas
import xarray

from paper_figures.aepo import figure_4_trajectories as figure
from tests.paper_figures.conftest import judged, outcomes, write_run


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
    """A bare majority of few starts that decides; one right answer, where no target can be held."""
    target = table.attrs["target"]
    table = pandas.concat([table.assign(start=table["start"] + k * 100) for k in range(8)],
                          ignore_index=True)
    table.attrs["target"] = target
    aepo = (table["panel"] == "tail") & (table["rule"] == "AEPO")
    lowest = table["panel"] == "lowest"
    table.loc[(table["panel"] == "tail") & ~aepo, "y"] = 0.0
    table.loc[aepo | lowest, "y"] = table.attrs["target"]
    table.loc[(aepo | lowest) & (table["right_answers"] == 1), "y"] = 0.0
    assert judged(figure, table) == {"tabular": "seen"}
    for lows, verdict in ((figure.NEAR, "seen"), (0.0, "not seen")):
        table.loc[lowest, "y"] = lows  # what collapses and comes back is not kept throughout training
        assert judged(figure, table) == {"tabular": verdict}
    table.loc[lowest & (table["start"] % 2 > 0), "y"] = 0.5  # in half of the starts
    assert judged(figure, table) == {"tabular": "undecided"}


def test_runs_are_judged_by_their_seeds(simulated, tmp_path):
    """A run at .23 nats under a target of .5 that is drawn and changes nothing; one seed that decides."""
    (tmp_path / "simulations").symlink_to(simulated("aepo_figure_3") / "simulations")
    for seed, verdict in ((0, "undecided"), (1, "seen in part")):
        for task, end in (("split", 0.47), ("sum", 0.23)):
            for rule, entropies in (("grpo", [0.9] * 5 + [0.2] * 35), ("aepo", [end] * 40)):
                write_run(tmp_path / "runs" / f"{rule}-{task}-{seed}", rule=rule, entropies=entropies,
                          task=task, seed=seed)
        table = figure.data(tmp_path)
        assert judged(figure, table)["0.8M transformer"] == verdict
    assert outcomes(figure, table, "small-sums on sum, 40 steps, CPU: distance") == ["not seen"]
