"""Faults that end a run: memory that runs out, a GPU that is lost, a gradient that is not finite."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

DIVERGED = "diverged.pt"


GPU_LOST = (
    "unknown error", "unspecified launch failure", "no CUDA-capable device", "busy or unavailable",
    "uncorrectable ECC", "hardware stack error", "has fallen off the bus", "is lost",
    "driver shutting down",
)
"""CUDA's messages for a device that no longer answers, which wrong code alone does not cause."""


def training_settings(args: Any) -> str:
    """Say which of TRL's options ``args`` set the memory that training takes, and how to change them."""
    return (
        f"{args.per_device_train_batch_size} completions of up to {args.max_completion_length} tokens "
        "at once: raise micro_batches (gradient_accumulation_steps, with a smaller "
        "per_device_train_batch_size), lower max_new_tokens (max_completion_length), or turn "
        "gradient_checkpointing on"
    )


def sampling_settings(batch_size: int, max_new_tokens: int) -> str:
    """Say which of TRL's options set the memory that sampling takes, and how to change them."""
    return (
        f"{batch_size} completions of up to {max_new_tokens} tokens at once: lower batch_size or "
        "max_new_tokens, or take dtype bfloat16"
    )


@contextlib.contextmanager
def device_errors_named(settings: str) -> Iterator[None]:
    """Turn torch's errors for a lack of memory, and for a lost GPU, into an OSError for the user.

    Args:
        settings: the settings that decide how much memory is taken, and how to change them.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        # A GPU's is a class of its own; a CPU's is a RuntimeError of the default allocator.
        if isinstance(error, torch.OutOfMemoryError | MemoryError) or (
            "DefaultCPUAllocator" in str(error)
        ):
            raise OSError(f"out of memory with {settings} ({reason})") from error
        if "CUDA" in reason and any(words in reason for words in GPU_LOST):
            raise OSError(
                f"the GPU no longer answers ({reason}): see that `nvidia-smi` lists it, or choose "
                "another by CUDA_VISIBLE_DEVICES, and run the same command again: it goes on from what "
                "was saved"
            ) from error
        raise


def check_gradient(model: Any, *, folder: Path, step: int, rows: list[dict[str, Any]]) -> None:
    """Refuse a step whose gradient is not finite, before it spoils the weights.

    Args:
        folder: where ``diverged.pt`` with the step's rows is written, if the step is refused.
        step: number of optimizer steps taken so far.
        rows: the micro-batches' columns.

    Raises:
        ValueError: NaN or an infinity in the gradient.
    """
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    if not gradients or bool(torch.isfinite(torch.nn.utils.get_total_norm(gradients))):
        return
    path = folder / DIVERGED
    folder.mkdir(parents=True, exist_ok=True)
    torch.save({"step": step, "micro_batches": rows}, path)
    raise ValueError(
        f"the gradient of step {step + 1} is not finite: the weights are those after step {step}, "
        f"and the step's rows are in {path}; lower learning_rate, set max_grad_norm, or look at the "
        "rule's coefficients"
    )
