"""Live progress of `reproduce`: a table on a terminal, one line per event in a log file."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from paper_figures.reproduce.stage_run import StageRun

HEARTBEAT_SECONDS = 30.0
WIDTH = 70
"""Characters of a stage's latest line."""
SIGNS = {
    "waiting": (" ", "dim"), "running": ("▸", "bold cyan"), "done": ("✓", "green"),
    "kept": ("✓", "dim green"), "failed": ("✗", "bold red"), "skipped": ("–", "yellow"),
}


class Progress:
    """Shows which stage of how many is running, for how long, and how long it should take."""

    def __init__(self, runs: Sequence[StageRun], lanes: int) -> None:
        self.runs, self.lanes = runs, lanes
        self.began = self.said = time.monotonic()
        self.shown: dict[str, str] = {}
        self.live: Live | None = None

    def __enter__(self) -> Progress:
        console = Console(file=sys.stdout)
        if console.is_terminal:
            self.live = Live(self._table(), console=console, refresh_per_second=2)
            self.live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.live is not None:
            self.live.update(self._table())
            self.live.__exit__(kind, error, trace)

    def update(self) -> None:
        """Show the present state."""
        if self.live is not None:
            self.live.update(self._table())
        else:
            self._print_changes()

    def remaining(self) -> float | None:
        """Expected seconds until all stages are through; None while one takes longer than expected.

        Expected times are scaled by how much slower than expected the finished stages were.
        """
        pace = self._pace()
        # A stage that waits for all others has the machine to itself.
        alone: list[float] = []
        together = [0.0]
        for run in self.runs:
            if not run.settled:
                kind = alone if "*" in run.stage.after else together
                kind.append(pace * run.stage.seconds - self._elapsed(run))
        if min(alone + together) < 0:
            return None
        return max(sum(together) / self.lanes, max(together)) + sum(alone)

    def _pace(self) -> float:
        """Measured over expected seconds of the finished stages; at least 1: a cache makes some fast."""
        done = [run for run in self.runs if run.status == "done"]
        expected = sum(run.stage.seconds for run in done)
        return max(1.0, sum(run.seconds for run in done) / expected) if expected else 1.0

    def _left(self) -> str:
        seconds = self.remaining()
        if seconds is not None:
            return f"about {_clock(seconds)} left"
        pace = self._pace()
        late = [run.stage.name for run in self.runs
                if run.status == "running" and self._elapsed(run) > pace * run.stage.seconds]
        verb = "takes" if len(late) == 1 else "take"
        return f"time left unknown: {', '.join(late)} {verb} longer than expected"

    def _elapsed(self, run: StageRun) -> float:
        return time.monotonic() - run.started if run.status == "running" else run.seconds

    def _table(self) -> Table:
        settled = sum(run.settled for run in self.runs)
        table = Table(
            title=f"{settled} of {len(self.runs)} stages, {_clock(time.monotonic() - self.began)} "
            f"elapsed, {self._left()}",
            title_justify="left", box=None, padding=(0, 1), show_header=False,
        )
        for run in self.runs:
            sign, color = SIGNS[run.status]
            table.add_row(
                Text(sign, style=color), Text(run.stage.name, style=color), Text(self._state(run))
            )
        return table

    def _state(self, run: StageRun) -> str:
        if run.status == "running":
            time_spent = f"{_clock(self._elapsed(run))} of about {_clock(run.stage.seconds)}"
            return f"{time_spent}  {_latest_line(run)}"
        if run.status == "waiting":
            return ""
        if run.status == "kept":
            return "done earlier"
        if run.status == "done":
            return f"{_clock(run.seconds)}, {run.peak_megabytes / 1024:.1f} GB"
        return f"{run.status}: {run.reason}"

    def _print_changes(self) -> None:
        for number, run in enumerate(self.runs, 1):
            if self.shown.get(run.stage.name, "waiting") != run.status:
                self.shown[run.stage.name] = run.status
                state = f"started, about {_clock(run.stage.seconds)}"
                if run.status != "running":
                    state = self._state(run)
                self._say(f"stage {number} of {len(self.runs)}, {run.stage.name}: {state}")
        if time.monotonic() - self.said > HEARTBEAT_SECONDS:
            told = [(run.stage.name, _latest_line(run)) for run in self.runs if run.status == "running"]
            names = ", ".join(f"{name} ({line})" if line else name for name, line in told)
            self._say(f"running: {names}; {self._left()}")

    def _say(self, text: str) -> None:
        self.said = time.monotonic()
        print(f"[{_clock(self.said - self.began)}] {text}", flush=True)


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _latest_line(run: StageRun) -> str:
    """The last line a running stage has printed, shortened; progress bars end with a return."""
    try:
        with run.log.open("rb") as log:
            log.seek(max(0, run.log.stat().st_size - 2000))
            text = log.read().decode("utf-8", "replace").replace("\r", "\n")
    except OSError:
        return ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    latest = lines[-1] if lines else ""
    return latest if len(latest) <= WIDTH else latest[: WIDTH - 1] + "…"
