"""Guards the queue of what wants a GPU: its order, what leaves it, and a rehearsal on a CPU."""

from __future__ import annotations

import collections
import dataclasses
import json
import runpy
import signal
import sys
import warnings
from pathlib import Path

import pytest
import torch

from llm_bridge import recipes
from paper_figures.reproduce import gpu, gpu_jobs
from tests.paper_figures.conftest import write_run

ROOM = Path(gpu.__file__).parents[1]
QUEUE = gpu_jobs.jobs()
TRAINED = [job for job in QUEUE if job.kind == "train"]


def scripted(name: str, code: str, **options: object) -> gpu_jobs.GpuJob:
    """A job that runs a line of Python."""
    return gpu_jobs.GpuJob(
        name=name, kind="check", minutes=1.0, arguments=("-c", code), rehearsal=(), **options,
    )


def test_the_waiting_list_is_that_of_the_repository() -> None:
    """A run that is asked for, is not there, and is not on the list."""
    measured = ROOM / "measured"
    assert (measured / "WAITING.md").read_text(encoding="utf-8") == gpu.waiting_list(measured)


def test_the_queue_holds_every_run_of_every_small_recipe() -> None:
    """A recipe that is written and never measured; two runs that share a folder."""
    wanted = {
        f"{name}:{run}" for name in recipes.names("gpu-small") for run in recipes.load(name).runs
    }
    assert {job.arguments[4] for job in TRAINED} == wanted
    assert max(collections.Counter(job.name for job in QUEUE).values()) == 1
    assert len([job for job in QUEUE if job.kind == "pretrain"]) == 5


def test_every_benchmark_and_test_of_the_queue_exists() -> None:
    """A script that was renamed: found by a machine that costs money."""
    for job in QUEUE:
        script = Path(job.arguments[0])
        if script.suffix == ".py":
            assert (ROOM.parent / script).exists(), script
            assert "--json" in (ROOM.parent / script).read_text() or "json" in script.read_text()


def test_finished_jobs_leave_the_queue(tmp_path: Path) -> None:
    """A finished run made again, or an interrupted one forgotten."""
    first, second, *rest = TRAINED
    write_run(tmp_path / first.name, rule="grpo", entropies=[1.0])
    write_run(tmp_path / second.name, rule="aepo", entropies=[1.0], status="running")
    assert gpu.unfinished(tmp_path, TRAINED) == [second, *rest]
    assert "finished  " + first.name in gpu.plan(tmp_path, TRAINED)
    assert f"- **{first.name}**" not in gpu.waiting_list(tmp_path)
    assert f"- **{second.name}**" in gpu.waiting_list(tmp_path)


def test_a_budget_must_be_positive() -> None:
    """A queue that does nothing and says so with success."""
    with pytest.raises(ValueError, match="budget must be above 0 minutes, got -1"):
        gpu.run_queue(-1)


