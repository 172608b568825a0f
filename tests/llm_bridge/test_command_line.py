"""Guards llm_bridge/__main__.py, training.py, checkpoints.py: runs that survive kills and typos."""

import dataclasses
import functools
import importlib.util
import json
import sys
from pathlib import Path

import pytest
import safetensors
import torch
from transformers.integrations import integration_utils

from diagnosis import diagnose
from diagnosis.live import Verdicts
from entropy_theory.support import results
from entropy_theory.training_logs import logs
from llm_bridge import __main__ as main
from llm_bridge.commands import train as training
from llm_bridge.commands.train_config import resolved
from llm_bridge.running import step_log
from llm_bridge.trainer import controllers
from llm_bridge.trainer import entropy_trainer as trainer_module
from tests.llm_bridge.language_models import tiny_llama
from tests.llm_bridge.launched_runs import numbers
from tests.user_files import HALF


class Killed(BaseException):
    """Stands for a kill: no handler of ours may catch it."""


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> str:
    return str(tiny_llama(tmp_path_factory.mktemp("llama") / "model"))


def configured(model: str, output: Path) -> training.TrainConfig:
    """A few seconds of AEPO on a random tiny transformer, in two micro-batches."""
    return training.TrainConfig(
        model=model, task="split", rule="aepo",
        reward="tests.llm_bridge.language_models:low_digit",
        rule_options=("target=2.76",), steps=6, prompts=4, samples=4, micro_batches=2,
        learning_rate=1e-2, audit_every=1, save_every=2, device="cpu", log_to="none",
        output=output,
    )


@pytest.fixture
def config(model, tmp_path) -> training.TrainConfig:
    return configured(model, tmp_path / "run")


@pytest.fixture(scope="module")
def whole(model, tmp_path_factory) -> dict:
    """What an uninterrupted run of that config found."""
    return training.train(configured(model, tmp_path_factory.mktemp("whole") / "run"))


def test_a_run_says_what_moved_its_entropy(config):
    """Every other step, without another number of the run."""
    short = dataclasses.replace(config, steps=3, audit_every=0, save_every=0, save_model=False)
    found = training.train(dataclasses.replace(short, account_every=2))
    plain = training.train(dataclasses.replace(short, output=config.output.parent / "plain"))
    records = numbers(Path(found["output"]))
    for record, without in zip(records, numbers(Path(plain["output"])), strict=True):
        accounted = record["step"] != 2
        assert ("accounted" in record) == accounted
        assert record.items() >= without.items()
        if accounted:
            assert record["accounted"] == pytest.approx(
                record["measured_entropy_change"], rel=0.02, abs=1e-5)
            assert record["accounted/aepo"] + record["accounted/grpo"] == pytest.approx(
                record["accounted/right"] + record["accounted/wrong"], abs=1e-6)
    assert "accounted" in found["closing"]


def interrupt(config, monkeypatch, step) -> None:
    """Run until ``step`` steps are logged, then die."""
    original = step_log.StepLog.append

    def append(self, record):
        original(self, record)
        if record["step"] == step:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(step_log.StepLog, "append", append)
        with pytest.raises(Killed):
            training.train(config)


@pytest.mark.deep
def test_a_resumed_run_gives_the_numbers_of_an_uninterrupted_one(config, whole, monkeypatch):
    """To the last digit: weights, optimizer, random numbers, prompts and the controller's state."""
    interrupt(config, monkeypatch, 5)
    assert len(numbers(config.output)) == 5
    state = results.read_json(
        config.output / "checkpoints" / "checkpoint-4" / controllers.CONTROLLER_STATE)
    record = numbers(config.output)[3]
    assert state["temperature"] == record["temperature"]
    assert state["entropy"] == pytest.approx(record["entropy"], abs=1e-6)
    resumed = training.train(config)
    uninterrupted = Path(whole["output"])
    assert numbers(config.output) == numbers(uninterrupted)
    assert [record["step"] for record in numbers(config.output)] == [1, 2, 3, 4, 5, 6]
    audits = [results.read_json(run / "audit.json") for run in (uninterrupted, config.output)]
    assert audits[0]["steps"] == audits[1]["steps"]
    assert whole["audit"] == resumed["audit"]
    weights = [run / "model" / "model.safetensors" for run in (uninterrupted, config.output)]
    assert weights[0].read_bytes() == weights[1].read_bytes()
    # Entropy moves across the target, so that the switch's state matters.
    assert {record["temperature"] for record in numbers(uninterrupted)} == {0.8, 1.2}


