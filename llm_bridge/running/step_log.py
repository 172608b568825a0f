"""Writes metrics.jsonl, one line for each optimizer step, and shows progress.

A process may be killed at any time and resumed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from rich import progress
from rich.console import Console

from entropy_theory.support import results
from entropy_theory.support.stored import check_form, parsed, text_of

METRICS = ("entropy", "reward", "distinct_answers", "forecast_entropy_change", "entropy_gradient",
           "measured_entropy_change", "temperature", "coefficient", "mean_length", "best_reward",
           "covariance", "seconds")
"""The metrics that others read: numbers, or null where a step has none."""
RECORD = {"step": int, **{f"{name}?": (float, type(None)) for name in METRICS}}
"""The form of a line (`stored.check_form`), which has other metrics too."""


class StepLog:
    """An append-only JSONL file; a broken last line, which a killed writer may leave, is ignored."""

    def __init__(self, path: Path):
        self.path = path

    def append(self, record: dict[str, Any]) -> None:
        """Add one line. Raises OSError, naming the file, when it cannot be written."""
        line = json.dumps(results.plain(record), allow_nan=False) + "\n"
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(line)
        except OSError as error:
            raise OSError(
                f"cannot write {self.path} ({error.strerror}): free some space or choose another "
                "output directory"
            ) from error

    def read(self) -> list[dict[str, Any]]:
        """Return all whole lines, in order.

        Raises:
            ValueError: a file that cannot be read, or a whole line that is not a step's record.
        """
        if not self.path.exists():
            return []
        records = []
        for number, line in enumerate(text_of(self.path).split("\n"), start=1):
            try:
                record = parsed(line)
            except ValueError:
                break
            try:
                check_form(record, RECORD)
            except ValueError as error:
                raise ValueError(f"{self.path}, line {number} is damaged ({error}): delete this line and "
                                 "those after it") from None
            records.append(record)
        return records

    def keep_until(self, step: int) -> None:
        """Drop the lines of later steps, which a resumed run is about to compute again."""
        kept = [record for record in self.read() if record["step"] <= step]
        results.write_text(self.path, "".join(json.dumps(record) + "\n" for record in kept))


class StepProgress:
    """Shows step, entropy, reward and seconds per step: a bar on a terminal, ten lines in a file."""

    def __init__(self, steps: int, *, title: str, done: int = 0, shown: bool = True):
        self._steps, self._title = steps, title
        self._every, self._shown = max(1, steps // 10), shown
        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.fields[values]}"),
            console=Console(file=sys.stderr),
        )
        self._task = self._bar.add_task(title, total=steps, completed=done, values="")

    def __enter__(self) -> StepProgress:
        if self._shown and self._bar.console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        """Show a line beside the bar."""
        if self._shown:
            self._bar.console.print(f"{self._title}: {text}", markup=False, highlight=False,
                                    soft_wrap=True)

    def update(self, record: dict[str, Any]) -> None:
        """Show a step's record."""
        step = record["step"]
        entropy, reward = (
            "-" if record[name] is None else f"{record[name]:.3f}" for name in ("entropy", "reward")
        )
        values = f"entropy {entropy}  reward {reward}  {record['seconds']:.2f} s/step"
        if self._bar.console.is_terminal:
            self._bar.update(self._task, completed=step, values=values)
        elif step % self._every == 0 or step == self._steps:
            print(f"{self._title}: step {step}/{self._steps}  {values}", file=sys.stderr, flush=True)
