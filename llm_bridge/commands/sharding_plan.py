"""Which parts of a model a rank holds in a launch, read before anything is started.

Under a launcher it is accelerate's environment that says it; without one a config file of
``accelerate launch``, such as those of llm_bridge/accelerate_configs.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from accelerate.commands.config.config_args import load_config_from_file

from entropy_theory.support.user_errors import lookup


@dataclass(frozen=True, kw_only=True, slots=True)
class Sharding:
    """What each of several ranks holds only a part of."""

    name: str
    weights: bool = False
    gradients: bool = False
    optimizer: bool = False
    steps_in_float32: bool = False
    """Whether the optimizer steps a copy of the weights in float32, whatever their format."""


WHOLE = Sharding(name="data parallelism")
SHARDINGS = {
    "fsdp2": Sharding(name="FSDP2", weights=True, gradients=True, optimizer=True),
    "zero1": Sharding(name="ZeRO-1", optimizer=True, steps_in_float32=True),
    "zero2": Sharding(name="ZeRO-2", gradients=True, optimizer=True, steps_in_float32=True),
    "zero3": Sharding(
        name="ZeRO-3", weights=True, gradients=True, optimizer=True, steps_in_float32=True),
}
"""By the kind that accelerate's settings come to."""


def launched(file: Path | None) -> tuple[Sharding, int]:
    """Return the sharding and the number of processes of a launch.

    Args:
        file: a config file of ``accelerate launch``; None: what the environment says.

    Raises:
        ValueError: a file that cannot be read, or a kind of sharding whose memory is not known.
    """
    settings = _of_the_environment() if file is None else _of_a_file(file)
    world = int(os.environ.get("WORLD_SIZE", settings.get("num_processes", 1)))
    kind = settings.get("kind")
    if settings.get("offloads"):
        raise ValueError(
            f"{file or 'this launch'} moves weights or the optimizer to the CPU: a plan knows no "
            "offloading, leave it out to see what is needed without")
    if kind is None:
        return WHOLE, world
    return lookup(SHARDINGS, kind, "kind of sharding"), world


def _of_the_environment() -> dict[str, Any]:
    told = os.environ
    if told.get("ACCELERATE_USE_FSDP", "false").lower() == "true":
        return {"kind": f"fsdp{told.get('FSDP_VERSION', '1')}",
                "offloads": told.get("FSDP_OFFLOAD_PARAMS", "false").lower() == "true"}
    if told.get("ACCELERATE_USE_DEEPSPEED", "false").lower() == "true":
        devices = {told.get(f"ACCELERATE_DEEPSPEED_OFFLOAD_{part}_DEVICE", "none")
                   for part in ("OPTIMIZER", "PARAM")}
        return {"kind": f"zero{told.get('ACCELERATE_DEEPSPEED_ZERO_STAGE', '2')}",
                "offloads": devices != {"none"}}
    return {}


def _of_a_file(file: Path) -> dict[str, Any]:
    try:
        found = load_config_from_file(str(file))
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError) as error:
        raise ValueError(f"cannot read accelerate's config file {file}: {error}") from error
    kind = str(getattr(found.distributed_type, "value", found.distributed_type))
    settings: dict[str, Any] = {"num_processes": found.num_processes}
    if kind == "FSDP":
        fsdp = found.fsdp_config
        settings |= {"kind": f"fsdp{fsdp.get('fsdp_version', 1)}",
                     "offloads": bool(fsdp.get("fsdp_offload_params"))}
    elif kind == "DEEPSPEED":
        zero = found.deepspeed_config
        devices = {zero.get(f"offload_{part}_device", "none") for part in ("optimizer", "param")}
        settings |= {"kind": f"zero{zero.get('zero_stage', 2)}", "offloads": devices != {"none"}}
    return settings
