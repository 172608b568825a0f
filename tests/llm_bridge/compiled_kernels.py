"""What the fused head's kernels take of a GPU, from compiling them for it; no GPU is needed.

    python -m tests.llm_bridge.compiled_kernels    prints all of them
"""

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction, mangle_type

from llm_bridge.head import row_statistics, triton_rows

TARGETS = {
    "sm_80": GPUTarget("cuda", 80, 32), "sm_90": GPUTarget("cuda", 90, 32),
    "sm_100": GPUTarget("cuda", 100, 32), "gfx942": GPUTarget("hip", "gfx942", 64),
}
"""A100, H100 and H200, B200, MI300X."""
SHARED_KIB = {"sm_80": 164, "sm_90": 228, "sm_100": 228, "gfx942": 64}
"""Shared memory of a multiprocessor (CUDA programming guide, compute capabilities; CDNA 3 ISA)."""
VOCABULARIES = (151_936, 50_257)
"""Of Qwen and GPT-2: a multiple of 16, for which the compiler knows that rows are aligned, and none."""


@dataclass(frozen=True)
class Launch:
    """A kernel as `triton_rows` starts it."""

    kernel: JITFunction
    arguments: tuple
    options: dict

    @property
    def name(self) -> str:
        clamped = " with clamp" if self.options.get("CLAMPED") else ""
        return self.kernel.__name__.strip("_").removesuffix("_kernel") + clamped


@dataclass(frozen=True)
class Resources:
    """What a compiled kernel takes."""

    registers: int
    """Of a thread."""
    spilled: int
    """Registers that do not fit (AMD), or bytes of a thread's stack (NVIDIA)."""
    shared: int
    """Bytes of a program."""
    vector_loads: int
    """Instructions that read four logits at once."""
    occupancy: float
    """The share of a multiprocessor's threads that run at once."""


def launches(vocabulary: int) -> list[Launch]:
    """Every kernel with the arguments of a forward and a backward pass, with and without a clamp."""
    found: list[Launch] = []

    def recorder(kernel):
        class Recorder:
            def __getitem__(self, _grid):
                return lambda *arguments, **options: found.append(Launch(kernel, arguments, options))

        return Recorder()

    kernels = {name: value for name, value in vars(triton_rows).items()
               if isinstance(value, JITFunction) and name.endswith("_kernel")}
    with mock.patch.multiple(triton_rows, **{name: recorder(k) for name, k in kernels.items()}):
        # The second row: a view that starts at no multiple of 16 bytes where rows are of odd length.
        logits = torch.zeros(3, vocabulary)[1:]
        ids, factor = torch.zeros(2, dtype=torch.long), torch.zeros(2)
        clamp = row_statistics.Clamp(factor, ids)
        triton_rows.row_statistics(logits, ids)
        triton_rows.row_gradient(logits, ids, factor, factor)
        triton_rows.row_statistics(logits, ids, 0.3)
        triton_rows.row_gradient(logits, ids, factor, factor, factor, clamp)
    assert {launch.kernel for launch in found} == set(kernels.values())
    return list({launch.name: launch for launch in found}.values())


def compiled(launch: Launch, target: str) -> SimpleNamespace:
    """Compile a kernel as Triton would at this launch on such a GPU."""
    names = launch.kernel.arg_names
    values = dict(zip(names, launch.arguments, strict=False)) | launch.options
    signature, constants, hints = {}, {}, {}
    for place, name in enumerate(names):
        value = values[name]
        if name in launch.options:  # tl.constexpr
            signature[name], constants[(place,)] = "constexpr", value
            continue
        signature[name] = mangle_type(value)
        if (value.data_ptr() if isinstance(value, torch.Tensor) else value) % 16 == 0:
            hints[(place,)] = [["tt.divisibility", 16]]
    source = ASTSource(launch.kernel, signature, constants, hints)
    options = {name: value for name, value in launch.options.items() if name not in names}
    return triton.compile(source, target=TARGETS[target], options=options)


def resources(launch: Launch, target: str) -> Resources:
    """Compile, and read what the assembler says."""
    found = compiled(launch, target)
    warps, shared = launch.options["num_warps"], found.metadata.shared
    if TARGETS[target].backend == "cuda":
        told = _usage(found.asm["cubin"])
        registers, spilled = told["REG"], told["STACK"] + told["LOCAL"]
        vector_loads = len(re.findall(r"ld\.global\S*\.v4\.b32", found.asm["ptx"]))
        # 65,536 registers for 64 warps, given to a warp in portions of 256.
        fitting = 65_536 // (-(-registers * 32 // 256) * 256) // warps
        most = 64 // warps
    else:
        told = {name: int(value) for name, value in
                re.findall(r"\.(\w+):\s+(\d+)$", found.asm["amdgcn"], re.MULTILINE)}
        registers = told["vgpr_count"] + told["agpr_count"]
        spilled = told["vgpr_spill_count"] + told["private_segment_fixed_size"]
        vector_loads = len(re.findall(r"global_load_dwordx4|buffer_load_dwordx4", found.asm["amdgcn"]))
        # 512 registers a lane for up to 8 waves on each of 4 units, in portions of 8.
        fitting = min(8, 512 // (-(-registers // 8) * 8)) * 4 // warps
        most = 32 // warps
    by_shared = SHARED_KIB[target] * 1024 // max(1, shared + 1024)
    return Resources(registers, spilled, shared, vector_loads, min(fitting, by_shared, most) / most)


def _usage(cubin: bytes) -> dict[str, int]:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
        shown = subprocess.run(
            [str(tool), "--dump-resource-usage", file.name], capture_output=True, text=True, check=True)
    return {name: int(value) for name, value in re.findall(r"(REG|STACK|LOCAL):(\d+)", shown.stdout)}


def line(launch: Launch, vocabulary: int, target: str, found: Resources) -> str:
    return (
        f"{target:<7} {vocabulary:>7} {launch.name:<20} {found.registers:>3} registers, "
        f"{found.spilled} spilled, {found.shared:>5} bytes shared, {found.vector_loads:>2} vector loads, "
        f"occupancy {found.occupancy:.0%}"
    )


if __name__ == "__main__":
    for a_target in TARGETS:
        for size in VOCABULARIES:
            for started in launches(size):
                print(line(started, size, a_target, resources(started, a_target)), flush=True)
