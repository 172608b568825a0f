"""Guards training_log.py and what it reads logs with: formats, bad logs, nothing lost in silence."""

import builtins
import json

import numpy as np
import pytest
from torch.utils.tensorboard import SummaryWriter

from entropy_theory.performance_law.forecast import forecast
from entropy_theory.performance_law.report import as_text
from entropy_theory.performance_law.training_log import read

STEPS = np.arange(1, 13)
ENTROPY = np.round(1.5 * np.exp(-STEPS / 4), 6)
REWARD = np.round(0.9 - 0.1 * np.exp(ENTROPY), 6)


def records(**names):
    """One record a step; names of the columns can be chosen."""
    step, entropy, reward = (names.get(n, n) for n in ("step", "entropy", "reward"))
    return [{step: int(s), entropy: float(h), reward: float(r)}
            for s, h, r in zip(STEPS, ENTROPY, REWARD, strict=True)]


def json_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def table(path, header, rows, delimiter=","):
    lines = [header, *([str(cell) for cell in row] for row in rows)]
    path.write_text("".join(delimiter.join(line) + "\n" for line in lines))
    return path


def rows():
    return list(zip(STEPS, ENTROPY, REWARD, strict=True))


def tensorboard(folder, tags, steps=STEPS):
    with SummaryWriter(str(folder)) as writer:
        for tag, values in tags.items():
            for step, value in zip(steps, values, strict=True):
                writer.add_scalar(tag, value, int(step))
    return folder


def assert_whole(run, *, rounded=False, note=None):
    np.testing.assert_array_equal(run.step, STEPS)
    # TensorBoard stores float32.
    accuracy = 1e-6 if rounded else 0
    np.testing.assert_allclose(run.entropy, ENTROPY, rtol=accuracy)
    np.testing.assert_allclose(run.performance, REWARD, rtol=accuracy)
    if note is None:
        assert run.notes == ()
    else:
        assert any(note in line for line in run.notes), run.notes


# ------------------------------------------------------------------ formats


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv(tmp_path, delimiter):
    log = table(tmp_path / "log.csv", ["Step", "entropy", "loss", "reward"],
                [(s, h, "x", r) for s, h, r in rows()], delimiter)
    assert_whole(read([log]))
    log.write_bytes(b"\xef\xbb\xbf" + log.read_bytes().replace(b"\n", b"\r\n"))
    assert_whole(read([log]))


def test_our_metrics_and_the_folder_that_holds_them(tmp_path):
    own = [{**r, "forecast_entropy_change": -0.1, "clamped_entropy": 0.3, "coefficient": None,
            "ceiling_doubts": ["a"], "entropy_token_mean": r["entropy"] + 1} for r in records()]
    log = json_lines(tmp_path / "metrics.jsonl", own)
    tensorboard(tmp_path / "tensorboard", {"train/entropy": ENTROPY + 1, "train/reward": REWARD})
    assert_whole(read([log]))
    assert_whole(read([tmp_path]))
    assert read([log], entropy="entropy_token_mean").entropy[0] == pytest.approx(ENTROPY[0] + 1)


