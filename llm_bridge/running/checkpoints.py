"""Seals checkpoints, so that a resumed run reads only whole ones.

A kill during a save leaves a folder that looks like a checkpoint, and a full disk one with short
files. A sealed checkpoint lists its files with their digests; only a folder that matches its seal
is resumed from. Digests of terabytes take long: ranks share the files out, and call `seal`, `is_whole`
and `last_whole` together.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from entropy_theory.support import results
from llm_bridge.running import ranks

SEAL = "seal.json"
TRAINER_STATE = "trainer_state.json"
"""The file that transformers' trainer writes last into a checkpoint."""


def seal(folder: Path) -> None:
    """Record the digest of every file of a finished checkpoint."""
    found = _digests(folder)
    ranks.on_main(lambda: results.write_json(folder / SEAL, found))


@contextlib.contextmanager
def whole_or_not_at_all(folder: Path) -> Iterator[None]:
    """Remove a new checkpoint whose writing fails, for instance on a full disk, to free its space.

    Another rank may still be writing, and then ends with an error of its own. So the ranks agree on
    the failure first, where they can.
    """
    is_new = not folder.exists()
    try:
        yield
    except Exception:
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def check_ranks(folder: Path, accelerator: Any) -> None:
    """Refuse to go on from a checkpoint of DeepSpeed's on another number of ranks than wrote it.

    Its optimizer state is cut to the ranks. accelerate's own checkpoints (data parallelism, FSDP) hold
    it whole, and go on on any number, with other random numbers.

    Args:
        folder: of transformers' trainer, which writes a file of random numbers for each rank.
        accelerator: of the run that is to go on.

    Raises:
        ValueError: the numbers differ.
    """
    wrote = max(len(list(folder.glob("rng_state_*.pth"))), 1)
    if accelerator.distributed_type.value == "DEEPSPEED" and wrote != accelerator.num_processes:
        raise ValueError(
            f"{folder} was written by {wrote} processes under DeepSpeed, and this run has "
            f"{accelerator.num_processes}: continue it with {wrote}, or start a new run from its weights"
        )


def has_weights_alone(folder: Path) -> bool:
    """Whether a checkpoint was written to its end, but under ``save_only_model``.

    It then has no rank's random numbers, and no seal; one that has a seal is damaged.
    """
    return (folder / TRAINER_STATE).is_file() and not (folder / SEAL).exists() and not any(
        folder.glob("rng_state*.pth"))


def check_resumable(folder: Path) -> None:
    """Raise ValueError for a checkpoint of weights alone, from which a run would not continue exactly.

    transformers goes on from it without a word: with a new optimizer and other random numbers.
    """
    if ranks.on_main(lambda: has_weights_alone(folder)):
        raise ValueError(
            f"{folder} has no optimizer and random numbers to resume from, only weights "
            "(save_only_model=True): start a new run with it as model, and leave save_only_model "
            "at False in a run that is to be resumed")


def is_whole(folder: Path) -> bool:
    """Whether ``folder`` is sealed and every file is unchanged since."""


    def sealed() -> Any:
        try:
            return results.read_json(folder / SEAL)
        except ValueError:
            return None

    expected = ranks.on_main(sealed)
    return expected is not None and bool(expected == _digests(folder))


def last_whole(run: Path) -> Path | None:
    """Return the latest whole checkpoint of a run; a warning names each later one that is broken."""
    found = ranks.on_main(lambda: [
        path for path in run.glob("checkpoint-*") if re.fullmatch(r".*-\d+", path.name)])
    for folder in sorted(found, key=step_of, reverse=True):
        if is_whole(folder):
            return folder
        if ranks.is_main():
            why = "holds weights alone (save_only_model)" if has_weights_alone(folder) else (
                "is incomplete or damaged")
            print(f"warning: {folder} {why}; using the checkpoint before it", file=sys.stderr)
    return None


def step_of(folder: Path) -> int:
    """Return the optimizer step after which a checkpoint folder was written."""
    return int(folder.name.rpartition("-")[2])


def _digests(folder: Path) -> dict[str, str]:
    files = ranks.on_main(lambda: sorted(
        path for path in folder.rglob("*")
        if path.is_file() and path not in (folder / SEAL, results.partial_path(folder / SEAL))))
    digests = ranks.dealt_out(files, _digest)
    return {str(path.relative_to(folder)): digest
            for path, digest in zip(files, digests, strict=True)}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()
