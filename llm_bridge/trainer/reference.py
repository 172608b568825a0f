"""Makes the reference policy: a frozen copy of the model that training starts from."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.distributed as dist
from transformers.integrations import is_fsdp_enabled

from llm_bridge.trainer.trl_release import create_model_from_path, prepare_deepspeed, prepare_fsdp


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