def test_a_run_begun_on_a_gpu_is_not_continued_without_it(config, tmp_path, monkeypatch):
    """On a CPU it would go on in silence, to other numbers and with the CPU in its provenance."""
    interrupt(config, monkeypatch, 2)
    path = tmp_path / "run" / "provenance.json"
    results.write_json(path, results.read_json(path) | {"device": "NVIDIA H200"})
    with pytest.raises(ValueError, match=r"began on NVIDIA H200, and torch finds no GPU now"):
        training.train(config)
    assert len(numbers(tmp_path / "run")) == 2


def test_a_finished_run_is_not_computed_again(config, monkeypatch, capsys):
    short = dataclasses.replace(config, steps=1, audit_every=0)
    first = training.train(short)
    assert first["status"] == "finished"
    assert 0 <= first["constant_answer_reward"] <= 1
    monkeypatch.setattr(training, "build_trainer", None)  # calling it would be a TypeError
    assert training.train(short) == first
    assert "already finished" in capsys.readouterr().err


def test_a_run_is_read_where_its_model_is_not(config):
    """A check of the model's name before the folder of the run is looked at."""
    moved = dataclasses.replace(config, model="gone/to/another/disk")
    with pytest.raises(ValueError, match="no model 'gone/to/another/disk'"):
        resolved(moved)
    results.write_json(config.output / "run.json", {})
    assert resolved(moved).config.model == moved.model


def test_another_run_in_the_folder_is_not_touched(config):
    results.write_json(config.output / "run.json", {"status": "running", "options": {}})
    step_log.StepLog(config.output / "metrics.jsonl").append({"step": 1})
    with pytest.raises(ValueError, match="holds a run with other options"):
        training.train(config)
    assert len(numbers(config.output)) == 1


def test_a_mended_command_may_use_the_folder_of_the_failed_one(config):
    """A typo that was found after the folder was made does not take the folder."""
    short = dataclasses.replace(config, steps=1, audit_every=0, save_every=0, save_model=False)
    with pytest.raises(ValueError, match="does not divide"):
        training.train(dataclasses.replace(short, samples=3, micro_batches=5))
    found = training.train(short)
    assert (found["status"], found["options"]["samples"]) == ("finished", 4)
    assert results.read_json(config.output / "run.json")["options"] == found["options"]


def test_a_finished_run_that_cannot_be_made_longer_exactly_says_why(config):
    plain = dataclasses.replace(config, steps=1, audit_every=0, save_model=False)
    training.train(plain)
    with pytest.raises(ValueError, match=r"steps was 1, is 9\): a finished run keeps no optimizer state"):
        training.train(dataclasses.replace(plain, steps=9))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rule": "natural-gradient", "rule_options": ()}, "'natural-gradient' needs every action"),
        pytest.param({"device": "cuda"}, "torch finds none.*device auto or cpu",
                     marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")),
        pytest.param({"trl_options": ("use_vllm=true",)}, "use_vllm needs the package vllm.*trl_options",
                     marks=pytest.mark.skipif(
                         importlib.util.find_spec("vllm") is not None, reason="vllm is there")),
    ],
    ids=lambda value: str(next(iter(value.values()))) if isinstance(value, dict) else "",
)
def test_bad_input_is_one_clear_error(config, changes, message):
    with pytest.raises(ValueError, match=message):
        training.train(dataclasses.replace(config, **changes))


def test_an_unwritable_output_is_one_clear_error(config, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"cannot write .*another output directory"):
        training.train(dataclasses.replace(config, output=tmp_path / "file" / "run"))
    with pytest.raises(OSError, match=r"file is a file, and must be a folder"):
        resolved(dataclasses.replace(config, output=tmp_path / "file"))


def test_a_full_disk_is_one_clear_error(config, monkeypatch):
    """As safetensors reports it, whose half-written file is gone again when the error arrives."""

    def save(*_, **__):
        raise safetensors.SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(trainer_module.EntropyTrainer, "save_model", save)
    with pytest.raises(OSError, match=r"no space left for .*another output directory"):
        training.train(dataclasses.replace(config, steps=1, audit_every=0))


def test_the_options_of_a_run_reach_trl(config):
    """One that is left out has TRL's default in silence, which often is ours too."""
    options = {"max_grad_norm": 0.25, "learning_rate": 0.5, "seed": 6}
    run = resolved(dataclasses.replace(config, iterations=3, optimizer="sgd", **options))
    found = training.options_of_trl(run, max_new_tokens=7)
    wanted = options | {"num_iterations": 3, "optim": "sgd", "num_generations": 4, "max_steps": 6,
                        "max_completion_length": 7, "gradient_accumulation_steps": 2}
    assert found.items() >= wanted.items()


