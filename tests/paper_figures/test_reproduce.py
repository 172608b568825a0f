"""The main job's runner: resumable, honest about failures, within its memory; and its stages."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from entropy_theory.support.results import write_json
from entropy_theory.support.user_errors import MissingExtraError
from paper_figures.reproduce import pipeline as runner
from paper_figures.reproduce import stage as one_stage
from paper_figures.reproduce import stages as stage_module
from paper_figures.reproduce.stage import Profile, Stage, StageRun
from paper_figures.reproduce.stages import stages
from simulations.names import experiments

PROFILES: tuple[Profile, ...] = ("smoke", "default", "full")


def script(build: Path, name: str, body: str = "", **options: object) -> Stage:
    """A stage that notes each of its runs in build/NAME.runs and leaves build/NAME."""
    code = (
        f"open({str(build / name)!r} + '.runs', 'a').write('x')\n{body}\n"
        f"open({str(build / name)!r}, 'w').write('done')"
    )
    defaults = {"outputs": (build / name,), "code": (), "seconds": 1.0}
    return Stage(name=name, arguments=("-c", code), **{**defaults, **options})  # type: ignore[arg-type]


def times_run(build: Path, name: str) -> int:
    path = build / f"{name}.runs"
    return len(path.read_text()) if path.exists() else 0


def run(monkeypatch: pytest.MonkeyPatch, build: Path, made: list[Stage], lanes: int = 2) -> int:
    monkeypatch.setattr(runner, "stages", lambda profile, folder, seed: made)
    return runner.reproduce("default", build, lanes=lanes)


def outcomes(build: Path) -> dict[str, dict]:
    summary = json.loads((build / "reproduce.json").read_text())
    return {stage["name"]: stage for stage in summary["stages"]}


def test_a_failing_stage_is_named_and_costs_only_what_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One failure that stops everything, or that nobody hears of."""
    made = [
        script(tmp_path, "bad", "raise SystemExit('error: the disk is on fire')"),
        script(tmp_path, "child", needs=("bad",)),
        script(tmp_path, "good"),
        script(tmp_path, "last", after=("*",)),
    ]
    assert run(monkeypatch, tmp_path, made) == 1
    found = outcomes(tmp_path)
    assert [found[n]["status"] for n in ("bad", "child", "good", "last")] == [
        "failed", "skipped", "done", "done"
    ]
    assert "the disk is on fire" in found["bad"]["reason"]
    assert found["bad"]["log"] in found["bad"]["reason"]
    assert "the disk is on fire" in capsys.readouterr().out


def test_what_is_finished_is_not_run_again_and_other_code_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work done twice, or an old result passed off as that of new code."""
    assert run(monkeypatch, tmp_path, [script(tmp_path, "a"), script(tmp_path, "b")]) == 0
    (tmp_path / "b").unlink()
    assert run(monkeypatch, tmp_path, [script(tmp_path, "a"), script(tmp_path, "b")]) == 0
    assert (times_run(tmp_path, "a"), times_run(tmp_path, "b")) == (1, 2)
    changed = script(tmp_path, "a", "# another program")
    assert changed.key != script(tmp_path, "a").key
    assert run(monkeypatch, tmp_path, [changed]) == 0
    assert times_run(tmp_path, "a") == 2
    assert outcomes(tmp_path)["a"]["status"] == "done"


def test_outputs_of_other_code_are_gone_before_a_stage_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training run resumed from checkpoints that other code wrote."""
    folder = tmp_path / "runs" / "mine"
    folder.mkdir(parents=True)
    (folder / "checkpoint").write_text("old")
    (folder / "run.json").write_text("old")
    body = f"import os; assert not os.path.exists({str(folder)!r}); os.makedirs({str(folder)!r}); " \
           f"open({str(folder / 'run.json')!r}, 'w').write('new')"
    made = [script(tmp_path, "train", body, outputs=(folder / "run.json",))]
    assert run(monkeypatch, tmp_path, made) == 0
    assert (folder / "run.json").read_text() == "new"


