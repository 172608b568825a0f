"""Whether a rank holds the whole model, or a part that it must complete together with the others."""

from __future__ import annotations

from typing import Any

from torch.distributed.tensor import DTensor

WHOLE = ("NO", "MULTI_CPU", "MULTI_GPU")
"""The kinds of distribution of accelerate in which every rank holds all weights."""


def is_sharded(accelerator: Any, model: Any) -> bool:
    """Whether a forward pass of ``model`` is a collective: FSDP, DeepSpeed ZeRO-3, tensor parallelism.

    Ranks must then call the model equally often, and a choice made from a rank's own rows would hang
    the others. DeepSpeed counts as sharded at every stage.

    Args:
        accelerator: accelerate's, of which ``distributed_type`` is read.
        model: its parameters tell too; a model may be sharded before accelerate sees it.
    """
    return accelerator.distributed_type.value not in WHOLE or any(
        isinstance(weight, DTensor) or hasattr(weight, "ds_id") for weight in model.parameters()
    )
