"""How much memory a call takes at its peak, and how large the tables over a vocabulary are."""

import collections
import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


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


class Tables(TorchDispatchMode):
    """Sees every tensor made whose last axis is a vocabulary, on any device: memory, by its shape.

    Attributes:
        rows: how many rows the largest had.
        made: how many tables had so many rows, views left out.
    """

    def __init__(self, vocabulary: int):
        super().__init__()
        self.vocabulary, self.rows = vocabulary, 0
        self.made: collections.Counter[int] = collections.Counter()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Look at what an operation returns."""
        found = function(*args, **(kwargs or {}))
        for made in tree_leaves(found):
            if isinstance(made, torch.Tensor) and made.ndim and made.shape[-1] == self.vocabulary:
                rows = made.numel() // self.vocabulary
                self.rows = max(self.rows, rows)
                self.made[rows] += not made._is_view()
        return found
