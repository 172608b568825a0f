"""Runs the main job: stages are subprocesses of public commands, side by side where memory allows.

A stage that finished with the same command and code is not run again. An interrupted stage is
started again and resumes by itself, or starts afresh where the code has changed since. A failing
stage costs one line, and everything that does not need it still runs. When the job ends or is
killed, its stages end too. A folder has one job at a time.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from entropy_theory.support.locks import exclusive
from entropy_theory.support.parent_process import followed
from entropy_theory.support.results import check_writable, provenance, read_json, write_json
from entropy_theory.support.user_errors import need
from paper_figures.reproduce.progress import Progress
from paper_figures.reproduce.stage import Profile, Stage, StageRun
from paper_figures.reproduce.stages import stages

# Two stages of one thread each use two cores better than one stage of two threads: a GRPO step of the
# small transformer takes 0.4 s on one thread and 0.29 s on two.
LANES = 2
MEMORY_LIMIT_GB = 7.5
POLL_SECONDS = 0.2
TERMINATION_SECONDS = 20.0
PAGES = Path(__file__).resolve().parents[2] / "docs"
"""The sources of the site, which only a checkout has."""
MODULES = ("sympy", "torch", "transformers", "trl", "jinja2", "matplotlib", "myst_parser", "sphinx")
"""What some stage of every profile needs: one that lacked it would fail after the others' minutes."""


def reproduce(profile: Profile, build: Path, *, lanes: int = LANES, seed: int = 0) -> int:
    """Run every stage of a profile; return 0 if none failed, else 1.

    Writes ``reproduce.json`` (seconds and peak memory of each stage) after each of them. While another
    process, or a stage that it left, is at work on ``build``, this one waits.

    Args:
        profile: "smoke", "default" or "full".
        build: folder for all results.
        lanes: how many stages run at a time.
        seed: as of `stages`.

    Raises:
        ValueError: the package is not run from a checkout.
        MissingExtraError: a stage would lack a module.
        OSError: ``build`` cannot be written to.
    """
    if not PAGES.is_dir():
        raise ValueError(
            f"the main job makes the documentation, but {PAGES} is missing: run it in a clone of "
            "the repository, or run policy-entropy verify, simulate, train and figures")
    need("the main job", *MODULES, *(() if profile == "smoke" else ("nbclient",)))
    check_writable(build / "reproduce.json")
    with exclusive(build / "reproduce.json") as lock, _termination_interrupts():
        return _run(profile, build, lanes, seed, lock)


def _run(profile: Profile, build: Path, lanes: int, seed: int, lock: int | None) -> int:
    runs = [
        StageRun(stage=stage, log=build / "logs" / f"{stage.name.replace(' ', '-')}.log")
        for stage in stages(profile, build, seed)
    ]
    began = time.monotonic()
    previous = _previous(build)
    progress = Progress(runs, lanes)
    try:
        while not all(run.settled for run in runs):
            _settle(runs)
            _start(runs, build, lanes, previous, lock)
            progress.update()
            if any(_collect(run, build) for run in runs):
                _write_summary(profile, build, runs, time.monotonic() - began, seed)
            else:
                time.sleep(POLL_SECONDS)
    finally:
        _stop([run for run in runs if run.status == "running"])
        _write_summary(profile, build, runs, time.monotonic() - began, seed)
    progress.update()
    return 1 if any(run.status == "failed" for run in runs) else 0


