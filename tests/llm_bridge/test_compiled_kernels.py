"""Guards llm_bridge/head/triton_rows.py where there is no GPU: what its kernels would take of one.

Half a minute of a core, so no test of every day; a clamp's sums once took 246 registers of a thread,
which no test of their numbers showed.
"""

import re
import subprocess
import tempfile
from pathlib import Path
from unittest import mock

import pytest

pytest.importorskip("triton")

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.runtime.jit import JITFunction, mangle_type

from llm_bridge.head import row_statistics, triton_rows

pytestmark = pytest.mark.deep

TARGETS = {
    "A100": (GPUTarget("cuda", 80, 32), 64), "H200": (GPUTarget("cuda", 90, 32), 64),
    "B200": (GPUTarget("cuda", 100, 32), 104), "MI300X": (GPUTarget("hip", "gfx942", 64), 64),
}
"""And the most registers of a thread: at 64 half of a multiprocessor's threads run at once, at 104 a
quarter. Measured: up to 64, 64, 100 and 58."""


@pytest.fixture(autouse=True)
def _a_cache_of_its_own(monkeypatch, tmp_path_factory):
    """A kernel that was compiled is found again, by every test process; nothing lands in the home."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.getbasetemp().parent / "triton"))


def launches(vocabulary: int) -> list[tuple[JITFunction, tuple, dict]]:
    """Every kernel with the arguments of a forward and a backward pass, with and without a clamp."""
    found: list[tuple[JITFunction, tuple, dict]] = []

    def recorder(kernel):
        class Recorder:
            def __getitem__(self, _grid):
                return lambda *arguments, **options: found.append((kernel, arguments, options))

        return Recorder()

    kernels = {name: value for name, value in vars(triton_rows).items()
               if isinstance(value, JITFunction) and name.endswith("_kernel")}
    with mock.patch.multiple(triton_rows, **{name: recorder(k) for name, k in kernels.items()}):
        # The second row: a view that starts at no multiple of 16 bytes where rows are of odd length.
        logits = torch.zeros(3, vocabulary)[1:]
        ids, factor = torch.zeros(2, dtype=torch.long), torch.zeros(2)
        triton_rows.row_statistics(logits, ids)
        triton_rows.row_gradient(logits, ids, factor, factor)
        triton_rows.row_statistics(logits, ids, 0.3)
        triton_rows.row_gradient(
            logits, ids, factor, factor, factor, row_statistics.Clamp(factor, ids))
    assert {kernel for kernel, *_ in found} == set(kernels.values())
    return found


def compiled(kernel: JITFunction, arguments: tuple, options: dict, target: GPUTarget):
    """Compile a kernel as Triton would at this launch on such a GPU."""
    names = kernel.arg_names
    values = dict(zip(names, arguments, strict=False)) | options
    signature, constants, hints = {}, {}, {}
    for place, name in enumerate(names):
        value = values[name]
        if name in options:  # tl.constexpr
            signature[name], constants[(place,)] = "constexpr", value
            continue
        signature[name] = mangle_type(value)
        if (value.data_ptr() if isinstance(value, torch.Tensor) else value) % 16 == 0:
            hints[(place,)] = [["tt.divisibility", 16]]
    source = ASTSource(kernel, signature, constants, hints)
    further = {name: value for name, value in options.items() if name not in names}
    return triton.compile(source, target=target, options=further)


def taken(code) -> tuple[int, int, int]:
    """Registers of a thread, those that did not fit, and instructions that read four logits at once."""
    if "ptx" not in code.asm:
        told = {name: int(value) for name, value in
                re.findall(r"\.(\w+):\s+(\d+)$", code.asm["amdgcn"], re.MULTILINE)}
        reads = re.findall(r"global_load_dwordx4|buffer_load_dwordx4", code.asm["amdgcn"])
        return (told["vgpr_count"] + told["agpr_count"],
                told["vgpr_spill_count"] + told["private_segment_fixed_size"], len(reads))
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        Path(file.name).write_bytes(code.asm["cubin"])
        tool = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
        shown = subprocess.run(
            [str(tool), "--dump-resource-usage", file.name], capture_output=True, text=True, check=True)
    told = {name: int(value) for name, value in re.findall(r"(REG|STACK|LOCAL):(\d+)", shown.stdout)}
    reads = re.findall(r"ld\.global\S*\.v4\.b32", code.asm["ptx"])
    return told["REG"], told["STACK"] + told["LOCAL"], len(reads)


# Of Qwen and GPT-2: a multiple of 16, for which the compiler knows that rows are aligned, and none.
@pytest.mark.parametrize("vocabulary", [151_936, 50_257])
@pytest.mark.parametrize("gpu", TARGETS)
def test_kernels_fit_a_gpu(gpu, vocabulary):
    """A kernel that does not compile, spills, or reads logits one by one: many times the time."""
    target, most = TARGETS[gpu]
    for launch in launches(vocabulary):
        registers, spilled, reads = taken(compiled(*launch, target))
        told = (launch[0].__name__, launch[2], registers, spilled, reads)
        assert spilled == 0, told
        assert registers <= most, told
        assert reads > 0, told
