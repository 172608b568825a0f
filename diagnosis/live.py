"""Says when the diagnosis of a run changes while it trains; the command `watch` follows its log.

::

    verdicts = Verdicts("this run", every=10)
    for record in training:
        if said := verdicts.add(record):
            print(said)
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import tyro

from diagnosis.engine import diagnose
from diagnosis.findings import FOUND, Diagnosis, check_names
from entropy_theory.training_logs.logs import Run, from_records, read

State = tuple[tuple[str, int, int], ...]


class Verdicts:
    """The diagnoses of a run so far.

    Args:
        name: name of the run.
        every: number of added records after which a new diagnosis is made.
        records: the records of the run so far.

    Raises:
        ValueError: ``every`` is not a whole number of at least 1.
    """

    def __init__(self, name: str, *, every: int = 10, records: Iterable[Mapping[str, Any]] = ()):
        if type(every) is not int or every < 1:
            raise ValueError(f"every must be a whole number of at least 1, got {every!r}")
        self._name, self._every = name, every
        self._records = list(records)
        self.found: Diagnosis | None = None
        """The last diagnosis."""

    def add(self, record: Mapping[str, Any]) -> str | None:
        """Add a step's record; return a message if the verdict changed."""
        self._records.append(record)
        return None if len(self._records) % self._every else self.judge(self._records)

    def judge(self, records: Sequence[Mapping[str, Any]]) -> str | None:
        """Diagnose a run from all its records; return a message if the verdict changed."""
        runs = from_records(records, self._name)
        return self.look(runs) if runs and runs[-1].series else None

    def look(self, runs: Sequence[Run]) -> str | None:
        """Diagnose the last of some runs; return a message if the verdict changed."""
        *others, run = runs
        before, self.found = self.found, diagnose(run, others)
        if before is not None and _names(before) == _names(self.found):
            return None
        step = max((float(one.step[-1]) for one in run.series.values()), default=0.0)
        first = self.found.findings[0]
        change = "".join(f" Change {one.option}: {one.size}." for one in first.remedies[:1])
        return f"step {step:g}: {self.found.sentence}{change}"


def _names(found: Diagnosis) -> frozenset[str]:
    return frozenset(one.name for one in found.findings)


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
        fail_on: end with status 1 as soon as one of these findings is there, or with "any" on any fault.
    """
    check_names(fail_on)
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
                if verdicts.found is not None and verdicts.found.has(fail_on):
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
