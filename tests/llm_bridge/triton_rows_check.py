"""The Triton rows against the torch rows: run by test_head.py under TRITON_INTERPRET=1 on a CPU, and as
it is on a GPU (``python -m tests.llm_bridge.triton_rows_check``)."""

import contextlib
import math
import warnings
from collections.abc import Iterator
from unittest import mock

import pytest
import torch

from llm_bridge.head import per_token, row_statistics, token_statistics, triton_rows
from tests.llm_bridge.test_head import collapsed_rows, exact_entropy


def rows() -> torch.Tensor:
    """Spread, tied, uniform, collapsed, partly -inf and signed-zero rows, longer than two blocks."""
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(6, 301, generator=generator)
    logits[1] = logits[1].round()
    logits[2] = 0
    logits[3] = -30 - torch.rand(301, generator=generator)
    logits[3, 7] = 0
    logits[4, 50:] = -math.inf
    logits[5] = -0.0
    logits[5, ::3] = 0.0
    return logits


@contextlib.contextmanager
def second_gpu() -> Iterator[set[str]]:
    """Let both heads take their tensors for those of a second GPU; gives the names of what they launch.

    A kernel that is launched while another GPU is the current one is an error.
    """
    current, launched = [0], set()

    @contextlib.contextmanager
    def on_device(_):
        current.append(1)
        yield
        current.pop()

    def guarded(name, kernel):
        class Launcher:
            def __getitem__(self, grid):
                assert current[-1] == 1, f"{name} is launched on the current GPU, not on its tensors'"
                launched.add(name)
                return kernel[grid]

        return Launcher()

    kernels = {name: guarded(name, kernel) for name, kernel in vars(triton_rows).items()
               if name.endswith("_kernel")}
    with mock.patch.multiple(triton_rows, **kernels), contextlib.ExitStack() as patches:
        for head in (per_token, token_statistics):
            patches.enter_context(mock.patch.multiple(
                head, on_device=on_device, rows_on=lambda _: triton_rows))
        yield launched
    assert launched == kernels.keys()


def check_second_gpu(device: str) -> None:
    """Raise AssertionError where a pass of either head launches a kernel without its GPU's guard."""
    generator = torch.Generator().manual_seed(2)
    hidden, weight = (torch.randn(size, 8, generator=generator).to(device).requires_grad_()
                      for size in (3, 301))
    ids = torch.tensor([1, 7, 300], device=device)
    with second_gpu() as launched:
        for head in (
            lambda fraction: per_token.per_token_statistics(
                hidden, weight, ids, removed_fraction=fraction or 0.0),
            lambda fraction: token_statistics.from_logits(
                hidden @ weight.T, ids, removed_fraction=fraction),
        ):
            for fraction in (None, 0.2):
                found = head(fraction)
                (found.entropy if fraction is None else found.clamped_entropy).sum().backward()
            assert "_gradient_kernel" in launched
            launched.discard("_gradient_kernel")
        launched.add("_gradient_kernel")


def main() -> None:
    """Raise AssertionError where they differ."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    triton_rows.BLOCK = 256
    logits = rows().to(device)
    ids = torch.arange(6, device=device) * 7
    factors = torch.randn(3, 6, generator=torch.Generator().manual_seed(1)).to(device)
    for fraction in (None, 0.2):
        exact, clamp = row_statistics.row_statistics(logits.double(), ids, fraction)
        found, kept = triton_rows.row_statistics(logits, ids, fraction)
        # Sums of 301 float32 terms; the clamped alignment has terms of both signs.
        torch.testing.assert_close(found[:-1].double(), exact[:-1], rtol=1e-6, atol=0)
        torch.testing.assert_close(found[-1].double(), exact[-1], rtol=4e-6, atol=0)
        extra, exact_extra = (), ()
        if clamp is not None and kept is not None:
            same = torch.equal(
                row_statistics.is_kept(logits, kept), row_statistics.is_kept(logits.double(), clamp)
            )
            assert same, f"other tokens are kept at {fraction}"
            extra, exact_extra = (factors[2], kept), (factors[2].double(), clamp)
        gradient = triton_rows.row_gradient(logits.clone(), ids, *factors[:2], *extra)
        expected = row_statistics.row_gradient(
            logits.double(), ids, *factors[:2].double(), *exact_extra
        )
        torch.testing.assert_close(gradient.double(), expected, rtol=0, atol=2e-6)
    # Rows of 299 begin at each of the four places between two vectors; the second of three blocks lies
    # within a row.
    triton_rows.BLOCK = 128
    collapsed = collapsed_rows()[::8, 1:].contiguous().to(device)
    found, _ = triton_rows.row_statistics(collapsed, collapsed.new_zeros(5, dtype=torch.long))
    entropies = torch.tensor([exact_entropy(row.tolist()) for row in collapsed], dtype=torch.float64)
    torch.testing.assert_close(found[1].double().cpu(), entropies, rtol=1e-6, atol=0)
    for bad in (math.nan, math.inf):
        broken = rows().to(device)
        broken[2, 300] = bad
        # The interpreter's numpy warns of what a GPU computes in silence.
        with warnings.catch_warnings(), pytest.raises(ValueError, match="action 300 of state 0"):
            warnings.simplefilter("ignore")
            triton_rows.row_statistics(broken[2:3].repeat(3, 1), ids[:3])
    check_second_gpu(device)


if __name__ == "__main__":
    main()