@contextlib.contextmanager
def _termination_interrupts() -> Iterator[None]:
    """Treat SIGTERM as an interrupt: the stages are stopped, and what is finished is kept."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _settle(runs: list[StageRun]) -> None:
    """Skip every waiting stage that needs a stage which failed or was skipped."""
    by_name = {run.stage.name: run for run in runs}
    for run in runs:
        if run.status == "waiting":
            for name in run.stage.needs:
                if by_name[name].status in ("failed", "skipped"):
                    run.status = "skipped"
                    run.reason = f"needs '{name}': {by_name[name].reason}"


def _start(
    runs: list[StageRun], build: Path, lanes: int, previous: dict[str, Any], lock: int | None
) -> None:
    """Start the stages that may start, longest chain first, so that no long one is left for the end."""
    for run in sorted(runs, key=lambda r: -_chain_seconds(r, runs)):
        active = [r for r in runs if r.status == "running"]
        if run.status != "waiting" or not _ready(run, runs):
            continue
        if _finished_before(run.stage, build):
            run.status = "kept"
            old = previous.get(run.stage.name, {})
            for name in ("seconds", "cpu_seconds", "peak_megabytes"):
                setattr(run, name, float(old.get(name, 0.0)))
            continue
        memory = run.stage.gigabytes + sum(r.stage.gigabytes for r in active)
        if len(active) < lanes and (not active or memory <= MEMORY_LIMIT_GB):
            _launch(run, build, lock)


def _chain_seconds(run: StageRun, runs: list[StageRun]) -> float:
    """The expected seconds of a stage and of the longest chain of stages that wait for it by name."""
    followers = [r for r in runs if run.stage.name in (*r.stage.needs, *r.stage.after)]
    return run.stage.seconds + max((_chain_seconds(r, runs) for r in followers), default=0.0)


def _ready(run: StageRun, runs: list[StageRun]) -> bool:
    """Whether all that must come first has been tried ("*": every stage listed earlier)."""
    by_name = {r.stage.name: r for r in runs}
    if "*" in run.stage.after:
        earlier = runs[: runs.index(run)]
        return all(r.settled for r in earlier)
    return all(by_name[name].settled for name in (*run.stage.after, *run.stage.needs))


def _stamp(stage: Stage, build: Path) -> Path:
    return build / "stages" / f"{stage.name.replace(' ', '-')}.json"


def _finished_before(stage: Stage, build: Path) -> bool:
    if stage.always or not all(path.exists() for path in stage.outputs):
        return False
    stamp = _read_stamp(stage, build)
    return stamp.get("key") == stage.key and stamp.get("finished") is True


def _read_stamp(stage: Stage, build: Path) -> dict[str, Any]:
    try:
        stamp = read_json(_stamp(stage, build))
    except ValueError:  # none yet, or one that was damaged: then nothing is known to be finished
        return {}
    return stamp if isinstance(stamp, dict) else {}


def _previous(build: Path) -> dict[str, Any]:
    try:
        return {stage["name"]: stage for stage in read_json(build / "reproduce.json")["stages"]}
    except (ValueError, KeyError, TypeError):
        return {}


def _launch(run: StageRun, build: Path, lock: int | None) -> None:
    stage = run.stage
    if not stage.always and _read_stamp(stage, build).get("key") != stage.key:
        _remove_outputs(stage)
    # Before there is a process, which a full disk would leave without a stamp.
    write_json(_stamp(stage, build), {"key": stage.key, "finished": False})
    check_writable(run.log)
    environment = {
        **followed(),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "PYTHONUNBUFFERED": "1",
        # Of a dependency that is compiled when first imported; it would stand in the progress line.
        "PYTHONWARNINGS": os.environ.get("PYTHONWARNINGS", "ignore::SyntaxWarning"),
    }
    with run.log.open("wb") as log:
        run.process = subprocess.Popen(
            [sys.executable, *stage.arguments], stdout=log, stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL, env=environment, start_new_session=True,
            # Held until the last stage has ended, should this process be killed.
            pass_fds=() if lock is None else (lock,),
        )
    run.status, run.started = "running", time.monotonic()


def _remove_outputs(stage: Stage) -> None:
    """Remove outputs of other code or another command, or they would be resumed or shown as ours."""
    for path in stage.outputs:
        if path.parent.parent.name == "runs":  # a training run owns its whole folder
            shutil.rmtree(path.parent, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _collect(run: StageRun, build: Path) -> bool:
    """Record a stage if it has just ended; return whether it has."""
    if run.status != "running" or run.process is None:
        return False
    pid, status, usage = os.wait4(run.process.pid, os.WNOHANG)
    if pid == 0:
        return False
    code = run.process.returncode = os.waitstatus_to_exitcode(status)
    if code:
        _signal(run, signal.SIGKILL)  # what a stage that was killed has left running
    run.seconds = time.monotonic() - run.started
    run.cpu_seconds = usage.ru_utime + usage.ru_stime
    # Kilobytes on Linux, bytes on macOS.
    run.peak_megabytes = usage.ru_maxrss / (1024**2 if sys.platform == "darwin" else 1024)
    missing = [str(path) for path in run.stage.outputs if not path.exists()]
    if code == 0 and not missing:
        run.status = "done"
        write_json(_stamp(run.stage, build), {"key": run.stage.key, "finished": True})
        return True
    why = _last_line(run.log) if code else f"it left no {', '.join(missing)}"
    if run.stage.may_skip:
        run.status, run.reason = "skipped", f"{run.stage.may_skip} ({why})"
    else:
        run.status, run.reason = "failed", f"{why} (exit status {code}, log {run.log})"
    return True


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1].strip()[:300] if lines else "it printed nothing"


def _stop(running: list[StageRun]) -> None:
    """End the stages that still run after an interrupt: first by SIGTERM, then by SIGKILL."""
    for run in running:
        _signal(run, signal.SIGINT)
    deadline = time.monotonic() + TERMINATION_SECONDS
    for run in running:
        assert run.process is not None
        try:
            run.process.wait(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            _signal(run, signal.SIGKILL)
            run.process.wait()
        run.status, run.reason = "waiting", "interrupted"


def _signal(run: StageRun, number: signal.Signals) -> None:
    assert run.process is not None
    # Its own session: workers that it started are in its process group.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(run.process.pid, number)


def peak_side_by_side(runs: list[StageRun]) -> float:
    """An upper bound of the memory ever in use at once, megabytes: peaks of stages that overlapped."""
    measured = [run for run in runs if run.status in ("done", "failed") and run.started]
    return max(
        (
            sum(
                other.peak_megabytes
                for other in measured
                if other.started <= run.started < other.started + other.seconds
            )
            for run in measured
        ),
        default=0.0,
    )


def _write_summary(
    profile: Profile, build: Path, runs: list[StageRun], seconds: float, seed: int
) -> None:
    write_json(
        build / "reproduce.json",
        {
            "profile": profile,
            "seconds": round(seconds, 1),
            "peak_megabytes_at_once": round(peak_side_by_side(runs), 1),
            "stages": [run.record() for run in runs],
            "provenance": provenance(config={"profile": profile, "lanes": LANES}, seed=seed),
        },
    )


def print_outcome(runs_file: Path, build: Path, stream: TextIO) -> dict[str, Any]:
    """Print what a user should know at the end: failures, skips, where the report is.

    Returns what ``runs_file`` holds.
    """
    summary: dict[str, Any] = read_json(runs_file)
    for stage in summary["stages"]:
        if stage["status"] in ("failed", "skipped"):
            print(f"{stage['status']}: {stage['name']}: {stage['reason']}", file=stream)
    page = build / "report" / "index.html"
    print(
        f"{summary['seconds']:.0f} s, at most {summary['peak_megabytes_at_once'] / 1024:.1f} GB at "
        f"once; report: {page if page.exists() else 'not written'}",
        file=stream,
    )
    return summary
