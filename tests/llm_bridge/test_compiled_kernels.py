"""Guards llm_bridge/head/triton_rows.py where there is no GPU: what its kernels would take of one."""

import pytest

pytest.importorskip("triton")

import torch
import triton
import triton.language as tl

from tests.llm_bridge import compiled_kernels as kernels

REGISTERS = {"sm_80": 64, "sm_90": 64, "sm_100": 104, "gfx942": 64}
"""At 64 registers half of a multiprocessor's threads run at once, at 104 a quarter. Measured: up to 64,
64, 100 and 58; sums with a clamp took 206 to 246 when half as many threads summed up every block."""


@pytest.fixture(autouse=True)
def a_cache_of_its_own(monkeypatch, tmp_path_factory):
    """A kernel that was compiled is found again, by every test process; nothing lands in the home."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.getbasetemp().parent / "triton"))


@pytest.mark.parametrize("target", kernels.TARGETS)
@pytest.mark.parametrize("vocabulary", kernels.VOCABULARIES)
def test_kernels_fit_a_gpu(target, vocabulary):
    """A kernel that does not compile, spills, or reads logits one by one: many times the time, which
    no test of its numbers would show."""
    for launch in kernels.launches(vocabulary):
        found = kernels.resources(launch, target)
        told = kernels.line(launch, vocabulary, target, found)
        print(told)
        assert found.spilled == 0, told
        assert found.registers <= REGISTERS[target], told
        assert found.occupancy >= 0.25, told
        assert found.vector_loads > 0, told


@triton.jit
def _greedy(logits, size, out, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    x = tl.load(logits + tl.program_id(0) * size + index, mask=index < size, other=0.0)
    tl.store(out + tl.program_id(0) * size + index, x - tl.sum(x, axis=0), mask=index < size)


def test_what_a_bad_kernel_takes_is_seen():
    """Each thread holds 32 logits of a row of odd length in 16 registers: they spill, and are read one
    by one."""
    logits = torch.zeros(2, 1023)
    launch = kernels.Launch(
        _greedy, (logits, 1023, logits), {"BLOCK": 1024, "num_warps": 1, "maxnreg": 16})
    found = kernels.resources(launch, "sm_90")
    assert found.spilled > 0
    assert found.vector_loads == 0