def test_a_stage_that_succeeds_without_its_output_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit status 0 taken for a result."""
    made = [script(tmp_path, "liar", outputs=(tmp_path / "never",))]
    assert run(monkeypatch, tmp_path, made) == 1
    assert "left no" in outcomes(tmp_path)["liar"]["reason"]


def test_what_may_be_skipped_is_reported_and_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No network: the job goes on, and says what is missing and why."""
    made = [
        script(tmp_path, "fetch", "raise SystemExit('no route to host')", may_skip="not fetched"),
        script(tmp_path, "evaluate", needs=("fetch",)),
    ]
    assert run(monkeypatch, tmp_path, made) == 0
    reason = outcomes(tmp_path)["evaluate"]["reason"]
    assert "not fetched" in reason
    assert "no route to host" in reason


@pytest.mark.parametrize(
    ("lanes", "gigabytes", "together"), [(2, 1.0, True), (1, 1.0, False), (2, 5.0, False)]
)
def test_stages_run_side_by_side_where_lanes_and_memory_allow(
    lanes: int, gigabytes: float, together: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More memory at once than promised, or lanes that are not used."""
    # Each waits for the other's start, and gives up after a while.
    wait = (
        "import os, time; seen = False; end = time.time() + {patience}\n"
        "while time.time() < end and not seen:\n"
        "    seen = os.path.exists({other!r}); time.sleep(0.02)\n"
        "open({me!r} + '.saw', 'w').write(str(seen))"
    )
    made = []
    for me, other in (("a", "b"), ("b", "a")):
        body = wait.format(
            other=str(tmp_path / f"{other}.runs"), me=str(tmp_path / me),
            patience=120.0 if together else 0.5,
        )
        made.append(script(tmp_path, me, body, gigabytes=gigabytes))
    assert run(monkeypatch, tmp_path, made, lanes=lanes) == 0
    saw = {name: (tmp_path / f"{name}.saw").read_text() == "True" for name in "ab"}
    assert all(saw.values()) == together


@pytest.mark.parametrize("how", ["needs", "after"])
def test_the_longest_chain_starts_first(
    how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short download started last, with the longest stage of all waiting for it."""
    order = tmp_path / "order"
    note = f"open({str(order)!r}, 'a').write({{!r}} + ' ')"
    made = [
        script(tmp_path, name, note.format(name), seconds=seconds, **{how: first})
        for name, seconds, first in (
            ("middling", 30.0, ()), ("fetch", 1.0, ()), ("long", 100.0, ("fetch",))
        )
    ]
    assert run(monkeypatch, tmp_path, made, lanes=1) == 0
    assert order.read_text().split() == ["fetch", "long", "middling"]


def slow_and_quick(build: Path) -> list[Stage]:
    """Two stages, of which one takes as long as build/nap says, and may outlive the job."""
    nap = (
        "import os, pathlib, time\n"
        "from entropy_theory.support.parent_process import end_with_starter\n"
        f"build = pathlib.Path({str(build)!r})\n"
        "if not (build / 'stubborn').exists():\n"
        "    end_with_starter()\n"
        "(build / 'pid.new').write_text(str(os.getpid()))\n"
        "(build / 'pid.new').rename(build / 'pid')\n"
        "time.sleep(float((build / 'nap').read_text()))\n"
    )
    return [script(build, "slow", nap), script(build, "quick")]


class Job:
    """A job of a slow and a quick stage in a process of its own, and the stage's process id."""

    def __init__(self, folder: Path) -> None:
        self.build = folder / "build"
        self.build.mkdir()
        driver = folder / "driver.py"
        driver.write_text(
            "import signal, sys\n"
            "from pathlib import Path\n"
            # As from a terminal: a suite started in the background ignores it, and so would this.
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "from paper_figures.reproduce import pipeline as runner\n"
            "from tests.paper_figures.test_reproduce import slow_and_quick\n"
            "build = Path(sys.argv[1])\n"
            "runner.stages = lambda profile, folder, seed: slow_and_quick(build)\n"
            "sys.exit(runner.reproduce('default', build))\n"
        )
        self.command = [sys.executable, str(driver), str(self.build)]
        self.environment = {**os.environ, "PYTHONPATH": os.getcwd()}

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        """It with an endless slow stage, once the quick one is done; ended after the block."""
        (self.build / "nap").write_text("600")
        with subprocess.Popen(self.command, env=self.environment, stderr=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL) as process:
            try:
                while not ((self.build / "pid").exists() and (self.build / "quick").exists()):
                    assert process.poll() is None, f"it ended with {process.returncode}"
                    time.sleep(0.02)
                yield process
            finally:
                process.kill()

    def slow_pid(self) -> int:
        return int((self.build / "pid").read_text())

    def finish(self) -> int:
        """Run it again, here, the slow stage a quick one; the exit status."""
        (self.build / "nap").write_text("0")
        with pytest.MonkeyPatch.context() as patch:
            return run(patch, self.build, slow_and_quick(self.build))


def is_running(pid: int) -> bool:
    try:
        # A zombie has ended; nobody has asked for its status yet.
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_job_stops_its_stages_and_resumes(
    number: signal.Signals, tmp_path: Path
) -> None:
    """A stage left running, or half a result kept, after Ctrl-C or a polite kill."""
    job = Job(tmp_path)
    with job.started() as process:
        stage = job.slow_pid()
        process.send_signal(number)
        assert process.wait() != 0
    assert not is_running(stage)
    assert outcomes(job.build)["slow"]["reason"] == "interrupted"
    assert not (job.build / "slow").exists()
    assert job.finish() == 0
    assert times_run(job.build, "slow") == 2
    assert (job.build / "slow").exists()


def test_a_killed_job_s_stages_end_with_it(tmp_path: Path) -> None:
    """Stages that go on for minutes, seen by nobody, beside those of the job that is run again."""
    job = Job(tmp_path)
    with job.started():
        stage = job.slow_pid()
    wait_for(lambda: not is_running(stage))
    assert not (job.build / "slow").exists()
    assert job.finish() == 0
    assert times_run(job.build, "slow") == 2
    assert not [path.name for path in job.build.rglob(".*")]


def test_a_job_waits_for_another_and_for_what_that_one_left(tmp_path: Path) -> None:
    """Two processes of one stage that write the same files."""
    job = Job(tmp_path)
    (job.build / "stubborn").touch()  # as in a long call of a library
    with job.started():
        stage = job.slow_pid()
    try:
        assert is_running(stage)
        (job.build / "nap").write_text("0")
        with subprocess.Popen(
            job.command, env=job.environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        ) as second:
            assert second.stderr is not None
            said = second.stderr.readline()
            assert said == (f"another process is at work on {job.build / 'reproduce.json'}: "
                            "waiting for it to end\n")
            assert (second.poll(), times_run(job.build, "slow")) == (None, 1)
            os.kill(stage, signal.SIGKILL)
            assert second.wait() == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(stage, signal.SIGKILL)
    assert times_run(job.build, "slow") == 2


def test_a_folder_that_cannot_be_written_is_known_before_any_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    build = tmp_path / "file" / "build"
    with pytest.raises(OSError, match=r"cannot write .*choose another output directory"):
        run(monkeypatch, build, [script(tmp_path, "never")])
    assert times_run(tmp_path, "never") == 0


def test_a_disk_that_fills_up_stops_the_stages_and_is_one_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stages left running by a job that could not note that another had ended."""
    (tmp_path / "nap").write_text("600")
    made = slow_and_quick(tmp_path)

    def full(path: Path, value: Any) -> None:
        if path.name == "quick.json" and value["finished"]:
            wait_for((tmp_path / "pid").exists)
            raise OSError(f"cannot write {path} (No space left on device): free some space")
        write_json(path, value)

    with monkeypatch.context() as patch:
        patch.setattr(runner, "write_json", full)
        with pytest.raises(OSError, match=r"quick\.json \(No space left on device\)"):
            run(patch, tmp_path, made)
    assert not is_running(int((tmp_path / "pid").read_text()))
    (tmp_path / "nap").write_text("0")
    assert run(monkeypatch, tmp_path, made) == 0
    assert (times_run(tmp_path, "slow"), times_run(tmp_path, "quick")) == (2, 2)


def wait_for(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_is_a_consistent_plan(profile: Profile, tmp_path: Path) -> None:
    """Two stages with one name or one output, a need that nothing meets, results elsewhere."""
    made = stages(profile, tmp_path)
    names = [stage.name for stage in made]
    outputs = [path for stage in made for path in stage.outputs]
    assert len(set(names)) == len(names)
    assert len(set(outputs)) == len(outputs)
    for i, stage in enumerate(made):
        assert set(stage.needs) <= set(names[:i])
        assert set(stage.after) <= {"*", *names[:i]}
        assert all(tmp_path in path.parents for path in stage.outputs)
        assert stage.gigabytes <= runner.MEMORY_LIMIT_GB


@pytest.mark.parametrize("profile", ["smoke", "default", pytest.param("full", marks=pytest.mark.deep)])
def test_a_seed_moves_every_stage_that_draws(profile: Profile, tmp_path: Path) -> None:
    """A stage at its old seed under another would be taken for a second look."""
    seeded = {"simulations", "train", "ledger", "evaluate", "audit"}
    for before, after in zip(stages(profile, tmp_path), stages(profile, tmp_path, 5), strict=True):
        if before.name.split()[0] in seeded:
            place = before.arguments.index("--seed") + 1
            assert int(after.arguments[place]) == int(before.arguments[place]) + 5, before.name
            assert after.key != before.key
        else:
            assert after == before


@pytest.mark.parametrize(("profile", "minutes"), [("default", 10), ("full", 118)])
def test_a_job_fits_its_time(profile: Profile, minutes: int, tmp_path: Path) -> None:
    """Stages added until the main job no longer ends within 12 minutes (full: two hours), with set-up."""
    expected = sum(stage.seconds for stage in stages(profile, tmp_path)) / runner.LANES
    assert expected < minutes * 60


def test_peak_memory_counts_what_ran_at_the_same_time(tmp_path: Path) -> None:
    """Peaks of stages that never met added up, or those that did left out."""
    runs = []
    for name, started, seconds, megabytes in (("a", 1, 10, 100), ("b", 5, 10, 30), ("c", 16, 1, 90)):
        made = StageRun(stage=script(tmp_path, name), log=tmp_path, status="done")
        made.started, made.seconds, made.peak_megabytes = started, seconds, megabytes
        runs.append(made)
    assert runner.peak_side_by_side(runs) == 130


@pytest.mark.parametrize("file", ["rule.py", "deep/rule.py", "deep/settings.toml", "model.safetensors"])
def test_a_stage_is_out_of_date_when_its_source_changes(
    file: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A result of older code must not pass for one of this code."""
    for name in ("room", "room/deep", "other"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(one_stage, "ROOT", tmp_path)
    stage = dataclasses.replace(script(tmp_path, "a"), code=("room",))
    before = stage.key
    (tmp_path / "other" / "rule.py").write_text("1")
    (tmp_path / "room" / "notes.txt").write_text("1")
    assert stage.key == before
    keys = [before]
    for text in ("1", "2"):
        (tmp_path / "room" / file).write_text(text)
        keys.append(stage.key)
    assert len(set(keys)) == 3
    (tmp_path / "room" / file).unlink()
    assert stage.key == before


def test_every_experiment_has_its_stage():
    """A figure that lacks its data after the main job."""
    # Not above: the jobs that tests start as processes import this file, and need no simulator.
    from simulations.experiments import EXPERIMENTS

    names = [name for _, _, group in stage_module.SIMULATIONS.values() for name in group]
    assert sorted(names) == sorted(EXPERIMENTS)
    assert set(stage_module.SMOKE_SIMULATIONS) <= set(EXPERIMENTS)
    typed = {word for stage in stages("default", Path()) for word in stage.arguments}
    assert {one.name for one in experiments()} <= typed


def test_a_package_without_the_pages_says_so_before_it_computes(tmp_path, monkeypatch):
    """Installed from a wheel it computed for minutes, and its last stage failed."""
    monkeypatch.setattr(runner, "PAGES", tmp_path / "docs")
    with pytest.raises(ValueError, match="run it in a clone of the repository"):
        runner.reproduce("smoke", tmp_path / "build")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("profile", "absent", "extras"), [
    ("smoke", {"sphinx", "sympy"}, "proofs,docs"),
    ("default", {"nbclient"}, "notebooks"),
])
def test_what_a_stage_would_lack_is_said_before_it_computes(
        tmp_path, monkeypatch, profile, absent, extras):
    """An image without notebooks computed for a quarter of an hour, and its last stage failed."""
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda m: None if m in absent else found(m))
    with pytest.raises(MissingExtraError, match=re.escape(f"policy-entropy[{extras}]")):
        runner.reproduce(profile, tmp_path / "build")
    assert not list(tmp_path.iterdir())
