"""Guards accelerate_configs/: what cannot run here is held to accelerate's own schema."""

import inspect
from pathlib import Path

import pytest
from accelerate import DistributedType, FullyShardedDataParallelPlugin
from accelerate.commands.config.config_args import load_config_from_file
from accelerate.commands.launch import launch_command_parser

import llm_bridge

CONFIGS = sorted((Path(llm_bridge.__file__).parent / "accelerate_configs").glob("*.yaml"))
LAUNCHER = {action.dest for action in launch_command_parser()._actions}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_accelerate_knows_every_key(path):
    """An unknown key at the top is an error of accelerate's; one further down it would ignore."""
    config = load_config_from_file(str(path))
    assert config.num_processes > 1
    assert f"accelerate_configs/{path.name}" in path.read_text()
    for section in ("fsdp_config", "deepspeed_config"):
        for key in getattr(config, section) or {}:
            assert key in LAUNCHER, f"{path.name}: {section}.{key}"


def test_each_config_is_what_its_name_says():
    found = {path.stem: load_config_from_file(str(path)) for path in CONFIGS}
    assert {name: DistributedType(c.distributed_type) for name, c in found.items()} == {
        "ddp": DistributedType.MULTI_GPU, "fsdp2": DistributedType.FSDP,
        "zero2": DistributedType.DEEPSPEED, "zero3": DistributedType.DEEPSPEED,
    }
    assert found["fsdp2"].fsdp_config["fsdp_version"] == 2
    assert "fsdp_version" in inspect.signature(FullyShardedDataParallelPlugin).parameters
    for stage in (2, 3):
        assert found[f"zero{stage}"].deepspeed_config["zero_stage"] == stage
