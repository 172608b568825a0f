"""Result files: written whole or not at all, each with its provenance."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from entropy_theory import __version__
from entropy_theory.support import locks
from entropy_theory.support.stored import check_form, parsed, text_of


def provenance(
    *,
    config: Any = None,
    seed: int | None = None,
    device: str = "cpu",
    packages: Sequence[str] = ("numpy",),
) -> dict[str, Any]:
    """Return where a result comes from: commit, versions, device, seed, config and time (UTC).

    Args:
        config: a dataclass or JSON-like value that determines the result.
        seed: the seed the result was computed with.
        device: "cpu", or the name of an accelerator.
        packages: distributions whose versions the result depends on; missing ones are left out.
    """
    versions = {"entropy_theory": __version__, "python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "commit": _commit(),
        "versions": versions,
        "device": device,
        "seed": seed,
        "config": plain(config),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def plain(value: Any) -> Any:
    """``value`` as JSON-like data: dataclasses become dicts, paths strings, arrays lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    return value


def config_key(config: Any) -> str:
    """Short stable digest of a config: equal configs share it, so nothing is computed twice."""
    text = json.dumps(plain(config), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path`` that replaces it when the block ends without an error.

    Whatever happens (a kill, a full disk), ``path`` is either what it was or the whole new file. Of
    several writers at once, one waits for the other.
    An unwritable or full directory is an OSError that names ``path`` and the remedy.
    """
    target = Path(path)
    check_folders(target)
    temporary, handle, is_there = partial_path(target), None, False
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle = locks.locked(temporary)
        if handle is None:  # without locks another process may be writing the same
            handle, name = tempfile.mkstemp(
                dir=target.parent, prefix=f"{temporary.stem}.", suffix=target.suffix)
            temporary = Path(name)
        is_there = True
        os.truncate(temporary, 0)
        yield temporary
        temporary.chmod(0o644)
        os.replace(temporary, target)
        is_there = False
    except OSError as error:
        raise OSError(
            f"cannot write {target} ({error.strerror or error}): "
            "free some space or choose another output directory"
        ) from error
    finally:
        if is_there:
            temporary.unlink(missing_ok=True)
        if handle is not None:
            os.close(handle)


def partial_path(target: Path) -> Path:
    """Return where `atomic_path` writes what will be ``target``.

    A killed writer leaves it there, and the next one takes its place.
    """
    return target.parent / f".{target.name}.partial{target.suffix}"


def check_folders(path: Path) -> None:
    """Raise OSError if what must be a folder for ``path`` to be in it is a file; nothing is made."""
    for folder in path.parents:
        if os.path.isfile(folder):  # false, and no error, where nothing can be read
            raise OSError(f"cannot write {path}: {folder} is a file, and must be a folder: choose "
                          "another output directory")


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError now, not after minutes of work, if ``path`` cannot be written."""
    target = Path(path)
    check_folders(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            raise IsADirectoryError(None, "it is a directory")
        tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as error:
        raise OSError(
            f"cannot write {target} ({error.strerror or error}): choose another output directory"
        ) from error


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write ``text`` to ``path``, whole or not at all."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write ``value`` as indented JSON to ``path``, whole or not at all; NaN is refused."""
    write_text(path, json.dumps(plain(value), indent=2, allow_nan=False) + "\n")


def read_json(path: str | os.PathLike[str], form: Any = object) -> Any:
    """Read JSON, of a certain form if one is given (`stored.check_form`).

    Raises:
        ValueError: a missing file, one that cannot be read, or what is no JSON of this form; the message
            names the file.
    """
    text = text_of(path)
    try:
        value = parsed(text)
    except ValueError as error:
        raise ValueError(f"{path} is not valid JSON ({error}): delete it and run again") from None
    try:
        check_form(value, form)
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}): delete it and run again") from None
    return value


def kept_records(path: str | os.PathLike[str] | None, origin: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the records that an interrupted measurement left in ``path``, for its continuation.

    Args:
        path: a JSON file with "provenance" and "records"; with None there are no records.
        origin: the provenance of the continuation.

    Returns:
        The records, if device, versions, seed and config are the same; else an empty list.
    """
    if path is None:
        return []
    try:
        kept = read_json(path)
        same = all(kept["provenance"][name] == origin[name]
                   for name in ("device", "versions", "seed", "config"))
        return list(kept["records"]) if same else []
    except (ValueError, KeyError, TypeError):
        return []


def _commit() -> str | None:
    """The commit of the checkout this package runs from, "+changes" if it has any, else None."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    try:
        commit = _git(root, "rev-parse", "HEAD")
        return commit + ("+changes" if _git(root, "status", "--porcelain") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(root: Path, *arguments: str) -> str:
    run = subprocess.run(
        ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True, timeout=20
    )
    return run.stdout.strip()
