"""A stage of the main job: its command, the files it writes, the code it depends on, and its state."""

from __future__ import annotations

import hashlib
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from entropy_theory.support.results import config_key

Profile = Literal["smoke", "default", "full"]
Status = Literal["waiting", "running", "done", "kept", "failed", "skipped"]

ROOT = Path(__file__).resolve().parents[2]
SOURCE = (".py", ".toml", ".safetensors")
"""The endings of files that count as source: programs, settings, weights of the bundled model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """One command of the main job."""

    name: str
    arguments: tuple[str, ...]
    """The arguments of ``python``, with paths relative to the working directory."""
    outputs: tuple[Path, ...]
    """Files that exist when the stage has succeeded."""
    code: tuple[str, ...]
    """Folders of the project whose source determines the result."""
    after: tuple[str, ...] = ()
    """Stages that must have been tried before this one."""
    needs: tuple[str, ...] = ()
    """Stages without whose success this one is skipped."""
    seconds: float = 10.0
    """Expected time on two cores, for the progress display and the order of starting."""
    gigabytes: float = 0.5
    """Expected peak memory; stages run side by side only while the sum stays under the limit."""
    may_skip: str = ""
    """Why the job may go on without this stage; empty where a failure of the stage fails the job."""
    always: bool = False
    """Whether the stage runs every time, as a cheap one does that reads what the others left."""

    @property
    def key(self) -> str:
        """Return a key of command and code, by which a finished stage is not run again."""
        return config_key([self.arguments, [code_digest(folder) for folder in self.code]])


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

    @property
    def elapsed(self) -> float:
        """How long the stage has run, or ran, in seconds."""
        return time.monotonic() - self.started if self.status == "running" else self.seconds

    def record(self) -> dict[str, Any]:
        """Return a JSON-like summary."""
        return {
            "name": self.stage.name, "command": "python " + " ".join(self.stage.arguments),
            "status": self.status, "reason": self.reason, "seconds": round(self.seconds, 2),
            "cpu_seconds": round(self.cpu_seconds, 2),
            "peak_megabytes": round(self.peak_megabytes, 1), "log": str(self.log),
        }


def code_digest(folder: str) -> str:
    """Return a digest of the `SOURCE` files of one folder of the project."""
    digest = hashlib.sha256()
    for path in sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in SOURCE):
        digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


THEORY = ("entropy_theory",)
SIMULATION = ("entropy_theory", "simulations")
LLM = ("entropy_theory", "llm_bridge")
"""The folders whose source determines the results of `llm_bridge`."""
