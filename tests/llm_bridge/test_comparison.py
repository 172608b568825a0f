"""Guards llm_bridge/analysis/comparison.py: numbers by hand, and runs that do not compare."""

import csv
import json
import re

import numpy as np
import pytest

from llm_bridge import __main__ as main
from llm_bridge.analysis import comparison
from llm_bridge.running.run_folder import RunRecord

OPTIONS = {"model": "small-sums", "task": "split", "data": None, "rule": "grpo", "rule_options": [],
           "seed": 0, "output": "x", "samples": 8}


def write(folder, entropy, *, status="finished", evaluation=None, **options):
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps({
        "options": {**OPTIONS, "output": str(folder), **options}, "status": status,
        "constant_answer_reward": 0.125,
    }))
    change = np.diff(entropy, append=entropy[-1])
    records = [
        {"step": i + 1, "entropy": float(h), "reward": float(0.9 - 0.2 * np.exp(h)),
         "forecast_entropy_change": float(2 * c), "temperature": None, "coefficient": 0.5 + i,
         "seconds": 2.0, "distinct_answers": 3.0}
        for i, (h, c) in enumerate(zip(entropy, change, strict=True))
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    if evaluation:
        (folder / "evaluation.json").write_text(json.dumps(evaluation))
    return folder


EVALUATION = {"pass@1": 0.25, "pass@2": 0.5, "pass@16": 0.75,
              "intervals": {"pass@1": [0.2, 0.3], "pass@2": [0.4, 0.6], "pass@16": [0.7, 0.8]}}


def test_a_summary_by_hand(tmp_path):
    entropy = 1.0 - 0.9 * (np.arange(40) / 40) ** 2
    (run,) = comparison.read(write(tmp_path / "a", entropy, evaluation=EVALUATION))
    found = comparison.summary(run)
    assert found["entropy_first"] == pytest.approx(entropy[:4].mean())
    assert found["entropy_last"] == pytest.approx(entropy[-4:].mean())
    assert found["reward_last"] == pytest.approx((0.9 - 0.2 * np.exp(entropy[-4:])).mean())
    assert found["ceiling"] == pytest.approx(0.7)  # b - a
    assert found["forecast_correlation"] == pytest.approx(1)
    assert (found["pass@1"], found["largest_k"], found["pass@largest_k"]) == (0.25, 16, 0.75)
    assert found["temperature_last"] is None
    assert found["coefficient_last"] == pytest.approx(0.5 + 37.5)
    assert (found["steps"], found["seconds_a_step"], found["constant_answer"]) == (40, 2.0, 0.125)


def run(steps, name=""):
    return RunRecord(
        name=name, folder=None, options={}, status="", constant_answer_reward=None, steps=steps,
        evaluation=None, audit=None, provenance=None)


def test_what_moved_entropy_is_added_up():
    """Over the accounted steps alone, part by part; a part that a step lacks did nothing there."""
    steps = [
        {"step": 1, "measured_entropy_change": -0.3, "accounted": -0.25, "accounted/momentum": -0.2,
         "entropy_gradient": -0.5},
        {"step": 2, "entropy_gradient": -0.1},
        {"step": 3, "measured_entropy_change": 0.1, "accounted": 0.125, "accounted/momentum": 0.05,
         "accounted/weight_decay": 0.01},
    ]
    first = run(steps, name="a")
    found = comparison.accounts(first)
    assert found == pytest.approx(
        {"measured": -0.2, "accounted": -0.125, "momentum": -0.15, "weight_decay": 0.01}, abs=1e-15)
    plain = run(steps[1:2], name="b")
    assert comparison.accounts(plain) == {}
    ((_, (said, table)),) = comparison._accounts([first, plain])
    assert "2 of a, 0 of b" in said
    assert table.rows[-1] == ["weight decay", 0.01, None]
    assert comparison._accounts([plain]) == []


def test_the_forecast_is_held_against_the_next_step():
    """Not the last one, not across a gap in the log, not where there is none."""
    entropy = [1.0, 0.8, 0.9, 0.4, 0.6, 0.5]
    steps = [{"step": i, "entropy": h, "forecast_entropy_change": f}
             for i, (h, f) in enumerate(zip(entropy, [-0.2, 0.1, -0.5, 0.2, None, 9.0], strict=True))]
    assert comparison.forecast_correlation(run(steps)) == pytest.approx(1)
    for step in steps[3:]:
        step["step"] += 7
    steps.insert(0, {"step": -1, "entropy": 1.1, "forecast_entropy_change": -0.1})
    steps[3]["forecast_entropy_change"] = 77.0  # the step before the gap
    assert comparison.forecast_correlation(run(steps)) == pytest.approx(1)
    assert comparison.forecast_correlation(run(steps[:3])) is None


def test_the_command_writes_what_it_prints(tmp_path, monkeypatch, capsys):
    entropy = np.linspace(1.0, 0.2, 30)
    runs = [write(tmp_path / "a", entropy, evaluation=EVALUATION),
            write(tmp_path / "b", 0.5 + 0 * entropy, rule="aepo", rule_options=["target=<0.5>"],
                  status="running")]
    main.compare([*map(str, runs), "--output", str(tmp_path / "out"), "--json", str(tmp_path / "found")])
    printed = capsys.readouterr().out
    assert re.search(r"entropy last\s+0\.2276\s+0\.5", printed)
    assert re.search(r"rule\s+grpo\s+aepo", printed)
    with (tmp_path / "out" / "comparison.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["run"] for row in rows] == ["a", "b"]
    assert float(rows[0]["entropy_last"]) == pytest.approx(entropy[-3:].mean())
    assert rows[1]["pass@1"] == ""
    assert [row["pass@1"] for row in json.loads((tmp_path / "found").read_text())] == [
        EVALUATION["pass@1"], None]
    with (tmp_path / "out" / "steps.csv").open() as file:
        steps = list(csv.DictReader(file))
    assert len(steps) == 60
    assert float(steps[45]["entropy"]) == 0.5
    text = (tmp_path / "out" / "comparison.html").read_text()
    assert "<script" not in text
    assert not re.search(r"(src|href)=.?http", text)
    assert "target=&lt;0.5&gt;" in text
    # Where and how a run was watched is no difference.
    assert "output" not in re.sub(r"<style>.*?</style>", "", text, flags=re.S)
    assert text.count('<img src="data:image/svg+xml;base64,') >= 5


def test_runs_that_do_not_compare_are_refused_and_explained(tmp_path):
    entropy = np.linspace(1.0, 0.2, 12)
    runs = [write(tmp_path / "a", entropy), write(tmp_path / "b", entropy, task="sum"),
            write(tmp_path / "c", entropy, model="other", seed=4)]
    read = comparison.read_all(runs)
    with pytest.raises(ValueError, match=r"model: a small-sums, b small-sums, c other; task: a split, "
                                         r"b sum, c split\): leave some out, or give --allow-different"):
        comparison.check_comparable(read)
    comparison.check_comparable(read[:1])
    assert comparison.differences([read[0], read[2]]) == {
        "model": ["small-sums", "other"], "seed": [0, 4]
    }
    table = comparison.compare_command(comparison.CompareConfig(
        runs=tuple(runs), output=tmp_path / "out", allow_different=True))
    assert len(table) == 3
    assert "do not compare" in (tmp_path / "out" / "comparison.html").read_text()


def test_folders_that_are_no_runs(tmp_path):
    with pytest.raises(ValueError, match=r"holds no log"):
        comparison.read(tmp_path)
    a = write(tmp_path / "x" / "run", np.linspace(1, 0, 5))
    b = write(tmp_path / "y" / "run", np.linspace(1, 0, 5))
    assert [run.name for run in comparison.read_all([a, b])] == [str(a), str(b)]
    with pytest.raises(ValueError, match="named twice"):
        comparison.read_all([a, a])
    (a / "metrics.jsonl").write_text("")
    with pytest.raises(ValueError, match="no step"):
        comparison.read(a)


def test_logs_of_any_trainer_stand_beside_our_runs(tmp_path, capsys):
    """Columns by their engines' names; what a log lacks is left empty, and its model is not known."""
    verl = tmp_path / "verl.log"
    verl.write_text("".join(
        f"step:{i} - actor/entropy:{1 - i / 50:.3f} - critic/score/mean:{i / 40:.3f} - "
        f"response_length/mean:{100 + i} - timing_s/reward:9.125\n" for i in range(1, 41)))
    trl = tmp_path / "trl.csv"
    trl.write_text("step,reward\n" + "".join(f"{i},{i / 100}\n" for i in range(1, 31)))
    own = write(tmp_path / "own", np.linspace(1.0, 0.2, 30))
    main.compare([str(verl), str(trl), str(own), "--output", str(tmp_path / "out"),
                  "--json", str(tmp_path / "found")])
    first, second, third = json.loads((tmp_path / "found").read_text())
    assert [row["run"] for row in (first, second, third)] == ["verl.log", "trl.csv", "own"]
    assert (first["engine"], first["rule"], third["rule"]) == ("verl", None, "grpo")
    assert first["entropy_last"] == pytest.approx(np.mean([1 - i / 50 for i in range(37, 41)]))
    assert first["response_entropy_first"] == pytest.approx(
        np.mean([(1 - i / 50) * (100 + i) for i in range(1, 5)]))
    assert (second["entropy_last"], second["ceiling"]) == (None, None)
    assert second["reward_last"] == pytest.approx(0.29)
    text = (tmp_path / "out" / "comparison.html").read_text()
    assert "not known from logs" in text
    assert "verl.log: entropy is &#39;actor/entropy&#39;, reward is &#39;critic/score/mean&#39;" in text
    assert "9.125" not in (tmp_path / "out" / "steps.csv").read_text()


def test_the_runs_of_one_log_have_labels_of_their_own(tmp_path):
    """A relaunch appended to a file is a second run; two files of one name are told apart by folder."""
    lines = "".join(f'{{"step": {i}, "entropy": 0.5, "reward": 0.1}}\n' for i in range(1, 21))
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "log.jsonl").write_text(lines * (1 if folder == "a" else 2))
    paths = [tmp_path / "a" / "log.jsonl", tmp_path / "b" / "log.jsonl"]
    assert [run.name for run in comparison.read_all(paths)] == [
        str(paths[0]), f"{paths[1]}, run 1", f"{paths[1]}, run 2"]
    with pytest.raises(ValueError, match="has none of entropy, reward"):
        (tmp_path / "c.csv").write_text("step,loss\n1,2\n2,3\n")
        comparison.read(tmp_path / "c.csv")
