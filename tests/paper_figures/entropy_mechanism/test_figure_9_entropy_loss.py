"""Cui et al., Figure 9: an entropy bonus at several coefficients; and what Figures 9, 10 and 12 share."""

import shutil

import numpy as np
import pandas
import pytest

from paper_figures.entropy_mechanism import figure_9_entropy_loss as figure
from paper_figures.entropy_mechanism import sweeps
from tests.paper_figures.conftest import judged, write_run


def changed(table, quantity, by):
    """The runs of the largest coefficient moved, but for their starts."""
    rows = (table["strength"] == table["strength"].max()) & (table["quantity"] == quantity)
    return table.assign(value=table["value"] + by * (rows & (table["step"] > 0)))


def test_explosion_and_a_gain_change_the_verdict(table):
    """A gain without its interval; an entropy held at its start called an explosion."""
    exploded = changed(table, "entropy", 2.0)
    assert judged(figure, table) == {"tabular": "not seen"}  # the smoke size does not explode
    assert judged(figure, exploded) == {"tabular": "seen"}
    row = sweeps.effects(table).iloc[-1]
    barely = changed(table, "entropy", row["entropy_first"] + 0.01 - row["entropy_last"])
    assert judged(figure, barely) == {"tabular": "not seen"}
    assert judged(figure, changed(exploded, "reward", 0.2)) == {"tabular": "not seen"}
    wide = exploded.copy()  # starts that differ so much that nothing is ruled out
    rows = (wide["quantity"] == "reward") & (wide["strength"] > 0)
    wide["value"] += 0.2 * rows * np.where(wide["start"] % 2, 1, -1)
    assert judged(figure, wide) == {"tabular": "undecided"}


def test_a_small_bonus_that_stops_the_collapse_is_no_reproduction(table):
    """The paper's small coefficients change little; only the absent one was looked at."""
    exploded = changed(table, "entropy", 2.0)
    small = exploded[exploded["strength"] == 0].assign(strength=1e-3)
    later = (small["quantity"] == "entropy") & (small["step"] > 0)
    held = small.assign(value=small["value"] + 1.0 * later)
    assert judged(figure, pandas.concat([exploded, small])) == {"tabular": "seen"}
    assert judged(figure, pandas.concat([exploded, held])) == {"tabular": "not seen"}


def test_transformer_runs_get_a_column_and_enter_the_verdict(results, tmp_path):
    """A run that is drawn and not judged, or one seed that decides."""
    shutil.copytree(results / "simulations", tmp_path / "simulations")
    write_run(tmp_path / "runs" / "b", rule="entropy-bonus", entropies=[0.8, 0.9, 2.0],
              options=("coefficient=0.05",))
    assert sweeps.families(figure.data(tmp_path)) == [("tabular", "five right")]
    write_run(tmp_path / "runs" / "g", rule="grpo", entropies=[0.8, 0.3, 0.1])
    table = figure.data(tmp_path)
    setting = "small-sums on split, 3 steps, CPU"
    assert sweeps.families(table)[1:] == [("transformer", setting)]
    found = figure.finding(table)
    assert judged(figure, table)["0.8M transformer"] == "undecided"
    rise = next(one for one in found.criteria if "rise" in one.says and setting in one.where)
    assert (rise.threshold, rise.number.value) == (figure.EXPLODED, pytest.approx(0))
    # Three steps are fewer than the five of a mean.
    axes = sweeps.draw(table).axes
    assert len(axes) == 4
    assert all(panel.lines for panel in axes)


def test_gains_are_of_seeds_that_were_run_without_a_bonus_too(table):
    """A model's runs with other seeds for each coefficient: no gain is to be had, and nothing fails."""
    one = table[table["start"] == 0].assign(world=sweeps.TRANSFORMER, family="model")
    zero, more = (one[(one["strength"] == 0) == none] for none in (True, False))
    single = pandas.concat([table, zero, more, more.assign(start=1, value=9.0)])
    effects = sweeps.effects(single)
    assert effects.loc[effects["world"] == sweeps.TRANSFORMER, "reward_last"].max() <= 1
    apart = pandas.concat([table, zero, more.assign(start=1)])
    assert set(sweeps.effects(apart)["world"]) == {sweeps.TABULAR}
    assert judged(figure, apart) == judged(figure, table)
