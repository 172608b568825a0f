"""The state of a stage, for the pipeline that runs it and the display that shows it."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from paper_figures.reproduce.stage import Stage

Status = Literal["waiting", "running", "done", "kept", "failed", "skipped"]


@dataclass(kw_only=True, slots=True)
class StageRun:
    """The state of a stage while the main job runs."""

    stage: Stage
    log: Path
    status: Status = "waiting"
    reason: str = ""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_megabytes: float = 0.0
    started: float = 0.0
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def settled(self) -> bool:
        """Whether the stage is over, or will not run."""
        return self.status in ("done", "kept", "failed", "skipped")

    def record(self) -> dict[str, Any]:
        """Return a JSON-like summary."""
        return {
            "name": self.stage.name,
            "command": "python " + " ".join(self.stage.arguments),
            "status": self.status,
            "reason": self.reason,
            "seconds": round(self.seconds, 2),
            "cpu_seconds": round(self.cpu_seconds, 2),
            "peak_megabytes": round(self.peak_megabytes, 1),
            "log": str(self.log),
        }
