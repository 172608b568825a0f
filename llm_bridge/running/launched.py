"""Silences all processes of a launcher but the first, before torch is imported."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from datetime import timedelta

LAST_WORDS = timedelta(seconds=10)
"""How long a rank waits for another to report its error before it ends."""


def world_size() -> int:
    """Number of ranks that the launcher announced, 1 without one."""
    return int(os.environ.get("WORLD_SIZE", "1"))


@contextlib.contextmanager
def main_speaks() -> Iterator[None]:
    """Let the first rank alone print what all ranks would print, before there is a process group.

    The others then wait for the launcher to end them: if one of them ended first, the launcher would end
    the rank that prints.
    """
    if os.environ.get("RANK", "0") == "0":
        yield
        return
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere),
    ):
        try:
            yield
        except SystemExit as end:
            if end.code:
                time.sleep(LAST_WORDS.total_seconds())
            raise
        except (ValueError, OSError):
            time.sleep(LAST_WORDS.total_seconds())
            raise SystemExit(2) from None
