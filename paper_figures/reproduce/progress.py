"""Progress of `reproduce`: a line an event, and one every half minute of what is running."""

from __future__ import annotations

import time
from collections.abc import Sequence

from paper_figures.reproduce.stage import StageRun

HEARTBEAT_SECONDS = 30.0
WIDTH = 70
"""Characters of a stage's latest line."""


class Progress:
    """Says which stage of how many is running, for how long, and how long it should take."""

    def __init__(self, runs: Sequence[StageRun], lanes: int) -> None:
        self.runs, self.lanes = runs, lanes
        self.began = self.said = time.monotonic()
        self.shown: dict[str, str] = {}

    def update(self) -> None:
        """Print what has changed."""
        for number, run in enumerate(self.runs, 1):
            if self.shown.get(run.stage.name, "waiting") != run.status:
                self.shown[run.stage.name] = run.status
                self._say(f"stage {number} of {len(self.runs)}, {run.stage.name}: {_state(run)}")
        if time.monotonic() - self.said > HEARTBEAT_SECONDS:
            told = [(run.stage.name, _latest_line(run)) for run in self.runs if run.status == "running"]
            names = ", ".join(f"{name} ({line})" if line else name for name, line in told)
            self._say(f"running: {names}; {self._left()}")

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
                kind.append(pace * run.stage.seconds - run.elapsed)
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
        late = [run.stage.name for run in self.runs
                if run.status == "running" and run.elapsed > self._pace() * run.stage.seconds]
        verb = "takes" if len(late) == 1 else "take"
        return f"time left unknown: {', '.join(late)} {verb} longer than expected"

    def _say(self, text: str) -> None:
        self.said = time.monotonic()
        print(f"[{_clock(self.said - self.began)}] {text}", flush=True)


def _state(run: StageRun) -> str:
    return {
        "running": f"started, about {_clock(run.stage.seconds)}", "kept": "done earlier",
        "done": f"{_clock(run.seconds)}, {run.peak_megabytes / 1024:.1f} GB",
    }.get(run.status, f"{run.status}: {run.reason}")


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _latest_line(run: StageRun) -> str:
    """The last line a running stage has printed, shortened; progress bars end with a return."""
    try:
        text = run.log.read_bytes()[-2000:].decode("utf-8", "replace").replace("\r", "\n")
    except OSError:
        return ""
    latest = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")
    return latest if len(latest) <= WIDTH else latest[: WIDTH - 1] + "…"
