"""Training runs for figures: which are taken, and what is read off them."""

import json

import pandas
import pytest
from matplotlib.figure import Figure

from paper_figures.data.training_curves import (
    CONSTANT,
    Choice,
    draw_curves,
    ends,
    evenly,
    first,
    labels,
    one,
    read,
    settings,
    smoothed,
    told_apart,
)
from tests.paper_figures.conftest import write_run

GRPO = Choice(label="GRPO", rule="grpo")
TARGETS = Choice(label="target {target:g}", rule="aepo", free=("target",))
CLIP_COV = Choice(label="Clip-Cov", rule="clip-cov", options={"ratio": 0.01, "base.clip_low": 1.0})


@pytest.mark.parametrize(("choice", "rule", "texts", "values"), [
    (GRPO, "grpo", (), {}),
    (GRPO, "grpo", ("clip_high=0.2", "dynamic_sampling=false"), {}),  # typed out, but the default
    (GRPO, "grpo", ("clip_high=0.28",), None),
    (GRPO, "grpo", ("an_option_of_last_year=1",), None),
    (GRPO, "aepo", (), None),
    (TARGETS, "aepo", ("alpha=1.0",), {"target": 0.5}),
    (TARGETS, "aepo", ("target=0.25", "ablation=none"), {"target": 0.25}),
    (TARGETS, "aepo", ("target=0.25", "ablation=untempered"), None),
    (CLIP_COV, "clip-cov", ("ratio=0.01", "base=grpo", "base.clip_low=1.0"), {}),
    (CLIP_COV, "clip-cov", ("ratio=0.01",), None),
    (CLIP_COV, "clip-cov", ("ratio=0.01", "base=gspo", "base.clip_low=1.0"), None),
])
def test_a_choice_takes_runs_whose_other_options_are_the_defaults(choice, rule, texts, values):
    """An ablation averaged into its rule's curve; a default that was typed out and is not found."""
    assert choice.values(rule, texts) == values


def test_runs_compare_where_all_but_rule_and_seed_agree(tmp_path, no_measured_runs):
    """Curves of different lengths or machines averaged; the smaller setting first."""
    write_run(tmp_path / "runs" / "a", rule="grpo", entropies=[1.0, 0.5])
    for seed in (0, 1):
        write_run(no_measured_runs / f"g{seed}", rule="grpo", entropies=[1.0, 0.4, 0.2], seed=seed,
                  device="a GPU")
    write_run(no_measured_runs / "t", rule="aepo", entropies=[1.0, 0.6, 0.6], device="a GPU",
              options=("target=0.6",))
    write_run(tmp_path / "runs" / "z", rule="aepo", entropies=[9.0, 9.0], status="running")
    table = read(tmp_path, [GRPO, TARGETS])
    assert settings(table) == [
        "small-sums on split, 3 steps, a GPU", "small-sums on split, 2 steps, CPU",
    ]
    assert set(table.attrs["inputs"]) == {"a", "g0", "g1", "t"}
    gpu = one(table, settings(table)[0], "entropy")
    assert labels(gpu) == ["target 0.6", "GRPO"]  # without a strength: last
    assert gpu.query("label == 'target 0.6'")["strength"].unique() == [0.6]
    assert settings(read(tmp_path, [GRPO, TARGETS], least=2)) == settings(table)[:1]
    assert settings(read(tmp_path, [GRPO], measured=False)) == settings(table)[1:]
    assert read(tmp_path, [GRPO], model="other").empty
    assert ends(read(tmp_path, [GRPO], model="other")).empty


@pytest.mark.parametrize(("options", "titles"), [
    ([{"learning_rate": 0.1}, {"learning_rate": 0.2}],
     [f"small-sums on split, 2 steps, CPU, learning rate {rate}" for rate in (0.1, 0.2)]),
    ([{"model": "x/a/m"}, {"model": "x/b/m"}, {"model": "n"}],
     [f"{model} on split, 2 steps, CPU" for model in ("a/m", "b/m", "n")]),
    ([{"data": "a/split.jsonl"}, {"data": "b/split.jsonl"}, {"data": None}],
     [f"small-sums on {task}, 2 steps, CPU" for task in ("a/split", "b/split", "split")]),
])
def test_settings_of_one_name_are_told_apart(tmp_path, options, titles):
    """Two learning rates, checkpoints or files of prompts under one title, and so in one panel."""
    for i, changed in enumerate(options):
        folder = tmp_path / "runs" / str(i)
        write_run(folder, rule="grpo", entropies=[1.0, 0.5])
        description = json.loads((folder / "run.json").read_text())
        description["options"] |= changed
        (folder / "run.json").write_text(json.dumps(description))
    assert settings(read(tmp_path, [GRPO])) == titles


def test_names_have_as_many_folders_as_tell_them_apart():
    """One name within another; names that differ in their suffix alone."""
    names = ("m", "x/m", "y/x/m", "Qwen2.5-7B", "Qwen2.5-1.5B")
    assert list(told_apart(names).values()) == ["m", "x/m", "y/x/m", "Qwen2.5-7B", "Qwen2.5-1.5B"]
    assert list(told_apart(("a/s.json", "a/s.jsonl", "t.x.json"), files=True).values()) == [
        "a/s.json", "a/s.jsonl", "t.x"]