@pytest.mark.parametrize(("engine", "entropy", "reward", "beside"), [
    ("verl", "actor/entropy", "critic/score/mean",
     {"timing_s/reward": 1.5, "critic/rewards/mean": 0.4, "critic/score/max": 1.0,
      "val-core/openai/gsm8k/reward/mean@1": 0.2, "perf/time_per_step": 9.0}),
    ("verl before 0.4", "actor/entropy_loss", "critic/score/mean",
     {"critic/rewards/mean": 0.4, "critic/rewards/max": 1.0, "actor/entropy_coeff": 0.0}),
    ("slime", "train/entropy_loss", "rollout/raw_reward", {"rollout/rewards": 1e-8}),
    ("TRL's PPO", "policy/entropy_avg", "objective/scores",
     {"objective/entropy": 109.0, "objective/rlhf_reward": -0.1, "objective/non_score_reward": -0.1}),
    ("TRL's GRPO", "entropy", "reward",
     {"reward_std": 0.4, "rewards/format/mean": 1.0, "eval_reward": 0.2, "step_time": 3.0}),
    ("TRL in W&B", "train/entropy", "train/reward", {"eval/reward": 0.2, "eval/entropy": 0.1}),
    ("SkyRL", "policy/policy_entropy", "reward/avg_raw_reward",
     {"reward/mean_positive_reward": 0.3, "reward/avg_pass_at_8": 0.3, "loss/avg_final_rewards": 0.2}),
    ("prime-rl", "entropy/all/mean", "train/all/gsm8k/reward/mean",
     {"entropy/all/std": 0.1, "entropy/all/max": 4.0}),
    ("hand-made", "entropy", "reward", {"time/reward": 1.0, "reference/entropy": 2.0}),
])
def test_the_columns_of_engines_are_those_of_training(tmp_path, engine, entropy, reward, beside):
    """Seconds of scoring, centred rewards, sums over an answer and validation were read."""
    rows = [{**beside, **row} for row in records(entropy=entropy, reward=reward)]
    for form in (rows, [{"step": row["step"], "data": {**row, "step": 0}} for row in rows]):
        run = read([json_lines(tmp_path / "log.jsonl", form)], step="step")
        assert_whole(run)
        assert (run.entropy_name, run.performance_name) == (
            entropy, reward), engine


def test_a_column_that_was_not_read_is_named(tmp_path):
    rows = [{**row, "critic/rewards/mean": 0.0} for row in records(reward="critic/score/mean")]
    run = read([json_lines(tmp_path / "log.jsonl", rows)])
    assert run.others == {"entropy": (), "performance": ("critic/rewards/mean",)}
    text = as_text(run, forecast(run.entropy, run.performance))
    assert f"H from {ENTROPY[0]:.4g} to {ENTROPY[-1]:.4g}\n" in text
    assert "not read: 'critic/rewards/mean' (--performance NAME)" in text


def test_nested_records_a_list_of_them_and_a_trainer_state(tmp_path):
    nested = [{"step": r.pop("step"), "data": r}
              for r in records(entropy="actor/entropy", reward="critic/score/mean")]
    run = read([json_lines(tmp_path / "verl.jsonl", nested)])
    assert_whole(run)
    assert run.performance_name == "critic/score/mean"
    (tmp_path / "list.json").write_text(json.dumps(records(), indent=1))
    assert_whole(read([tmp_path / "list.json"]))
    (tmp_path / "trainer_state.json").write_text(
        json.dumps({"global_step": 12, "log_history": [*records(), {"step": 12, "train_runtime": 3.0}]}))
    assert_whole(read([tmp_path / "trainer_state.json"]))


def test_a_checkpoint_is_the_trainer_state_in_it(tmp_path):
    """transformers leaves one in every checkpoint; what a run logs elsewhere comes first."""
    state = tmp_path / "trainer_state.json"
    state.write_text(json.dumps({"log_history": records()}))
    assert_whole(read([tmp_path]))
    state.write_text(json.dumps({"log_history": records()[:5]}))
    json_lines(tmp_path / "metrics.jsonl", records())
    assert_whole(read([tmp_path]))


def test_tensorboard_events(tmp_path):
    folder = tensorboard(tmp_path / "run", {"train/entropy": ENTROPY, "train/reward": REWARD,
                                            "eval/reward": 1 - REWARD, "train/loss": REWARD})
    run = read([folder])
    assert_whole(run, rounded=True)
    assert run.performance_name == "train/reward"  # of the same folder as the entropy
    (file,) = folder.iterdir()
    assert_whole(read([file]), rounded=True)


@pytest.mark.parametrize("damage", [
    lambda data: data[:-30], lambda data: data[:-300] + bytes(300),
    lambda data: data[:-150] + bytes([data[-150] ^ 255]) + data[-149:],
], ids=["cut", "zeros", "one byte"])
def test_a_damaged_event_file_says_so(tmp_path, damage):
    """TensorBoard itself stops at the damage and says nothing."""
    (file,) = tensorboard(tmp_path, {"entropy": ENTROPY, "reward": REWARD}).iterdir()
    file.write_bytes(damage(file.read_bytes()))
    run = read([file])
    assert 3 <= len(run.step) < 12
    assert "damaged, or was being written, after event" in run.notes[0]


