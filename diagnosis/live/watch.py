"""The command that follows the log of a run that goes on, and speaks when its verdict changes."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import tyro

from diagnosis.command import FOUND, check_findings, fails
from diagnosis.live.verdicts import Verdicts
from entropy_theory.training_logs.logs import read

State = tuple[tuple[str, int, int], ...]


def watch(
    logs: tyro.conf.Positional[tuple[Path, ...]],
    /,
    *,
    every: float = 5.0,
    once: bool = False,
    fail_on: tuple[str, ...] = (),
) -> int:
    """Follow the log of a run that goes on, and say when the verdict on it changes; ctrl-C ends it.

    examples:
      policy-entropy watch console.log
      policy-entropy watch metrics.jsonl --fail-on collapse truncation

    Args:
        logs: the log's file or folder, as `diagnose` reads it, and others of the same run. Of several
            runs the last is watched.
        every: seconds between looks at the files.
        once: look once and end; a log without numbers is then an error.
        fail_on: end with status 1 as soon as one of these findings is there ("any": any fault).
    """
    check_findings(fail_on)
    if not logs:
        raise ValueError("name the log of a run, such as console.log")
    if any(str(log) == "-" for log in logs):
        raise ValueError("standard input cannot be read again: write it to a file (train | tee run.log)")
    if not every > 0:
        raise ValueError(f"every must be above 0 seconds, got {every:g}")
    verdicts, seen, waiting = Verdicts(str(logs[0])), None, ""
    try:
        while True:
            state = _state(logs)
            if state != seen:
                seen = state
                try:
                    said = verdicts.look(read(logs))
                except ValueError as error:
                    if once:
                        raise
                    said = None
                    if str(error) != waiting:
                        waiting = str(error)
                        print(f"waiting: {waiting}", file=sys.stderr, flush=True)
                if said is not None:
                    print(said, flush=True)
                if verdicts.found is not None and fails(verdicts.found, fail_on):
                    return FOUND
            if once:
                return 0
            time.sleep(every)
    except KeyboardInterrupt:
        print("watching ended", file=sys.stderr)
        return 0


def _state(logs: tuple[Path, ...]) -> State:
    """Names, sizes and times of all files of the logs."""
    files = [file for log in logs for file in (sorted(log.rglob("*")) if log.is_dir() else [log])
             if file.is_file()]
    return tuple((str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in files)
