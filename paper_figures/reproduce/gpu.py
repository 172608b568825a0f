"""Runs the jobs that need a GPU: a queue that can be stopped and continued, with results in measured/.

Jobs run in order, and each resumes where an earlier call left it; finished jobs stay. No job starts
after the budget is spent, and a job that is still running then is interrupted: a training run's
checkpoints let the next call continue it. A rehearsal runs the same queue on a CPU, every run at two
steps, into a folder of its own, models included.
"""

from __future__ import annotations

import contextlib
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from entropy_theory.support.parent_process import followed
from entropy_theory.support.results import provenance, write_json
from paper_figures.data.inputs import MEASURED
from paper_figures.reproduce.gpu_jobs import MODELS, GpuJob, jobs

REHEARSALS = Path("build") / "gpu" / "rehearsal"
AGAIN = Path("build") / "gpu" / "again"
"""The folder where a run whose record came from another machine is made again for its model."""
INTERRUPT_SECONDS = 60.0
PACKAGES = ("torch", "transformers", "trl", "triton", "numpy", "llvmlite")
PYTEST_NO_TESTS = 5


def run_queue(
    budget_minutes: float, *, folder: Path = MEASURED, queue: Sequence[GpuJob] | None = None,
    rehearsal: bool = False,
) -> int:
    """Run or continue the jobs; return 0 if all are finished, 1 if one failed, 3 if some are left.

    A job that failed is not tried again in the same call, nor what needs it.

    Args:
        budget_minutes: wall-clock time to spend.
        folder: folder of the results.
        queue: the jobs; by default all of them.
        rehearsal: whether to run on a CPU, and only jobs that have a small form.

    Raises:
        ValueError: no GPU, or a budget that is not above 0.
    """
    if not budget_minutes > 0:
        raise ValueError(f"the budget must be above 0 minutes, got {budget_minutes:g}")
    device = "cpu" if rehearsal else require_gpu()
    print(f"{'rehearsal on' if rehearsal else 'GPU:'} {device}", flush=True)
    queue = [job for job in queue or jobs() if job.rehearsal is not None or not rehearsal]
    models = folder / "models" if rehearsal else MODELS
    deadline = time.monotonic() + 60 * budget_minutes
    failed: dict[str, str] = {}
    for job in queue:
        left = deadline - time.monotonic()
        if not _is_wanted(job, queue, folder, models):
            continue
        if left <= 0:
            break
        if job.needs in failed:
            failed[job.name] = f"needs {job.needs}"
            continue
        print(f"{job.name}: {left / 60:.1f} minutes of the budget left", flush=True)
        reason = _make(job, folder, models, left, device, rehearsal)
        if reason:
            print(f"failed: {job.name} ({reason}); `{shlex.join(job.command(folder))}`", flush=True)
            failed[job.name] = reason
            if not rehearsal and not _gpu_answers():
                print("the GPU no longer answers: the queue stops here; run it again where `nvidia-smi` "
                      "lists one, finished jobs are kept", flush=True)
                break
    for board in folder.glob("*/tensorboard"):
        shutil.rmtree(board, ignore_errors=True)
    left_over = unfinished(folder, queue)
    print(f"finished {len(queue) - len(left_over)} of {len(queue)} jobs"
          + (f"; next: {', '.join(job.name for job in left_over[:3])}" if left_over else ""))
    if failed:
        return 1
    return 3 if left_over else 0


def unfinished(folder: Path = MEASURED, queue: Sequence[GpuJob] | None = None) -> list[GpuJob]:
    """Return the jobs that are not finished, in order."""
    return [job for job in queue or jobs() if not job.is_finished(folder)]


def require_checkout() -> None:
    """Raise ValueError unless this is a checkout, whose tests and benchmarks the queue runs."""
    root = Path(__file__).resolve().parents[2]
    if not ((root / "benchmarks").is_dir() and (root / "tests").is_dir()):
        raise ValueError(
            "the GPU queue runs the tests and benchmarks of a checkout, and keeps its results there; "
            f"this package is installed in {root}: clone the repository and run make gpu")


def require_gpu() -> str:
    """Return the name of the GPU; raise ValueError where there is none."""
    import torch

    if not torch.cuda.is_available():
        raise ValueError(
            f"torch {torch.__version__} finds no GPU: run this where `nvidia-smi` shows one and "
            "torch was installed with CUDA; nothing else needs a GPU"
        )
    return torch.cuda.get_device_name(0)


