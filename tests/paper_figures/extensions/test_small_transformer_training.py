"""Guards paper_figures/extensions/figure.py: which runs, and what they ended with."""


from paper_figures.extensions import small_transformer_training as figure
from tests.paper_figures.conftest import write_run


def test_ends_are_means_of_the_first_and_last_tenth(tmp_path):
    """Means over the wrong steps, or rules swapped."""
    falling = [1.0] * 20 + [0.5] * 60 + [0.1] * 20
    write_run(tmp_path / "runs" / "g", rule="grpo", entropies=falling)
    write_run(tmp_path / "runs" / "a", rule="aepo", entropies=[1.0] * 20 + [0.5] * 80)
    found = figure.finding(figure.data(tmp_path))
    assert [one.met for one in found.criteria] == [True, True, True]


def test_a_target_that_is_not_held_is_judged_so(tmp_path):
    """Entropy that falls all the same, heated at every step, called held; a start that is GRPO's."""
    falling, aepo = [0.4] * 20 + [0.2] * 80, tmp_path / "runs" / "a"
    write_run(tmp_path / "runs" / "g", rule="grpo", task="sum", entropies=falling)
    write_run(aepo, rule="aepo", task="sum", entropies=[0.3] * 20 + falling[20:])
    table = figure.data(tmp_path)
    found = figure.finding(table)
    assert set(table.attrs["inputs"]) == {"g", "a"}
    assert [one.met for one in found.criteria] == [True, False, False]


def test_unfinished_measured_and_other_runs_are_left_out(tmp_path, no_measured_runs):
    """Runs of other settings averaged into a curve."""
    write_run(tmp_path / "runs" / "ok", rule="grpo", entropies=[1.0, 0.5], seed=7)
    write_run(tmp_path / "runs" / "going", rule="grpo", entropies=[9.0], status="running")
    write_run(tmp_path / "runs" / "other", rule="grpo", entropies=[9.0], model="owner/name")
    write_run(tmp_path / "runs" / "alpha", rule="aepo", entropies=[9.0], options=("alpha=2",))
    write_run(no_measured_runs / "gpu", rule="grpo", entropies=[9.0, 9.0], device="a GPU")
    table = figure.data(tmp_path)
    assert set(table["seed"]) == {7}
    assert table["value"].max() < 9


def test_a_line_cut_off_by_a_kill_is_ignored(tmp_path):
    """A killed run that breaks the report."""
    write_run(tmp_path / "runs" / "g", rule="grpo", entropies=[1.0, 0.5])
    with (tmp_path / "runs" / "g" / "metrics.jsonl").open("a") as log:
        log.write('{"step": 3, "entr')
    assert figure.data(tmp_path)["step"].max() == 2
