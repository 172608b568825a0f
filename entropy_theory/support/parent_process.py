"""Processes that end with the one that started them, however that one ends.

A process that is killed outright cannot end those that it started, so each of them watches its parent
itself. Workers of `multiprocessing` and ranks of a launcher call `end_with_parent`. A command that
another of this package's commands starts finds in its environment that it should (`followed`), and
`user_errors.run_command` has it do so.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import wait
from typing import Any

LOOK_SECONDS = 0.2
"""Seconds between looks whether the parent is still there."""
STARTER = "POLICY_ENTROPY_STARTED_BY"
"""The environment variable with the process that a command should end with."""


def followed() -> dict[str, str]:
    """Return the environment for commands that should end with this process."""
    return {**os.environ, STARTER: str(os.getpid())}


def end_with_starter() -> None:
    """Have this process end with the one that started it, if that one asked for it (`followed`)."""
    starter = os.environ.pop(STARTER, "")
    # What a process in between has passed on is not meant for this one; unless that has ended already.
    if starter.isdecimal() and (os.getppid() == int(starter) or not _is_there(int(starter))):
        end_with_parent(parent=int(starter))


def end_with_parent(*, parent: int | None = None, last_words: str = "") -> None:
    """Have this process end as soon as its parent has, and its process group with it if it leads one.

    Args:
        parent: by default the process that started this one; a worker of `multiprocessing` ends with the
            one that asked for it.
        last_words: printed to standard error before the end.
    """
    watched = os.getppid() if parent is None else parent
    threading.Thread(target=_watch, args=(watched, last_words), daemon=True).start()


def clean_context(preload: Sequence[str]) -> Any:
    """Return the way to start processes: from a clean server, where there is one, with modules loaded.

    Forking a parent that has threads can hang. Linear algebra starts no threads of its own in them.
    """
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(preload))
    return context


def _watch(parent: int, last_words: str) -> None:
    asking = multiprocessing.parent_process()
    if asking is not None:
        wait([asking.sentinel])
    else:
        while os.getppid() == parent:
            time.sleep(LOOK_SECONDS)
    if last_words:
        print(last_words, file=sys.stderr, flush=True)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    # The main thread may wait for something that never comes.
    os._exit(1)


def _is_there(process: int) -> bool:
    with contextlib.suppress(PermissionError):  # another user's
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
    return True
