"""GPU kernels of the fused head, and the choice between them and torch."""

from __future__ import annotations

import functools
from types import ModuleType

import torch

from llm_bridge.head import row_statistics


def rows_on(device: torch.device) -> ModuleType:
    """Return the module whose `row_statistics` and `row_gradient` serve this device."""
    if device.type == "cuda" and has_triton():
        from llm_bridge.head import triton_rows

        return triton_rows
    return row_statistics


@functools.cache
def has_triton() -> bool:
    """Whether Triton is installed."""
    try:
        import triton  # noqa: F401
    except ImportError:
        return False
    return True
