"""Locks on files: one process at a time writes what it locked, and a process that ends lets go.

The locks are the kernel's (``flock``): nobody has to remove one that a killed process held. A process
may hand its lock on to those that it starts, by the descriptor; then the last of them lets go.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows: files are whole there too, but may be computed twice
    fcntl = None  # type: ignore[assignment]


@contextmanager
def exclusive(path: Path, on_wait: Callable[[], object] | None = None) -> Iterator[int | None]:
    """Lock ``path``, so that only one process at a time is in such a block for it; others wait.

    The lock is on a file beside ``path`` (`lock_of`), which is removed at the end. On a file system
    without locks, or where nothing can be written, nothing is locked.

    Args:
        path: the file or folder to be written; it need not exist.
        on_wait: called once if another process has the lock; by default a sentence is printed to standard
            error.

    Yields:
        The descriptor that holds the lock, for processes that are to hold it too; None without a lock.

    Raises:
        OSError: no file can be made beside ``path``, as on a full disk.
    """
    lock = lock_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = locked(lock, on_wait or (lambda: _tell(path)))
    except OSError as error:
        raise OSError(
            f"cannot write {path} ({error.strerror or error}): "
            "free some space or choose another output directory"
        ) from error
    try:
        yield handle
    finally:
        if handle is not None:
            lock.unlink(missing_ok=True)
            os.close(handle)


def lock_of(path: Path) -> Path:
    """Return the file that `exclusive` locks for ``path``; a killed process may leave it."""
    return path.parent / f".{path.name}.lock"


def locked(path: Path, on_wait: Callable[[], object] = lambda: None) -> int | None:
    """Make a file where there is none, lock it, and return the descriptor that holds the lock.

    While another process has the lock this waits, and makes the file anew if that one removed or renamed
    it.

    Args:
        path: the file, in a folder that exists.
        on_wait: called once before the wait.

    Returns:
        The descriptor, to be closed by the caller; None where files cannot be locked, or not be made.

    Raises:
        OSError: the file cannot be made for want of space.
    """
    if fcntl is None:
        return None
    told = False
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                return None
            raise
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not told:
                    on_wait()
                told = True
                fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:  # a file system without locks
            path.unlink(missing_ok=True)
            os.close(handle)
            return None
        except BaseException:
            os.close(handle)
            raise
        # Whoever had the lock has removed the file: then this is a lock that nobody else will see.
        if _is_at(handle, path):
            return handle
        os.close(handle)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Lock a folder that exists, so that `is_abandoned` tells others that it is in use."""
    handle = os.open(folder, os.O_RDONLY) if fcntl is not None else None
    try:
        if handle is not None:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_SH)
        yield
    finally:
        if handle is not None:
            os.close(handle)


def is_abandoned(folder: Path) -> bool:
    """Whether no process is in a block of `held` for the folder; False where that cannot be known."""
    if fcntl is None:
        return False
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # gone, or not ours
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _tell(path: Path) -> None:
    print(f"another process is at work on {path}: waiting for it to end", file=sys.stderr, flush=True)


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
