"""The runs that want a GPU: a queue that can be stopped and continued, kept in measured/.

Runs are made in order, each resumed where an earlier call left it; what is finished stays. Nothing
starts after the budget is spent, and a run that is still going then is interrupted: its checkpoints
let the next call continue it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from entropy_theory.results import read_json
from paper_figures.inputs import MEASURED

# Name -> options of `python -m llm_bridge train`.
RUNS: dict[str, tuple[str, ...]] = {
    f"{model}-{task}-{rule}": (
        "--model", model, "--task", task, "--rule", rule, "--steps", steps, "--seed", "0", *size
    )
    for model, task, steps, size in (
        ("small-sums", "split", "400", ("--prompts", "32")),
        ("small-sums", "sum", "400", ("--prompts", "32")),
        ("smollm2-135m-instruct", "chain-sum", "200", ("--prompts", "16", "--micro-batches", "1")),
    )
    for rule in ("grpo", "aepo")
}
COMMON = ("--audit-every", "10", "--no-save-model", "--log-to", "none")
INTERRUPT_SECONDS = 60.0


def run_queue(budget_minutes: float, *, folder: Path = MEASURED) -> int:
    """Make or continue the runs; 0 if all are finished, 1 if one failed, 3 if some are left.

    Args:
        budget_minutes: wall-clock time to spend.
        folder: where the runs lie.

    Raises:
        ValueError: no GPU, or a budget that is not above 0.
    """
    if not budget_minutes > 0:
        raise ValueError(f"the budget must be above 0 minutes, got {budget_minutes:g}")
    print(f"GPU: {require_gpu()}", flush=True)
    deadline = time.monotonic() + 60 * budget_minutes
    failed = []
    for name in unfinished(folder):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        print(f"{name}: {left / 60:.1f} minutes of the budget left", flush=True)
        status = _train(command(name, folder), left)
        if status not in (0, None):
            print(f"failed: {name} (exit status {status}); `{' '.join(command(name, folder))}`")
            failed.append(name)
    for checkpoints in folder.glob("*/tensorboard"):
        shutil.rmtree(checkpoints, ignore_errors=True)
    left_over = unfinished(folder)
    print(f"finished {len(RUNS) - len(left_over)} of {len(RUNS)} runs"
          + (f"; left: {', '.join(left_over)}" if left_over else ""))
    if failed:
        return 1
    return 3 if left_over else 0


def command(name: str, folder: Path = MEASURED) -> list[str]:
    """The command line of one run."""
    return ["python", "-m", "llm_bridge", "train", *RUNS[name], *COMMON, "--output",
            os.path.relpath(folder / name)]


def unfinished(folder: Path = MEASURED) -> list[str]:
    """Names of the runs that are not finished, in order."""
    return [name for name in RUNS if not _is_finished(folder / name)]


def require_gpu() -> str:
    """The name of the GPU; ValueError where there is none."""
    import torch

    if not torch.cuda.is_available():
        raise ValueError(
            "no GPU that torch can use: run this where `nvidia-smi` shows one and torch was "
            f"installed with CUDA (here: torch {torch.__version__}); nothing else needs it"
        )
    return torch.cuda.get_device_name(0)


def _is_finished(run: Path) -> bool:
    try:
        return read_json(run / "run.json").get("status") == "finished"
    except ValueError:
        return False


def _train(arguments: list[str], seconds: float) -> int | None:
    """Exit status, or None where the time was up first."""
    with subprocess.Popen([sys.executable, *arguments[1:]]) as process:
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


def waiting_list() -> str:
    """The text of measured/WAITING.md: what is asked for and not there yet."""
    lines = [
        "# Measurements that wait for a GPU",
        "",
        "`make gpu` makes them where a GPU is at hand (`BUDGET_MINUTES=25` by default; it can be",
        "stopped and continued), one folder a run, beside this file, with its provenance.",
        "",
    ]
    for name in unfinished():
        lines += [f"- **{name}**", f"  `{' '.join(command(name))}`"]
    if not unfinished():
        lines += ["None: all are here."]
    return "\n".join(lines) + "\n"
