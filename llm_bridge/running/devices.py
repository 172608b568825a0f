"""The device that a command was asked for, and what of it is a rank's."""

from __future__ import annotations

import os
from typing import Literal

Device = Literal["auto", "cuda", "cpu"]
"""Where something runs: auto is a GPU where there is one, cuda a GPU or an error."""


def kind(asked: Device) -> str:
    """Return "cuda" or "cpu". Raises ValueError where a GPU is asked for and there is none."""
    if asked == "cuda" and not _has_gpu():
        raise ValueError(
            "device cuda asks for a GPU, and torch finds none: see that `nvidia-smi` lists it, or give "
            "device auto or cpu"
        )
    return "cuda" if asked != "cpu" and _has_gpu() else "cpu"


def of_rank(asked: Device) -> str:
    """Return the device of this rank, "cpu" or "cuda:N", N its number among the ranks of its machine.

    Raises ValueError as `kind`, and for a rank that finds no GPU of its own.
    """
    if kind(asked) == "cpu":
        return "cpu"
    import torch

    place, found = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if place >= found:
        raise ValueError(
            f"{place + 1} processes or more on this machine ask for a GPU each, and torch finds {found}: "
            "start as many processes as there are GPUs, or give device cpu")
    return f"cuda:{place}"


def product(asked: Device) -> str:
    """Name the device for provenance: "cpu", or the GPU's product name. Raises ValueError as `kind`."""
    if kind(asked) == "cpu":
        return "cpu"
    import torch

    return torch.cuda.get_device_name(0)


def _has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()
