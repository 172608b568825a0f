"""Guards the reader of training logs: each form and engine, restarts, units, damage, names asked for."""

import gzip
import json
import random
from pathlib import Path

import numpy as np
import pytest

from entropy_theory.training_logs.lines import number
from entropy_theory.training_logs.logs import read
from entropy_theory.training_logs.names import QUANTITIES, engines, recognize

WRITTEN = Path(__file__).parent / "written_logs"
VERL = "step:{0} - actor/entropy:np.float64({1}) - critic/score/mean:{2} - timing_s/reward:1.5"
ENTROPY = [0.5, 0.4, 0.3, 0.25, 0.2]
REWARD = [0.1, 0.2, 0.4, 0.5, 0.55]
ROWS = list(zip(range(1, 6), ENTROPY, REWARD, strict=True))


def written(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


def only(path, **asked):
    (run,) = read([path], asked)
    return run


def assert_whole(run, entropy="entropy", reward="reward"):
    for quantity, values in ((entropy, ENTROPY), (reward, REWARD)):
        np.testing.assert_array_equal(run.series[quantity].value, values)
        assert run.series[quantity].step.tolist() == [1, 2, 3, 4, 5]


FORMS = {
    "verl's console": "Training:  0%|   | 0/5\r\nNot a record: step\n" + "\n".join(
        "\x1b[36m(TaskRunner pid=41, ip=10.0.0.1)\x1b[0m " + VERL.format(*row) for row in ROWS),
    "several in a line": " ".join(VERL.format(*row) for row in ROWS),
    "TRL's console": "\n".join(
        f"{{'loss': '0.0', 'entropy': {h}, 'reward': '{r}', 'kl': nan, 'step': {s}}} 5/9 [00:01]"
        for s, h, r in ROWS),
    "dictionaries after a bar": "\n".join(
        f" 12%|#  | 5/40 {{'entropy': np.float64({h}), 'reward': {r}, 'step': {s}}}" for s, h, r in ROWS),
    "concatenated JSON": "".join(json.dumps({"step": s, "entropy": h, "reward": r}) for s, h, r in ROWS),
    "JSON over several lines": json.dumps(
        [{"step": s, "entropy": h, "reward": r} for s, h, r in ROWS], indent=2),
    "a notebook's table": "Step\tTraining Loss\treward\tentropy\n" + "\n".join(
        f"{s}\t0.0\t{r}\t{h}" for s, h, r in ROWS),
    "Markdown": "Here is my log:\n\n| Step | reward | entropy |\n|---|:---:|---|\n" + "\n".join(
        f"| {s} | {r} | {h} |" for s, h, r in ROWS),
    "an issue's table": "Step | reward | entropy\n-- | -- | --\n" + "\n".join(
        f"{s} | {r} | {h}" for s, h, r in ROWS),
    "spaces": "step  mean reward  entropy\n" + "\n".join(
        f"   {s}     {r}        {h}" for s, h, r in ROWS),
    "decimal commas": "step;entropy;reward\n" + "\n".join(
        f"{s};{h};{r}".replace(".", ",") for s, h, r in ROWS),
    "decimal commas in quotes": "step,entropy,reward\n" + "\n".join(
        f'{s},"{h}","{r}"'.replace(".", ",") for s, h, r in ROWS),
    "names with numbers": "\n".join(
        f"12:01:07 SUCCESS Step {s} | 3.5s | Reward: {r} | Entropy {h} | Loss 0.1" for s, h, r in ROWS),
    "equals": "\n".join(f"[INFO] step={s} entropy={h} reward={r}" for s, h, r in ROWS),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_text(tmp_path, form):
    assert_whole(only(written(tmp_path / "log.txt", FORMS[form])))


@pytest.mark.parametrize("packed", ["utf-8-sig", "utf-16", "gzip"])
def test_encodings(tmp_path, packed):
    text = FORMS["verl's console"]
    data = gzip.compress(text.encode()) if packed == "gzip" else text.encode(packed)
    (tmp_path / "log").write_bytes(data)
    assert_whole(only(tmp_path / "log"))


def test_a_cut_gzip_file_is_read_up_to_there(tmp_path):
    noise = random.Random(0)
    text = "\n".join(
        json.dumps({"step": s, "entropy": 1.0, "reward": noise.random()}) for s in range(5000))
    (tmp_path / "log.gz").write_bytes(gzip.compress(text.encode())[:30_000])
    run = only(tmp_path / "log.gz")
    assert 1000 < len(run.series["reward"].value) < 5000
    assert "is damaged after line" in run.notes[0]


def test_mlflow(tmp_path):
    metrics = tmp_path / "mlruns" / "0" / "abc" / "metrics"
    (metrics / "train").mkdir(parents=True)
    (metrics.parent / "meta.yaml").write_text("run_name: a")
    for name, column in (("entropy", 1), ("reward", 2)):
        (metrics / "train" / name).write_text("".join(f"17000 {row[column]} {row[0]}\n" for row in ROWS))
    assert_whole(only(tmp_path / "mlruns"))


def unpacked(folder, name):
    """A log that its own library wrote."""
    path = folder / name.removesuffix(".gz")
    path.write_bytes(gzip.decompress((WRITTEN / name).read_bytes()))
    return path


@pytest.mark.parametrize("name", ["mlflow-3.17.db.gz", "trackio-0.43.db.gz"])
def test_a_database_holds_runs_with_the_values_that_were_logged(tmp_path, name):
    runs = read([unpacked(tmp_path, name)])
    assert sorted(run.name for run in runs) == ["a", "b"]
    for run in runs:
        assert run.series["entropy"].step.tolist() == list(range(1, 13))
        np.testing.assert_array_equal(run.series["entropy"].value, [0.5 / s for s in range(1, 13)])
        kept = [s for s in range(1, 13) if not (name.startswith("mlflow") and s == 3)]  # logged as nan
        assert run.series["reward"].step.tolist() == kept
        np.testing.assert_array_equal(run.series["reward"].value, [1 - 1 / s for s in kept])


@pytest.mark.parametrize("version", ["0.17", "0.31"])
def test_a_run_file_of_wandb_is_read_without_its_package(tmp_path, version):
    """0.17 wrote it in Python, 0.31 in Go; the later crosses a block of 32 KiB."""
    path = unpacked(tmp_path, f"wandb-{version}.wandb.gz")
    for place in (path, tmp_path):
        run = only(place)
        assert run.notes == ()
        steps = np.arange(1, 121)
        for quantity, values in (("entropy", 0.5 / steps), ("reward", 1 - 1 / steps)):
            np.testing.assert_array_equal(run.series[quantity].value, values)
        assert run.series["score"].column == "val-core/gsm8k/acc/mean@1"
        np.testing.assert_array_equal(run.series["score"].step, steps[9::10])


@pytest.mark.parametrize("damage", [lambda data: data[:20_000], lambda data: data[:20_000] + b"?" * 2000])
def test_a_damaged_run_file_of_wandb_is_read_up_to_there(tmp_path, damage):
    path = unpacked(tmp_path, "wandb-0.17.wandb.gz")
    path.write_bytes(damage(path.read_bytes()))
    run = only(path)
    assert 60 < len(run.series["entropy"].value) < 120
    assert "is damaged, or was being written" in run.notes[0]


def test_the_log_of_a_folder_of_checkpoints_is_in_the_last(tmp_path):
    for last in (3, 5):
        (tmp_path / f"checkpoint-{last}").mkdir()
        written(tmp_path / f"checkpoint-{last}" / "trainer_state.json", json.dumps(
            {"log_history": [{"step": s, "entropy": h, "reward": r} for s, h, r in ROWS[:last]]}))
    assert_whole(only(tmp_path))


@pytest.mark.parametrize(("text", "value"), [
    ("0.5", 0.5), (" 44 % ", 0.44), ("1,024", 1024), ("np.float64(2e-3)", 2e-3), ("tensor(0.25)", 0.25),
    ("tensor(0.25, device='cuda:0')", 0.25), ("", None), ("No Log", None), ("abc", None), ([1], None),
])
def test_numbers(text, value):
    assert number(text) == value


# ------------------------------------------------------------------ names


@pytest.mark.parametrize("engine", engines())
def test_each_engine_is_recognized_by_its_own_names(engine):
    """A name of the table stands for the quantity that the table says, in a log of that engine."""
    columns = engines()[engine].columns
    names = [column.name.replace("*", "data") for column in columns]
    found = recognize([*names, "timing_s/reward", "perf/time", "reward/max", "entropy/std"])
    assert found.engine == engine
    for column, name in zip(columns, names, strict=True):
        assert column.quantity in QUANTITIES
        assert name in found.columns[column.quantity], column
    assert not any("time" in name or "timing" in name for own in found.columns.values() for name in own)


def test_what_is_held_out_is_no_training_reward():
    found = recognize(["entropy", "eval/reward", "val/accuracy", "reward_std", "time/reward"])
    assert "reward" not in found.columns
    assert found.columns["score"] == ("eval/reward", "val/accuracy")


def test_runners_up_are_named(tmp_path):
    rows = [{"step": s, "actor/entropy": h, "critic/score/mean": r, "critic/rewards/mean": r - 0.1}
            for s, h, r in ROWS]
    run = only(written(tmp_path / "log", "\n".join(map(json.dumps, rows))))
    assert run.engine == "verl"
    assert run.series["reward"].column == "critic/score/mean"
    assert run.series["reward"].runners_up == ("critic/rewards/mean",)
    named = only(tmp_path / "log", reward="critic/rewards/mean")
    assert named.series["reward"].column == "critic/rewards/mean"
    with pytest.raises(ValueError, match="unknown column 'critic/reward/mean'"):
        read([tmp_path / "log"], {"reward": "critic/reward/mean"})


def test_a_sum_over_the_response_is_no_entropy_per_token(tmp_path):
    rows = [{"step": s, "entropy": 200 * h, "completions/mean_length": 200, "reward": r}
            for s, h, r in ROWS]
    run = only(written(tmp_path / "log", "\n".join(map(json.dumps, rows))))
    assert run.series["entropy_sum"].column == "entropy"
    # One multiplication and one division of float64 each round by at most 2^-53.
    np.testing.assert_allclose(run.series["entropy"].value, ENTROPY, rtol=4 * 2.0**-53)
    assert run.series["entropy"].column == "entropy / completions/mean_length"


# ------------------------------------------------------------------ runs


def lines(steps, offset=0.0):
    return "".join(
        json.dumps({"step": s, "entropy": 1 + offset, "reward": s + offset}) + "\n" for s in steps)


def test_a_step_that_goes_far_back_begins_a_run_and_one_that_goes_back_a_little_resumes(tmp_path):
    run = only(written(tmp_path / "resumed", lines(range(1, 21)) + lines(range(15, 31), 0.5)))
    assert run.restarts == (15,)
    np.testing.assert_array_equal(run.series["reward"].value, np.r_[1:15, np.arange(15, 31) + 0.5])
    first, second = read([written(tmp_path / "again", lines(range(1, 21)) + lines(range(1, 9), 0.5))])
    assert (first.name, second.name) == ("run 1", "run 2")
    assert (len(first.series["reward"].value), len(second.series["reward"].value)) == (20, 8)


def test_records_in_no_order_are_one_run(tmp_path):
    steps = random.Random(1).sample(range(40), 40)
    run = only(written(tmp_path / "log", lines(steps)))
    assert run.restarts == ()
    np.testing.assert_array_equal(run.series["reward"].value, np.arange(40))


def test_a_late_validation_is_no_restart(tmp_path):
    """verl logs a validation in a record of its own, which may come after the next step's."""
    text = "".join(VERL.format(s, 0.5, s) + "\n" + (f"step:{s - 1} - val-core/a/reward/mean@1:0.3\n"
                                                    if s % 5 == 0 else "") for s in range(1, 31))
    run = only(written(tmp_path / "log", text))
    assert run.restarts == ()
    assert len(run.series["reward"].value) == 30
    assert run.series["score"].step.tolist() == [4, 9, 14, 19, 24, 29]


@pytest.mark.parametrize(("steps", "digits"), [(1000, 2), (1000, 6), (1, 0)])
def test_fractions_of_epochs_are_no_steps(tmp_path, steps, digits):
    """Transformers prints no step, and epochs with two digits: 9 of 10 records were lost."""
    text = "".join(f"{{'entropy': {1 / s}, 'reward': 0.5, 'epoch': {round(s / steps, digits)}}}\n"
                   for s in range(1, 101))
    run = only(written(tmp_path / "log", text))
    np.testing.assert_array_equal(run.series["entropy"].value, 1 / np.arange(1, 101))
    np.testing.assert_array_equal(run.series["entropy"].step, np.arange(1, 101))
    assert any("steps here are numbers of records" in note for note in run.notes) == (steps > 1)


def test_settings_that_a_run_prints_are_no_records(tmp_path):
    """Verl prints its settings over a hundred lines: none is a record that is cut, or has no step."""
    settings = "{'actor': {'clip': 0.1,\n  'optim': {'betas': 2.0}},\n {'entropy_coeff': 0.001,\n"
    run = only(written(tmp_path / "log", settings + FORMS["verl's console"]))
    assert run.notes == ()
    assert_whole(run)


def test_cut_lines_are_counted(tmp_path):
    text = lines(range(1, 9)) + '{"step": 9, "entr\n' + lines(range(10, 13))
    run = only(written(tmp_path / "log", text))
    assert len(run.series["reward"].value) == 11
    assert run.notes == (f"{tmp_path / 'log'}: 1 records are cut off and left out (line 9)",)


@pytest.mark.parametrize(("values", "taken"), [
    ((0.0, 0.0, 0.0), True), ((1e-8, -2e-9, 3e-9), False), ((1e-8, 0.0, 0.5), True)])
def test_a_reward_that_is_0_is_a_reward_and_one_of_rounding_errors_is_centred(tmp_path, values, taken):
    """A run whose reward is always 0, read as one that logs none."""
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps({"step": step, "loss": 0.1, "reward": value}) + "\n"
                           for step, value in enumerate(values)))
    (run,) = read([log])
    assert ("reward" in run.series) is taken
