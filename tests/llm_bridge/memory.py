"""How much memory a call takes at its peak."""

import gc
from collections.abc import Callable
from pathlib import Path


def peak_of(call: Callable[[], object]) -> int:
    """Bytes of resident memory that ``call`` takes at its peak, beyond what was there (Linux)."""
    gc.collect()  # cycles that an earlier call left would make room for this one's
    # Starts the high-water mark anew; what getrusage tells is inherited from the parent process.
    Path("/proc/self/clear_refs").write_text("5")
    before = _high_water_mark()
    call()
    return _high_water_mark() - before


def _high_water_mark() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