def test_event_files_of_a_resumed_run_are_one_run(tmp_path):
    tensorboard(tmp_path, {"entropy": ENTROPY[:7], "reward": 0 * REWARD[:7]}, STEPS[:7])
    (first,) = tmp_path.iterdir()
    first.rename(tmp_path / "events.out.tfevents.0")
    tensorboard(tmp_path, {"entropy": ENTROPY[5:], "reward": REWARD[5:]}, STEPS[5:])
    run = read([tmp_path])
    np.testing.assert_allclose(run.performance, np.r_[0 * REWARD[:5], REWARD[5:]], rtol=1e-6)
    assert "the run went back to step 6: what was logged before from there on is left out" in run.notes


def test_tensorboard_tensors(tmp_path):
    """What TensorFlow 2 and JAX loops write in place of scalars."""
    with SummaryWriter(str(tmp_path)) as writer:
        for step, entropy, reward in rows():
            for tag, value in (("entropy", entropy), ("reward", reward)):
                writer.add_scalar(tag, value, int(step), new_style=True)
    assert_whole(read([tmp_path]), rounded=True)


def test_several_runs_in_a_tensorboard_folder(tmp_path):
    both = {"entropy": ENTROPY, "reward": REWARD}
    tensorboard(tmp_path / "a", both)
    tensorboard(tmp_path / "b", {"entropy": ENTROPY})
    assert_whole(read([tmp_path]), rounded=True, note="of 2 runs, 'a' is read")
    tensorboard(tmp_path / "c", {"entropy": ENTROPY, "reward": REWARD + 1})
    with pytest.raises(ValueError, match=r"holds 3 runs: choose one with --run \('a', 'c'\)"):
        read([tmp_path])
    assert read([tmp_path], run="c").performance[0] == pytest.approx(REWARD[0] + 1)
    with pytest.raises(ValueError, match="unknown run 'd'"):
        read([tmp_path], run="d")


def wandb_export(path, metric, runs):
    header = ["Step"]
    for run in runs:
        header += [f"{run} - {metric}", f"{run} - {metric}__MIN", f"{run} - {metric}__MAX"]
    values = [(step, *(cell for v in runs.values() for cell in (v[k], v[k] - 1, v[k] + 1)))
              for k, step in enumerate(STEPS)]
    quoted = [f'"{name}"' for name in header]
    return table(path, quoted, [[f'"{cell}"' for cell in row] for row in values])


def test_wandb_exports_of_two_charts_are_joined(tmp_path):
    """A chart shows one metric; the columns of its bounds are no metrics."""
    entropy = wandb_export(tmp_path / "e.csv", "train/entropy", {"lr - 3e-6": ENTROPY})
    reward = wandb_export(tmp_path / "r.csv", "train/reward", {"lr - 3e-6": REWARD})
    run = read([entropy, reward])
    assert_whole(run)
    assert (run.entropy_name, run.performance_name) == ("train/entropy", "train/reward")
    two = {"one": ENTROPY, "two": ENTROPY + 1}
    entropy = wandb_export(tmp_path / "e.csv", "train/entropy", two)
    reward = wandb_export(tmp_path / "r.csv", "train/reward", {"one": REWARD, "two": REWARD})
    with pytest.raises(ValueError, match=r"2 runs: choose one with --run \('one', 'two'\)"):
        read([entropy, reward])
    assert read([entropy, reward], run="two").entropy[0] == ENTROPY[0] + 1


def test_logs_of_different_kinds_with_different_step_names_are_joined(tmp_path):
    entropy = json_lines(tmp_path / "e.jsonl", [{"_step": int(s), "entropy": h} for s, h, _ in rows()])
    reward = table(tmp_path / "r.csv", ["Step", "accuracy"], [(s, r) for s, _, r in rows()])
    assert_whole(read([entropy, reward]))


# ------------------------------------------------------------------ missing, uneven, unordered


