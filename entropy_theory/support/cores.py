"""How many processors a process may use, which in a container or under a scheduler are not all."""

from __future__ import annotations

import os


def usable() -> int:
    """Return the number of processors that this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
