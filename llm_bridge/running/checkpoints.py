"""Seals checkpoints, so that a resumed run reads only whole ones.

A kill during a save leaves a folder that looks like a checkpoint, and a full disk one with short
files. A sealed checkpoint lists its files with their digests; only a folder that matches its seal
is resumed from.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from entropy_theory.support import results

SEAL = "seal.json"


def seal(folder: Path) -> None:
    """Record the digest of every file of a finished checkpoint."""
    results.write_json(folder / SEAL, _digests(folder))


@contextlib.contextmanager
def whole_or_not_at_all(folder: Path) -> Iterator[None]:
    """Remove a new checkpoint whose writing fails, for instance on a full disk, to free its space."""
    is_new = not folder.exists()
    try:
        yield
    except Exception:
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def is_whole(folder: Path) -> bool:
    """Whether ``folder`` is sealed and every file is unchanged since."""
    try:
        sealed = results.read_json(folder / SEAL)
    except ValueError:
        return False
    return bool(sealed == _digests(folder))


def last_whole(run: Path) -> Path | None:
    """Return the latest whole checkpoint of a run; a warning names each later one that is broken."""
    found = [path for path in run.glob("checkpoint-*") if re.fullmatch(r".*-\d+", path.name)]
    for folder in sorted(found, key=step_of, reverse=True):
        if is_whole(folder):
            return folder
        print(
            f"warning: {folder} is incomplete or damaged; using the checkpoint before it",
            file=sys.stderr,
        )
    return None


def step_of(folder: Path) -> int:
    """Return the optimizer step after which a checkpoint folder was written."""
    return int(folder.name.rpartition("-")[2])


def _digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SEAL)
    return {str(path.relative_to(folder)): _digest(path) for path in files}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()
