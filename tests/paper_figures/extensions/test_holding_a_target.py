"""Guards paper_figures/extensions/holding_a_target.py."""

import numpy as np
import pandas
import pytest
from scipy import stats

from paper_figures.data import inputs
from paper_figures.extensions import holding_a_target as figure
from tests.paper_figures.extensions.held_runs import record, write

FORECAST = "forecast, diverse bonus"


@pytest.fixture
def written(tmp_path):
    """Results with runs of one's own, none of which came with the repository."""
    write(tmp_path / "holding-a-target", [
        *(record("AEPO", seed, 0.1 + 0.1 * (seed == 0)) for seed in range(5)),
        *(record(FORECAST, seed, 0.05, reward=0.6) for seed in range(6)),
        record("wide forecast, diverse bonus", 0, 0.01, reward=0.1, steps_to_follow=None)])
    return tmp_path


def test_numbers_are_those_of_the_runs(written):
    """Means over seeds mixed up, a seed that one alone has, or praise for bounds that cost the reward."""
    table = figure.data(written)
    held = table[(table["panel"] == "held") & (table["controller"] == "AEPO") & (table["seed"] == 0)]
    np.testing.assert_allclose(held.sort_values("target")["entropy"], [0.6, 1.0])
    figure.draw(table).draw_without_rendering()
    step, distance, *_ = figure.tables(table)
    assert step.rows[0] == ("AEPO", "0.92 ± 0.02", "0.120 ± 0.020", "0.50", "0.52 ± 0.02",
                            "0.120 ± 0.020", "0.50", "3 (5 of 5)")
    assert distance.rows == (("split: 0.8, then 0.4 (5 seeds)", "0.120 ± 0.020", "0.050"),)


def test_many_comparisons_are_corrected_for():
    """One of two that chance alone would set apart in one of twenty, told apart by p = .04."""
    noise = np.array([0.02, -0.02, 0.02, -0.02, 0.01])
    noise -= noise.mean()
    error = noise.std(ddof=1) / 5**0.5
    found = figure.behind(pandas.DataFrame({
        "near": 0.1, "far": 0.2 + noise, "chance": 0.1 + 2.999 * error + noise,
        "like": 0.1 + 2.999 * error - noise}))
    # p of t = 2.999 with four degrees of freedom is .04; times 2 for the second of three, who is no less
    # likely than the last.
    np.testing.assert_allclose(found.loc[["chance", "like"], "p"], 0.08, atol=1e-4)
    assert found.loc["far", "p"] < 0.01
    assert np.isnan(found.loc["near", "p"])


def held(name, low, deviation, reward):
    """Runs whose entropies are .3 at the first step and each step, at a target that rests."""
    runs = [record(name, seed, -0.1 + 0.001 * seed, shape="constant", low=low, reward=reward,
                   deviation=deviation + 0.001 * seed) for seed in range(3)]
    for run in runs:
        run["series"]["target"] = [low] * 20
    return runs


def test_targets_above_the_start_are_ranked_by_themselves(tmp_path):
    """A lead at targets above where the runs begin, taken for a lead at all targets; its price unsaid."""
    write(tmp_path / "holding-a-target", [
        run for name, low, deviation, reward in (
            ("AEPO", 0.8, 0.5, 0.7), (FORECAST, 0.8, 0.1, 0.2), ("AEPO", 0.9, 0.6, 0.7),
            (FORECAST, 0.9, 0.2, 0.2), ("AEPO", 0.2, 0.1, 0.4), (FORECAST, 0.2, 0.2, 0.3))
        for run in held(name, low, deviation, reward)])
    table = figure.data(tmp_path)
    # Runs that are told apart by their entropies, as they would be by what controls them.
    curve = (table["panel"] == "curve") & (table["step"] > 0)
    table.loc[curve, "entropy"] += 0.01 * table.loc[curve, "low"]
    assert figure.are_above_start(table).to_dict() == {
        "split: 0.2": False, "split: 0.8": True, "split: 0.9": True}
    found = figure.finding(table)
    assert [(one.where, one.met) for one in found.criteria] == [
        (figure.ABOVE, False), (figure.ABOVE, False), (figure.OTHERS, True), (figure.OTHERS, True)]


