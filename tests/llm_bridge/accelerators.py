"""accelerate's FSDP2 and DeepSpeed on CPU ranks, set up by the files of llm_bridge/accelerate_configs/.

On CPU ranks accelerate knows data parallelism alone: what it would do on GPUs hangs on one word, the kind
of its distribution, which is changed here. Everything below it (what is wrapped, how gradients are
reduced, how checkpoints are written) is accelerate's, torch's and DeepSpeed's own.
"""

import importlib.util
import os
from pathlib import Path
from typing import Any

import torch
from accelerate.commands import launch
from accelerate.state import PartialState
from accelerate.utils import DistributedType
from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env

import llm_bridge

CONFIGS = Path(llm_bridge.__file__).parent / "accelerate_configs"
KINDS = {
    "ddp": None, "fsdp2": DistributedType.MULTI_GPU, "zero2": DistributedType.DEEPSPEED,
    "zero3": DistributedType.DEEPSPEED}
"""By the name of its file: the kind of distribution that accelerate finds on GPUs."""


def obstacle(name: str) -> str | None:
    """Why a kind of sharding cannot run here; None where it can."""
    if name.startswith("zero") and importlib.util.find_spec("deepspeed") is None:
        return "DeepSpeed is not installed: make test-sharding has an environment with it"
    return None


def environment(name: str) -> dict[str, str]:
    """The variables by which ``accelerate launch --config_file`` tells a rank what its file says."""
    arguments = launch.launch_command_parser().parse_args([
        "--config_file", str(CONFIGS / f"{name}.yaml"), "--num_processes", "2",
        "--main_process_port", "0", "a-script"])
    arguments, *_ = launch._validate_launch_command(arguments)
    arguments.deepspeed_fields_from_accelerate_config = ""
    found = (prepare_deepspeed_cmd_env(arguments)[1] if arguments.use_deepspeed
             else prepare_multi_gpu_env(arguments))
    return {key: value for key, value in found.items()
            if key.startswith(("ACCELERATE_", "FSDP_")) and os.environ.get(key) != value}


def on_cpu(name: str) -> None:
    """Let accelerate find on these CPU ranks what it finds on GPUs."""
    kind, original = KINDS[name], PartialState.__init__
    if kind is None:
        return

    def state(self: Any, cpu: bool = False, **options: Any) -> None:
        is_new = not PartialState._shared_state
        original(self, cpu, **options)
        if is_new:
            self.distributed_type = kind

    PartialState.__init__ = state
    if kind == DistributedType.DEEPSPEED:
        os.environ["DS_ACCELERATOR"] = "cpu"


def accepted(model: Any) -> Any:
    """The model in a format that the sharding takes: under ZeRO-3 float32 in place of float64.

    DeepSpeed refuses other formats there, but forgets to where a processor has no float16.
    """
    return model.float() if os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE") == "3" else model


def whole_weights(made: Any) -> dict[str, Any]:
    """A copy of all trained weights of a trainer, put together from all ranks."""
    plain = made.accelerator.unwrap_model(made.model)
    named = {name: w for name, w in plain.named_parameters() if w.requires_grad}
    if made.accelerator.distributed_type == DistributedType.DEEPSPEED:
        import deepspeed

        if any(w.dtype == torch.bfloat16 for w in named.values()):  # copies of what is stepped
            return {name: deepspeed.utils.safe_get_full_fp32_param(w).detach().clone()
                    for name, w in named.items()}
        with deepspeed.zero.GatheredParameters(list(named.values())):
            return {name: w.detach().clone() for name, w in named.items()}
    return {name: (w.full_tensor() if hasattr(w, "full_tensor") else w).detach().clone()
            for name, w in named.items()}

