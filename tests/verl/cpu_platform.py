"""A platform of verl's without an accelerator: its engine is written for devices of any name.

verl imports this module where VERL_USE_EXTERNAL_MODULES names it, as it would a vendor's. What it gives
is what `PlatformBase` asks for, and nothing of verl's is replaced.
"""

import contextlib
import types
from typing import Any

import torch
from verl.plugin.platform import set_platform
from verl.plugin.platform.platform_base import PlatformBase


def memory() -> types.ModuleType:
    """torch.cpu, with the counters of memory that verl logs after every step."""
    for name in ("max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved"):
        setattr(torch.cpu, name, lambda *_: 0)
    torch.cpu.empty_cache = lambda: None
    return torch.cpu


class Cpu(PlatformBase):
    device_name = "cpu"
    vendor_name = "none"
    device_module = memory()

    def is_available(self) -> bool:
        return True

    def current_device(self) -> Any:
        return torch.device("cpu")  # the places that take an index take a device too

    def device_count(self) -> int:
        return 1

    def set_device(self, device_index: int) -> None:
        pass

    def synchronize(self, device_index: int | None = None) -> None:
        pass

    def manual_seed(self, seed: int) -> None:
        pass

    manual_seed_all = manual_seed

    def set_allocator_settings(self, settings: str) -> None:
        pass

    def empty_cache(self) -> None:
        pass

    def get_device_capability(self, device_index: int = 0) -> tuple[None, None]:
        return None, None

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"

    @contextlib.contextmanager
    def nvtx_range(self, msg: str):
        yield

    def profiler_start(self) -> None:
        pass

    profiler_stop = profiler_start

    def ray_resource_name(self) -> str:
        return "GPU"  # of which Ray is told, though there is none

    def ray_noset_envvars(self) -> list[str]:
        return []

    def is_ipc_supported(self) -> bool:
        return False

    def cudart(self) -> None:
        return None


set_platform(Cpu())
