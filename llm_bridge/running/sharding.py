"""Whether a rank holds the whole model, or a part that it must complete together with the others."""

from __future__ import annotations

import dataclasses
from typing import Any

from torch.distributed.fsdp import MixedPrecisionPolicy
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


def return_unrounded(accelerator: Any) -> None:
    """Let models that FSDP2 is to shard return what they compute, in its own format.

    Under bf16 or fp16 accelerate has FSDP2 round what a model returns. The fused head's log-probabilities
    and entropies would be rounded to 3 digits; it does not act then, and all logits are held.

    Args:
        accelerator: accelerate's, before it prepares a model.
    """
    plugin = getattr(accelerator.state, "fsdp_plugin", None)
    if plugin is not None and isinstance(plugin.mixed_precision_policy, MixedPrecisionPolicy):
        plugin.mixed_precision_policy = dataclasses.replace(
            plugin.mixed_precision_policy, output_dtype=None)