def test_missing_and_infinite_numbers_are_left_out_and_counted(tmp_path):
    lines = ["1,1.2,0.3", "2,nan,0.4", "3,1.0,", "4,0.9,0.5", "", "5,inf,0.6", "6,0.7,NaN", "7,0.5,0.7"]
    (tmp_path / "log.csv").write_text("\n".join(["step,entropy,reward", *lines]))
    run = read([tmp_path / "log.csv"])
    assert run.step.tolist() == [1, 4, 7]
    assert "2 values of 'entropy' are not finite and left out" in run.notes
    assert "1 values of 'reward' are not finite and left out" in run.notes
    assert any("'entropy' at 5 steps (1 to 7), 'reward' at 5 steps" in note for note in run.notes)
    assert any("3 steps have both" in note for note in run.notes)


def test_an_entropy_that_became_nan_is_said_with_the_step(tmp_path):
    (tmp_path / "log.csv").write_text("step,entropy,reward\n" + "\n".join(
        f"{step},{'nan' if step > 4 else 1 / step},{step / 10}" for step in range(1, 9)))
    run = read([tmp_path / "log.csv"])
    assert "4 values of 'entropy' are not finite and left out, all after step 4 among them" in run.notes


def test_unequal_steps_are_paired_only_where_asked_for(tmp_path):
    entropy = [{"step": s, "entropy": 1 / (1 + s)} for s in range(100)]
    reward = [{"step": s, "accuracy": s / 100} for s in (3, 10.4, 20.4, 30.4, 1000)]
    log = json_lines(tmp_path / "log.jsonl", [*entropy, *reward])
    with pytest.raises(ValueError, match=r"1 steps have both, .*--within STEPS"):
        read([log])
    run = read([log], within=0.5)
    assert run.step.tolist() == [3, 10.4, 20.4, 30.4]
    assert run.entropy.tolist() == [1 / (1 + s) for s in (3, 10, 20, 30)]
    assert "3 points pair numbers of different steps, at most 0.5 apart" in run.notes
    swapped = read([log], entropy="accuracy", performance="entropy", within=0.5)
    np.testing.assert_array_equal(swapped.entropy, run.performance)


def test_rows_are_counted_where_there_is_no_step(tmp_path):
    log = table(tmp_path / "log.csv", ["entropy", "reward"], [(h, r) for _, h, r in rows()])
    run = read([log])
    assert run.step.tolist() == list(range(12))
    assert "no step column" in run.notes[0]


def test_a_last_line_that_was_being_written_is_left_out(tmp_path):
    log = json_lines(tmp_path / "log.jsonl", records())
    log.write_text(log.read_text() + '{"step": 13, "entr')
    assert_whole(read([log]), note="line 13")


def test_a_line_that_is_not_needed_may_hold_anything(tmp_path):
    log = table(tmp_path / "log.csv", ["step", "entropy", "reward", "note"],
                [(*row, "fine" if row[0] % 2 else "") for row in rows()])
    assert_whole(read([log]))


def test_a_path_without_a_log_is_named(tmp_path):
    (tmp_path / "model.bin").write_bytes(bytes(range(128, 256)))
    with SummaryWriter(str(tmp_path / "empty")):
        pass
    (tmp_path / "none").mkdir()
    for name, message in (
        ("absent.csv", "no such file: "), ("none", "holds no log"),
        ("model.bin", "holds no numbers of training"), ("empty", "holds no numbers of training"),
    ):
        with pytest.raises(ValueError, match=message):
            read([tmp_path / name])


def test_tensorboard_is_asked_for_only_where_it_is_needed(tmp_path, monkeypatch):
    folder = tensorboard(tmp_path / "run", {"entropy": ENTROPY, "reward": REWARD})
    ours = builtins.__import__

    def without(name, *arguments, **keywords):
        if name.startswith("tensorboard"):
            raise ImportError(name)
        return ours(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ValueError, match=r"pip install 'policy-entropy\[llm\]'"):
        read([folder])
    assert_whole(read([json_lines(tmp_path / "log.jsonl", records())]))
