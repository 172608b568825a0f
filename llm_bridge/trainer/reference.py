"""Makes the reference policy: a frozen copy of the model that training starts from."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from transformers.integrations import is_fsdp_enabled

from llm_bridge.running.sharding import is_sharded
from llm_bridge.trainer.trl_release import (
    SyncRefModelCallback,
    create_model_from_path,
    prepare_deepspeed,
    prepare_fsdp,
)

REFERENCE = "reference.pt"
"""The file, in a checkpoint, of a reference that follows the policy."""


def frozen_copy(model: Any, args: Any, quantization_config: Any = None) -> Any:
    """Copy the model, or load a model by name as TRL loads the one it trains.

    The copy is whole and equal on every rank until `prepare` shards it.

    Args:
        model: a model, or what TRL takes for one: a folder or a hub id.
        args: TRL's options, of which ``model_init_kwargs`` and ``trust_remote_code`` are read.
        quantization_config: the trainer's argument of that name, where the model is a name.
    """
    if isinstance(model, str):
        options = dict(args.model_init_kwargs or {})
        if quantization_config is not None:
            options["quantization_config"] = quantization_config
        if args.distributed_state.distributed_type in ("MULTI_GPU", "DEEPSPEED"):
            # "auto" would spread each rank's copy over the devices of all.
            options["device_map"] = None
        options.setdefault("trust_remote_code", args.trust_remote_code)
        copied = create_model_from_path(model, **options)
    else:
        copied = copy.deepcopy(model)
    if is_fsdp_enabled():
        _copy_from_main(copied, args.device)
    return copied.requires_grad_(False).eval()


def prepare(reference: Any, trainer: Any) -> Any:
    """Move the frozen copy to its device, sharded as the trainer's model is."""
    if trainer.is_deepspeed_enabled:
        return prepare_deepspeed(reference, trainer.accelerator)
    if trainer.is_fsdp_enabled:
        return prepare_fsdp(reference, trainer.accelerator)
    return trainer.accelerator.prepare_model(reference, evaluation_mode=True)


def follow(trainer: Any) -> None:
    """Let the reference follow the policy as TRL's ``sync_ref_model`` does.

    Raises:
        ValueError: a rule without a reference, or a reference that is not a copy of whole weights.
    """
    if trainer.reference_model is None:
        raise ValueError(
            "sync_ref_model needs a frozen copy of the model, and there is none: give a rule with "
            "a reference (reference-kl) and train without an adapter")
    if is_sharded(trainer.accelerator, trainer.model):
        raise ValueError(
            "sync_ref_model with sharded weights: a checkpoint would not hold the reference. Keep "
            "weights whole (data parallelism), or leave it out")
    trainer.add_callback(SyncRefModelCallback(trainer.reference_model, trainer.accelerator))


def save(trainer: Any, folder: Path) -> None:
    """Write a reference that follows the policy into a checkpoint."""
    if trainer.follows:
        plain = trainer.accelerator.unwrap_model(trainer.reference_model)
        torch.save(plain.state_dict(), folder / REFERENCE)


def load(trainer: Any, folder: Path) -> None:
    """Restore what `save` wrote."""
    if trainer.follows:
        plain = trainer.accelerator.unwrap_model(trainer.reference_model)
        plain.load_state_dict(torch.load(folder / REFERENCE, map_location="cpu", weights_only=True))


def _copy_from_main(model: torch.nn.Module, device: torch.device) -> None:
    """Give all ranks the weights of the first.

    With ``fsdp_cpu_ram_efficient_loading`` one rank of each machine reads a checkpoint, and the others
    hold zeros until accelerate distributes the model that is trained. It does not distribute a reference,
    and TRL's `prepare_fsdp` (version 2) shards what each rank has.
    """
    for tensor in model.state_dict().values():
        sent = tensor.detach().to(device)
        dist.broadcast(sent, src=0)
        tensor.copy_(sent)