def test_a_failure_costs_only_what_needs_it(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    """One failed job that stops the queue; a job made without what it needs; a failure kept as done."""
    queue = [
        scripted("a", "raise SystemExit(3)"), scripted("b", "pass", needs="a"), scripted("c", "pass"),
        dataclasses.replace(scripted("d", ""), arguments=("benchmarks/absent.py",)),
    ]
    assert gpu.run_queue(1, folder=tmp_path, queue=queue, rehearsal=True) == 1
    assert gpu.unfinished(tmp_path, queue) == [queue[0], queue[1], queue[3]]
    printed = capsys.readouterr().out
    assert "failed: a (exit status 3)" in printed
    assert "failed: d (there is no benchmarks/absent.py)" in printed
    kept = json.loads((tmp_path / "c" / "job.json").read_text())
    assert kept["provenance"]["device"] == "cpu"
    assert {"torch", "trl"} <= set(kept["provenance"]["versions"])
    assert gpu.run_queue(1, folder=tmp_path, queue=queue[2:3], rehearsal=True) == 0


def test_a_gpu_that_disappears_ends_the_queue(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All later jobs started in vain, or trained on the CPU and kept as measured on a GPU."""
    monkeypatch.setattr(gpu, "require_gpu", lambda: "a GPU")
    queue = [scripted("a", "raise SystemExit(2)"), scripted("b", "pass")]
    answers = iter([True, False])
    monkeypatch.setattr(gpu, "_gpu_answers", lambda: next(answers))
    assert gpu.run_queue(1, folder=tmp_path, queue=queue) == 1
    assert gpu.unfinished(tmp_path, queue) == queue[:1]
    (tmp_path / "b" / "job.json").unlink()
    assert gpu.run_queue(1, folder=tmp_path, queue=queue) == 1
    assert gpu.unfinished(tmp_path, queue) == queue
    assert "the GPU no longer answers" in capsys.readouterr().out
    for job in TRAINED:
        assert job.command()[-2:] == ["--device", "cuda"]


@pytest.mark.deep
def test_a_job_is_interrupted_when_the_budget_is_spent(tmp_path: Path) -> None:
    """A run killed without its checkpoint, or counted as done; a job begun after the time."""
    told = tmp_path / "told"
    code = (
        "import pathlib, signal, sys, time\n"
        f"def stop(*_): pathlib.Path({str(told)!r}).touch(); sys.exit(130)\n"
        "signal.signal(signal.SIGINT, stop)\n"
        "time.sleep(60)"
    )
    queue = [scripted("a", code), scripted("b", "pass")]
    before = signal.getsignal(signal.SIGINT)
    assert gpu.run_queue(2 / 60, folder=tmp_path, queue=queue, rehearsal=True) == 3
    assert told.exists()
    assert gpu.unfinished(tmp_path, queue) == queue
    assert signal.getsignal(signal.SIGINT) is before


def test_a_model_pretrained_elsewhere_is_made_again_for_what_waits(tmp_path: Path) -> None:
    """A second machine finds the record of a pretraining, but no model."""
    model = tmp_path / "model"
    made = scripted("m", f"import os; os.makedirs({str(model)!r}, exist_ok=True)", makes=model)
    queue = [made, scripted("r", "pass", needs="m")]
    assert gpu.run_queue(1, folder=tmp_path, queue=queue[:1], rehearsal=True) == 0
    model.rmdir()
    assert gpu.run_queue(1, folder=tmp_path, queue=queue, rehearsal=True) == 0
    assert model.is_dir()
    model.rmdir()
    assert gpu.run_queue(1, folder=tmp_path, queue=queue, rehearsal=True) == 0
    assert not model.exists()


def test_a_run_measured_elsewhere_is_made_again_for_its_model_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A committed record overwritten; a model left among the results; one lost in a kill."""
    monkeypatch.setattr(gpu, "AGAIN", tmp_path / "again")
    code = "import os, sys; os.makedirs(sys.argv[1] + '/model')"
    run = dataclasses.replace(
        scripted("r", "", makes=Path("r") / "model"), kind="train", arguments=("-c", code, "{folder}"))
    queue = [run, scripted("e", "pass", needs="r")]
    folder, model = tmp_path / "measured", tmp_path / "measured" / "models" / "r" / "model"
    write_run(folder / "r", rule="grpo", entropies=[1.0])
    before = sorted(folder.glob("r/*"))
    assert gpu.run_queue(1, folder=folder, queue=queue, rehearsal=True) == 0
    assert model.is_dir()
    assert sorted(folder.glob("r/*")) == before
    assert not any((tmp_path / "again").iterdir())
    # Killed between the run and the move: nothing is trained for it.
    model.rename(folder / "r" / "model")
    (folder / "e" / "job.json").unlink()
    failing = dataclasses.replace(run, arguments=("-c", "raise SystemExit(1)"))
    assert gpu.run_queue(1, folder=folder, queue=[failing, queue[1]], rehearsal=True) == 0
    assert model.is_dir()


def run_here(arguments: list[str], seconds: float) -> int:
    """Exit status of ``python -m ...`` in this process, which has imported what takes long."""
    threads = torch.get_num_threads()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert arguments[1] == "-m"
        script = ROOM.parent.joinpath(*arguments[2].split("."))
        script = script / "__main__.py" if script.is_dir() else script.with_suffix(".py")
        patch.setattr("sys.argv", arguments[2:])
        patch.setattr("sys.path", [*sys.path])
        try:
            runpy.run_path(str(script), run_name="__main__")
        except SystemExit as end:
            return int(end.code or 0)
        finally:
            torch.set_num_threads(threads)
    return 0


@pytest.mark.deep
def test_a_rehearsal_makes_real_runs_that_are_then_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run, its evaluation and a pretraining, as typed; a second call computes nothing again.

    A model of two steps in build/gpu/models would be taken for the real one.
    """
    monkeypatch.setattr(gpu, "_run", run_here)
    pretraining = next(job for job in QUEUE if job.kind == "pretrain")
    trained = next(job for job in TRAINED if job.makes)
    evaluation = next(job for job in QUEUE if job.needs == trained.name)
    queue = [trained, evaluation, pretraining]
    assert gpu.run_queue(5, folder=tmp_path, queue=queue, rehearsal=True) == 0
    run = json.loads((tmp_path / trained.name / "run.json").read_text())
    assert (run["status"], run["options"]["steps"], run["options"]["rule"]) == ("finished", 2, "grpo")
    assert not (tmp_path / trained.name / "model").exists()
    for job in (trained, pretraining):
        assert (tmp_path / "models" / str(job.makes) / "config.json").exists()
    measured = tmp_path / "evaluations"
    assert [path.name for path in measured.iterdir()] == [f"{trained.name}-pass-at-k.json"]
    found = json.loads(next(measured.iterdir()).read_text())
    assert 0 <= found["pass@1"] <= found["pass@8"] <= 1
    assert Path(found["model"]).parent.name == trained.name
    stamp = (tmp_path / pretraining.name / "job.json").stat().st_mtime_ns
    assert gpu.run_queue(5, folder=tmp_path, queue=queue, rehearsal=True) == 0
    assert (tmp_path / pretraining.name / "job.json").stat().st_mtime_ns == stamp


@pytest.mark.deep
def test_one_of_each_command_is_rehearsed_as_it_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In processes of their own, as the queue starts them: an option that a command has lost, a benchmark
    that cannot write, a rule that holds its target by forecasts and finds none."""
    monkeypatch.chdir(ROOM.parent)
    by_name = {job.name: job for job in QUEUE}
    queue = [*QUEUE[:5], by_name["split-first-forecast-seed0"], by_name["chain-sum-first-aepo-seed2"],
             by_name["evaluate-small-sums"], by_name["pretrain-hidden-32"],
             by_name["holding-a-target-chain-sum-seed0"]]
    assert gpu.run_queue(60, folder=tmp_path, queue=queue, rehearsal=True) == 0
    assert gpu.unfinished(tmp_path, queue) == []
    for job in QUEUE[:5]:
        assert list((tmp_path / job.name).glob("result.*")), job.name