def plan(folder: Path = MEASURED, queue: Sequence[GpuJob] | None = None) -> str:
    """Return a line for each job: its expected minutes, those of all left up to it, name and command."""
    total, lines = 0.0, []
    for job in queue or jobs():
        if job.is_finished(folder):
            lines.append(f"{'finished':>16}  {job.name}")
            continue
        total += job.minutes
        lines.append(
            f"{job.minutes:5.1f} ({total:5.0f} min)  {job.name}: {shlex.join(job.command(folder))}"
        )
    return "\n".join(lines)


def waiting_list(folder: Path = MEASURED) -> str:
    """Return the text of measured/WAITING.md, the list of results that are still missing."""
    left = unfinished(folder)
    minutes = sum(job.minutes for job in left)
    lines = [
        "# Measurements that wait for a GPU",
        "",
        "`make gpu` makes them in this order where a GPU is at hand (`BUDGET_MINUTES=25` by default; it",
        "can be stopped and continued), a folder each beside this file, with provenance. `python -m",
        "paper_figures gpu --dry-run` prints the queue with its times, `--rehearse` takes it through a",
        "CPU at two steps a run.",
        "",
    ]
    if not left:
        return "\n".join([*lines, "None: all are here."]) + "\n"
    lines += [f"{len(left)} are left, about {minutes:.0f} minutes of one H200 (a guess).", ""]
    for job in left:
        lines += [f"- **{job.name}**", f"  `{shlex.join(job.command())}`"]
    return "\n".join(lines) + "\n"


def _gpu_answers() -> bool:
    """Whether a new process sees a GPU; torch counts the GPUs of its own process only once."""
    code = "import torch; torch.zeros(1, device='cuda').item()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def _is_wanted(job: GpuJob, queue: Sequence[GpuJob], folder: Path, models: Path) -> bool:
    """Whether a job must run: it is not finished, or another waits for its model, which is not here."""
    if not job.is_finished(folder):
        return True
    if job.makes is None or (models / job.makes).is_dir():
        return False
    return any(other.needs == job.name and not other.is_finished(folder) for other in queue)


def _make(
    job: GpuJob, folder: Path, models: Path, seconds: float, device: str, rehearsal: bool
) -> str | None:
    """Run a job; return None if it ended well or its time was up, else what went wrong."""
    if job.kind == "train" and job.is_finished(folder):
        if _move_model(job, folder, models):  # killed just before
            return None
        folder = AGAIN
    command = job.command(folder, models)
    if rehearsal:
        command += job.rehearsal or ()
    script = Path(command[1])
    if script.suffix == ".py" and not script.exists():
        return f"there is no {script}"
    started = time.monotonic()
    (folder / job.name).mkdir(parents=True, exist_ok=True)
    status = _run(command, seconds)
    if status is None:
        return None
    if status != 0 and not (job.name == "gpu-tests" and status == PYTEST_NO_TESTS):
        return f"exit status {status}"
    _move_model(job, folder, models)
    if folder == AGAIN:
        shutil.rmtree(folder / job.name)
    if job.kind == "evaluate":  # the completions: large, and needed by a resumption only
        for completions in (folder / "evaluations").glob("*.samples.jsonl"):
            completions.unlink()
    if job.kind != "train":
        write_json(folder / job.name / "job.json", {
            "status": "finished", "command": shlex.join(command),
            "seconds": round(time.monotonic() - started, 1),
            "provenance": provenance(device=device, packages=PACKAGES),
        })
    return None


def _move_model(job: GpuJob, folder: Path, models: Path) -> bool:
    """Move the model that a run left to where other jobs look; return whether there was one."""
    made = folder / job.name / "model"
    if job.makes is None or not made.is_dir():
        return False
    target = models / job.makes
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(made, target)
    return True


def _run(arguments: list[str], seconds: float) -> int | None:
    """Run a command and return its exit status, or None where the time was up first."""
    with subprocess.Popen([sys.executable, *arguments[1:]], env=followed()) as process:
        try:
            return process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=INTERRUPT_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
            return None
        except KeyboardInterrupt:
            process.wait(timeout=INTERRUPT_SECONDS)
            raise