REWARD = '''
def always(prompts, completions, **columns):
    return [float(len(text) % 2) for text in completions]
'''


def test_a_rule_and_a_reward_of_a_users_own_file(config, tmp_path, monkeypatch):
    """The run knows their contents: an edited file neither continues nor recalls it."""
    own = tmp_path / "own.py"
    own.write_text(HALF + REWARD)
    monkeypatch.chdir(tmp_path)
    config = dataclasses.replace(
        config, rule="own.py:Half", rule_options=("factor=0.25", "base=reinforce"),
        reward="own.py:always", steps=1, audit_every=0, save_every=0, save_model=False)
    found = training.train(config)
    assert set(found["code"]) == {"own.py:Half", "own.py:always"}
    assert training.train(config)["status"] == "finished"
    own.write_text((HALF + REWARD).replace("0.5", "0.7"))
    with pytest.raises(ValueError, match=r"another version of own.py:Half, own.py:always: choose"):
        training.train(config)
    own.unlink()
    with pytest.raises(ValueError, match=r"update rule 'own.py:Half': no such file: own.py"):
        training.train(config)


def test_a_run_from_the_command_line(tmp_path, monkeypatch, capfd):
    """The bundled model, two AEPO steps with the options a user would give.

    In this process: that it runs in one of its own is seen in test_processes.
    """
    arguments = ["train", "--steps", "2", "--rule", "aepo", "--rule-options", "alpha=3", "target=0.6",
                 "--prompts", "4", "--output", "run", "--log-to", "tensorboard", "--json", "found.json"]
    monkeypatch.setattr("sys.argv", ["llm_bridge", *arguments])
    monkeypatch.setattr("sys.path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    assert main.main() == 0
    shown = capfd.readouterr()
    assert "a constant answer" in shown.out
    assert "step 2/2" in shown.err
    assert list((tmp_path / "run" / "tensorboard").rglob("events.out.*"))
    record = numbers(tmp_path / "run")[0]
    assert set(record) >= {"step", "reward", "entropy", "forecast_entropy_change", "temperature",
                           "coefficient"}
    assert (tmp_path / "run" / "provenance.json").exists()
    found = json.loads((tmp_path / "found.json").read_text())
    assert found == {**json.loads((tmp_path / "run" / "run.json").read_text()), "output": "run"}
    assert "json" not in found["options"]
    assert not [path for path in tmp_path.rglob(".*") if path.is_file()]  # nothing half-written


def test_a_tracker_that_is_not_set_up_is_one_error(config, monkeypatch):
    """As MLflow refuses a store of files, and W&B whoever is not logged in."""

    def refuses(*_: object, **__: object) -> None:
        raise RuntimeError("nobody is logged in")

    monkeypatch.setattr(integration_utils.TensorBoardCallback, "_init_summary_writer", refuses)
    with pytest.raises(ValueError, match=r"log_to tensorboard: .*\(nobody is logged in\).*log_to none"):
        training.train(dataclasses.replace(config, log_to="tensorboard", steps=1))


def test_a_folder_with_other_checkpoints_is_left_alone(config):
    """A finished run drops its own checkpoints folder: it must never be a user's."""
    mine = config.output / "checkpoints" / "precious.pt"
    mine.parent.mkdir(parents=True)
    mine.write_text("weights")
    with pytest.raises(ValueError, match=r"checkpoints but no run\.json"):
        training.train(config)
    assert mine.read_text() == "weights"


def test_steps_without_a_number_do_not_end_the_run(capsys):
    """A step without usable rows has no reward: it is shown as such, and left out of averages."""
    progress = step_log.StepProgress(1, title="run")
    progress.update({"step": 1, "entropy": None, "reward": None, "seconds": 1.0})
    assert "entropy -  reward -" in capsys.readouterr().err
    records = [{"step": step, "reward": None if step == 20 else 0.5} for step in range(1, 21)]
    assert training.closing_averages(records) == {"reward": 0.5}


def test_a_verdict_on_the_run_is_told_while_it_trains(config, monkeypatch, capsys):
    """In the words of a diagnosis of its log, where the bar is, and once."""
    monkeypatch.setattr(training, "Verdicts", functools.partial(Verdicts, every=1))
    training.train(dataclasses.replace(config, steps=2))
    (run,) = logs.read([config.output])
    found = diagnose(run).sentence.partition(":")[0]
    told = [line for line in capsys.readouterr().err.splitlines() if f": {found}: " in line]
    assert len(told) == 1
    assert ": step 1: Not enough: " in told[0]