def test_seeds_are_the_units_that_are_told_apart(tmp_path):
    """Two settings taken for two units, of one degree of freedom, which told nothing apart; or each
    setting at a seed for a unit, where settings of a seed are off alike."""
    noise = np.array([0.02, -0.02, 0.02, -0.02, 0.01])
    noise -= noise.mean()
    above = 3 * noise.std(ddof=1) / 5**0.5
    write(tmp_path / "holding-a-target", [
        run for seed in range(5) for shape, far in (("ramp", 0.1), ("sine", -0.05)) for run in (
            record("AEPO", seed, 0.1, shape=shape),
            record(FORECAST, seed, 0.1 + above + far * above + noise[seed], shape=shape))])
    order = figure.nearest(figure.data(tmp_path))
    assert tuple(order.loc[FORECAST, ["settings", "seeds"]]) == (2, 5)
    # The mean of the settings is 1.025 of three errors: Student's t is 3.075, of four degrees of freedom.
    assert order.loc[FORECAST, "p"] == pytest.approx(2 * stats.t.sf(3.075, 4))


def test_the_nearest_is_chosen_over_the_settings_that_it_is_compared_over(tmp_path):
    """One chosen over three settings, of which two are one, that is farther than another over the two."""
    off = {"AEPO": (0.1, 0.1, 0.4), FORECAST: (0.2, 0.2, 0.25)}
    write(tmp_path / "holding-a-target", [
        record(name, seed, 0.1 + 0.01 * (name == FORECAST), shape=shape, low=low, deviation=deviation)
        for name, deviations in off.items() for seed in range(3)
        for shape, low, deviation in zip(
            ("constant", "constant", "ramp"), (0.4, 0.3, 0.4), deviations, strict=True)])
    found = figure.nearest(figure.data(tmp_path))
    assert list(found.index) == [FORECAST, "AEPO"]  # .225 and .25; over three settings .217 and .2
    np.testing.assert_allclose(found["deviation"], (0.225, 0.25))
    np.testing.assert_allclose(found["behind"], (0, 0.025), atol=1e-12)
    assert (found["settings"] == 2).all()


def test_few_cells_rank_nothing(written):
    table = figure.data(written)
    assert figure.finding(table[table["seed"] < 4]).standing == "awaits runs"


def test_a_pretrained_model_is_told_from_the_small_one(written):
    """Runs of SmolLM2 among the small transformer's, which it says they are."""
    write(written / "measured" / "holding-a-target-chain-sum-seed0", [
        record("AEPO", 0, 0.1, task="chain-sum", learning_rate=5e-6)])
    for model, kind, said in (
            ("small-sums", "small transformer", "12 training runs of small-sums"),
            ("smollm2-135m-instruct", "pretrained model", "1 training run of smollm2-135m-instruct")):
        with inputs.reading(written) as read:
            shown = figure.data(written, model).attrs["inputs"]
        assert read.evidence(shown) == (kind,)
        assert said in read.described(shown)


def test_settings_count_alike_and_only_where_all_have_run(written):
    """A setting of many seeds that outweighs others; one that an interrupted comparison gave to one."""
    write(written / "holding-a-target-more", [
        *(record(name, seed, off, shape="ramp") for seed in range(4)
          for name, off in (("AEPO", 0.02), (FORECAST, 0.03))),
        record("AEPO", 0, 0.3, shape="sine")])
    order = figure.nearest(figure.data(written))
    # The fifth seed lacks a setting: four are ranked, of which AEPO is .2 off in one and .1 in three.
    assert order.loc["AEPO", "seeds"] == 4
    assert order.loc["AEPO", "deviation"] == pytest.approx((0.125 + 0.02) / 2)
    assert order.loc[FORECAST, "deviation"] == pytest.approx((0.05 + 0.03) / 2)
