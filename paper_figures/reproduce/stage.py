"""A stage of the main job: one command, the files it leaves, and which code determines them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from entropy_theory.support.results import config_key

Profile = Literal["smoke", "default", "full"]

ROOT = Path(__file__).resolve().parents[2]
SOURCE = (".py", ".toml", ".safetensors")
"""Programs, settings, and the weights of the bundled model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """One command of the main job."""

    name: str
    arguments: tuple[str, ...]
    """After ``python``; paths relative to the working directory."""
    outputs: tuple[Path, ...]
    """Files that exist when it has succeeded."""
    code: tuple[str, ...]
    """Folders of the project whose source determines the result."""
    after: tuple[str, ...] = ()
    """Stages that must have been tried before it."""
    needs: tuple[str, ...] = ()
    """Stages without whose success it is skipped."""
    seconds: float = 10.0
    """Expected on two cores, for the progress display and the order of starting."""
    gigabytes: float = 0.5
    """Expected peak memory; stages run side by side only while the sum stays under the limit."""
    may_skip: str = ""
    """Why a failure of this stage is no failure of the job; empty where it is one."""
    always: bool = False
    """Runs every time: cheap, and reads whatever the others left."""

    @property
    def key(self) -> str:
        """Equal where command and code are equal, so that a finished stage is not run again."""
        return config_key([self.arguments, [code_digest(folder) for folder in self.code]])


def code_digest(folder: str) -> str:
    """Digest of what determines the results of one folder of the project, `SOURCE`."""
    digest = hashlib.sha256()
    for path in sorted(path for path in (ROOT / folder).rglob("*") if path.suffix in SOURCE):
        digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()


THEORY = ("entropy_theory",)
SIMULATION = ("entropy_theory", "simulations")
LLM = ("entropy_theory", "llm_bridge")
"""What determines the results of each room."""