def test_runs_that_differ_in_a_free_option_are_lines_of_their_own(tmp_path):
    """Seeds of two settings averaged, or the second setting of a seed dropped, under one label."""
    choice = Choice(label="AEnt", rule="aent", free=("coefficient", "entropy_high", "warm_up_steps"))
    write_run(tmp_path / "runs" / "a", rule="aent", entropies=[1.0], options=("warm_up_steps=5",))
    assert labels(read(tmp_path, [choice])) == ["AEnt"]
    for seed in (0, 1):
        write_run(tmp_path / "runs" / f"b{seed}", rule="aent", entropies=[1.0], seed=seed,
                  options=("warm_up_steps=5", "entropy_high=0.3"))
    table = read(tmp_path, [choice])
    assert table.groupby("label", sort=False)["run"].nunique().to_dict() == {
        "AEnt, entropy high 0.24": 1, "AEnt, entropy high 0.3": 2}


def test_the_first_setting_comes_with_its_own_provenance(tmp_path):
    """Runs that are not drawn named as what a figure was made of."""
    for name, rule, steps in (("a", "grpo", 3), ("b", "grpo", 2), ("c", "aepo", 2)):
        write_run(tmp_path / "runs" / name, rule=rule, entropies=[1.0] * steps)
    table = read(tmp_path, [GRPO, TARGETS])
    assert set(first(table).attrs["inputs"]) == set(first(table)["run"]) == {"b", "c"}
    assert set(table.attrs["inputs"]) == {"a", "b", "c"}
    assert first(read(tmp_path, [GRPO], model="other")).attrs["inputs"] == {}


def test_a_committed_run_of_the_same_setting_gives_way_to_the_users(tmp_path, no_measured_runs):
    """One run counted as two seeds."""
    write_run(tmp_path / "runs" / "mine", rule="grpo", entropies=[1.0, 0.5])
    write_run(no_measured_runs / "theirs", rule="grpo", entropies=[1.0, 0.7])
    table = read(tmp_path, [GRPO])
    assert ends(table).query("metric == 'entropy'")["seeds"].tolist() == [1]
    assert list(table.attrs["inputs"]) == ["mine"]


def test_ends_are_means_of_tenths_and_their_spread_is_that_of_seeds(tmp_path):
    """Means over the wrong steps; a spread over steps taken for one over seeds."""
    for seed, last in ((0, 0.1), (1, 0.3)):
        write_run(tmp_path / "runs" / f"g{seed}", rule="grpo", seed=seed,
                  entropies=[1.0] * 2 + [0.5] * 16 + [last] * 2)
    row = ends(read(tmp_path, [GRPO])).query("metric == 'entropy'").iloc[0]
    assert row[["first", "last", "low", "high"]].tolist() == pytest.approx([1.0, 0.2, 0.1, 0.3])
    assert row["seeds"] == 2
    constant = ends(read(tmp_path, [GRPO])).set_index("metric").loc[CONSTANT]
    assert constant["last"] == 0.125


def test_smoothing_stays_within_a_run(tmp_path):
    """One seed's end mixed into the next one's start."""
    for seed, level in ((0, 1.0), (1, 3.0)):
        write_run(tmp_path / "runs" / f"g{seed}", rule="grpo", seed=seed, entropies=[level] * 9)
    table = smoothed(read(tmp_path, [GRPO])).query("metric == 'entropy'")
    assert table.groupby("seed")["value"].agg(["min", "max"]).to_numpy().tolist() == [[1, 1], [3, 3]]


def test_smoothing_does_not_lag(tmp_path):
    """A mean over the steps before, which shows a fall of entropy later than it was."""
    falling = [1.0 - 0.1 * step for step in range(9)]
    write_run(tmp_path / "runs" / "g", rule="grpo", entropies=falling)
    table = smoothed(read(tmp_path, [GRPO])).query("metric == 'entropy'")
    assert table["value"].tolist()[2:-2] == pytest.approx(falling[2:-2])


def test_curves_have_a_band_where_there_are_seeds(tmp_path):
    """A single run that looks like a mean."""
    write_run(tmp_path / "runs" / "g0", rule="grpo", entropies=[1.0, 0.5])
    write_run(tmp_path / "runs" / "g1", rule="grpo", entropies=[1.0, 0.7], seed=1)
    write_run(tmp_path / "runs" / "a", rule="aepo", entropies=[1.0, 0.9])
    table = read(tmp_path, [GRPO, TARGETS])
    panel = Figure().subplots()
    draw_curves(panel, one(table, settings(table)[0], "entropy"))
    assert len(panel.lines) == 2
    assert len(panel.collections) == 1
    assert sorted(text.get_text() for text in panel.texts) == ["GRPO", "target 0.5"]
    assert {tuple(line.get_ydata()) for line in panel.lines} == {(1.0, 0.6), (1.0, 0.9)}


def test_of_more_lines_than_looks_the_ends_and_some_between_are_drawn():
    """The strongest runs dropped without a word."""
    assert evenly(range(20), 4) == [0, 6, 13, 19]
    assert evenly("ab", 4) == ["a", "b"]
    assert evenly([], 4) == []
    curves = pandas.DataFrame([
        {"label": f"{i}", "strength": i, "seed": 0, "step": step, "value": 0.1 * i}
        for i in range(9) for step in (1, 2)
    ])
    panel = Figure().subplots()
    draw_curves(panel, curves)
    shown = {text.get_text() for text in panel.texts}
    assert len(shown) == len(panel.lines) == 7
    assert {"0", "8"} < shown
