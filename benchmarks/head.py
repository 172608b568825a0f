"""Per-token log-probability and entropy from hidden states, side by side: time, memory, error.

Ours gives log-probability, entropy, AEnt's clamped entropy and the forecast's sums; beside it what a
user would pick instead, each of which gives less: TRL's chunked head, Liger's fused cross-entropy,
verl's fused head (those that are installed), verl's formula written here, and plain logits with autograd.

    python benchmarks/head.py                        sizes for this machine
    python benchmarks/head.py --json build/head.json
    python benchmarks/head.py --quick                a small size in seconds

Errors of the entropy are relative, against float64: on the inputs that are timed, and of a collapsed
policy, its top logit 30 above all others, without and with tokens at -inf.

With --json an interrupted call goes on with the next size, on the same device and versions.

Repeats are interleaved, so that a busy machine slows all alike; the median is printed with the fastest
and slowest repeat. Peak memory is beyond the inputs: on a CPU that of a process of its own.
"""

from __future__ import annotations

import argparse
import functools
import math
import multiprocessing
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.utils.checkpoint import checkpoint

from entropy_theory import policy
from entropy_theory.support.results import kept_records, provenance, write_json
from llm_bridge.head import per_token

Pair = tuple[torch.Tensor, torch.Tensor]
SIZES = {
    "cpu": ((256, 576, 49_152, "float32"), (64, 576, 151_936, "float32")),
    "cuda": ((8192, 576, 49_152, "bfloat16"), (8192, 4096, 151_936, "bfloat16")),
    "quick": ((32, 64, 4096, "float32"),),
}
"""(tokens, features, vocabulary, dtype)."""
FRACTION = 1 / 3


def ours(hidden: torch.Tensor, weight: torch.Tensor, ids: torch.Tensor) -> Pair:
    found = per_token.column_stack(hidden, weight, ids)
    return found[..., 0], found[..., 1]


def ours_clamped(hidden: torch.Tensor, weight: torch.Tensor, ids: torch.Tensor) -> Pair:
    found = per_token.per_token_statistics(hidden, weight, ids, removed_fraction=FRACTION)
    assert found.clamped_entropy is not None
    return found.log_prob, found.clamped_entropy


def trl(hidden: torch.Tensor, weight: torch.Tensor, ids: torch.Tensor) -> Pair:
    from trl.kernels import ChunkedLogProbFunction

    found = ChunkedLogProbFunction.apply(
        hidden, weight, None, ids, 1.0, 32_768, None, 1.0, ("entropy",)
    )
    return found[0], found[1]


def liger(hidden: torch.Tensor, weight: torch.Tensor, ids: torch.Tensor) -> Pair:
    from liger_kernel.ops.fused_linear_scaled_cross_entropy import (
        LigerFusedLinearScaledCrossEntropyFunction as Fused,
    )

    loss, entropy, *_ = Fused.apply(hidden, weight, ids, return_entropy=True)
    return -loss, entropy


def verl(hidden: torch.Tensor, weight: torch.Tensor, ids: torch.Tensor) -> Pair:
    from verl.utils.experimental.torch_functional import FusedLinearForPPOFunction

    return FusedLinearForPPOFunction.apply(hidden, weight, ids, 1.0, 512)


def verl_formula(hidden: torch.Tensor, weight: torch.Tensor, ids: torch.Tensor) -> Pair:
    """As verl does where its package is absent: logsumexp(x) - sum p x, 512 tokens at a time.

    Source: volcengine/verl, verl/utils/experimental/torch_functional.py, _fused_linear_for_ppo_fwd.
    """
    parts = [
        checkpoint(_verl_chunk, part, weight, taken, use_reentrant=False)
        for part, taken in zip(hidden.split(512), ids.split(512), strict=True)
    ]
    log_prob, entropy = zip(*parts, strict=True)
    return torch.cat(log_prob), torch.cat(entropy)


def _verl_chunk(hidden: torch.Tensor, weight: torch.Tensor, ids: torch.Tensor) -> Pair:
    logits = (hidden @ weight.T).float()
    log_prob = logits.log_softmax(-1).gather(-1, ids[:, None])[:, 0]
    return log_prob, logits.logsumexp(-1) - (logits.softmax(-1) * logits).sum(-1)


def plain(hidden: torch.Tensor, weight: torch.Tensor, ids: torch.Tensor) -> Pair:
    log_prob = (hidden @ weight.T).float().log_softmax(-1)
    entropy = -(log_prob.exp() * log_prob).sum(-1)
    return log_prob.gather(-1, ids[:, None])[:, 0], entropy


METHODS: dict[str, Callable[..., Pair]] = {
    "ours": ours, "ours with clamp": ours_clamped, "TRL": trl, "Liger": liger, "verl": verl,
    "verl's formula": verl_formula, "plain logits": plain,
}


def inputs(size: tuple[int, int, int, str], device: str) -> tuple[torch.Tensor, ...]:
    tokens, features, vocabulary, dtype = size
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(tokens, features, generator=generator)
    # Logits with a standard deviation of 3: entropies of a language model, a few nats.
    weight = torch.randn(vocabulary, features, generator=generator) * 3 / features**0.5
    ids = torch.randint(vocabulary, (tokens,), generator=generator)
    kind = getattr(torch, dtype)
    return hidden.to(device, kind), weight.to(device, kind), ids.to(device)


def step(method: Callable[..., Pair], arguments: tuple[torch.Tensor, ...], backward: bool) -> None:
    hidden, weight, ids = arguments
    if not backward:
        with torch.no_grad():
            method(hidden, weight, ids)
        return
    hidden, weight = hidden.detach().requires_grad_(), weight.detach().requires_grad_()
    log_prob, entropy = method(hidden, weight, ids)
    (log_prob.sum() - 0.01 * entropy.sum()).backward()


def seconds(function: Callable[[], None]) -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    start = time.perf_counter()
    function()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def peak(name: str, size: tuple[int, int, int, str], backward: bool, threads: int) -> float:
    """MiB beyond the inputs; for a CPU to be run in a fresh process."""
    if torch.cuda.is_available():
        arguments = inputs(size, "cuda")
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        step(METHODS[name], arguments, backward)
        return (torch.cuda.max_memory_allocated() - before) / 2**20
    torch.set_num_threads(threads)
    small = inputs((8, 16, 64, "float32"), "cpu")
    step(METHODS[name], small, backward)  # loads what a first call loads
    arguments = inputs(size, "cpu")
    # Linux: start the high-water mark of the resident set anew.
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmHWM")
    step(METHODS[name], arguments, backward)
    return (_status("VmHWM") - before) / 2**10


def peak_alone(name: str, size: tuple[int, int, int, str], backward: bool, threads: int) -> float:
    """`peak`; on a CPU in a child of its own: the largest a process has been never goes down."""
    if torch.cuda.is_available():
        return peak(name, size, backward, threads)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(peak, (name, size, backward, threads))


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def error(method: Callable[..., Pair], arguments: tuple[torch.Tensor, ...]) -> float:
    """Largest relative error of the entropy on 64 tokens, against float64 from the same inputs."""
    hidden, weight, ids = arguments
    with torch.no_grad():
        found = method(hidden[:64], weight, ids[:64])[1].double()
        exact = ours(hidden[:64].double(), weight.double(), ids[:64])[1]
        if method is ours_clamped:
            exact = ours_clamped(hidden[:64].double(), weight.double(), ids[:64])[1]
    return float(((found - exact) / exact).abs().max())


def collapsed(vocabulary: int, masked: bool, device: str) -> tuple[torch.Tensor, ...]:
    """One token whose policy has collapsed: its top logit is 30, all others lie in [-1, 0] or are -inf.

    The logits are the first column of the weight, multiples of 1/8: no product rounds, whatever the
    number format.
    """
    generator = torch.Generator().manual_seed(0)
    logits = -torch.randint(0, 9, (vocabulary,), generator=generator) / 8
    if masked:
        logits[vocabulary // 2 :] = -math.inf
    logits[0] = 30
    weight = torch.zeros(vocabulary, 16)
    weight[:, 0] = logits
    hidden = torch.zeros(1, 16)
    hidden[:, 0] = 1
    return hidden.to(device), weight.to(device), torch.zeros(1, dtype=torch.long, device=device)


def collapsed_error(method: Callable[..., Pair], masked: bool, device: str) -> float | None:
    """Relative error of the entropy of a collapsed policy in float32; None: it is not a number."""
    arguments = collapsed(4096, masked, device)
    logits = arguments[1][:, 0].double().cpu().numpy()
    is_clamped = method is ours_clamped
    exact = policy.clamped_entropy(logits, FRACTION) if is_clamped else policy.entropy(logits)
    with torch.no_grad():
        found = float(method(*arguments)[1].double())
    return abs(found / float(exact) - 1) if math.isfinite(found) else None


def shown(value: float | None) -> str:
    return "not a number" if value is None else f"{value:.1e}"


def available() -> dict[str, Callable[..., Pair]]:
    found = {}
    for name, method in METHODS.items():
        try:
            method(*inputs((8, 16, 64, "float32"), "cuda" if torch.cuda.is_available() else "cpu"))
        except ImportError:
            print(f"{name}: not installed, left out")
        except Exception as problem:  # whatever another package's kernel stumbles over here
            print(f"{name}: does not run here ({type(problem).__name__}), left out")
        else:
            found[name] = method
    return found


def main(arguments_given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="a small size, forward and backward")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments_given)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    threads = torch.get_num_threads()
    methods = available()
    origin = provenance(
        config={"repeats": options.repeats}, seed=0,
        device=torch.cuda.get_device_name(0) if device == "cuda" else "cpu",
        packages=("torch", "trl", "triton", "liger-kernel", "verl"),
    )
    records = kept_records(options.json, origin)
    collapse = {
        name: [collapsed_error(method, masked, device) for masked in (False, True)]
        for name, method in methods.items()
    }
    for size in SIZES["quick" if options.quick else device]:
        arguments = inputs(size, device)
        for backward in (True,) if options.quick else (False, True):
            what = "forward+backward" if backward else "forward"
            if [list(size), what] in [[record["size"], record["pass"]] for record in records]:
                print(f"\n{size}: {what}: kept from an earlier call")
                continue
            print(f"\n{size[0]} tokens, {size[1]} features, vocabulary {size[2]}, {size[3]}: {what}")
            calls = {
                name: functools.partial(step, method, arguments, backward)
                for name, method in methods.items()
            }
            for call in calls.values():
                call()
            rounds = [
                {name: seconds(call) for name, call in calls.items()}
                for _ in range(options.repeats)
            ]
            reference = statistics.median(r["ours"] for r in rounds)
            for name in methods:
                times = sorted(r[name] for r in rounds)
                mib = peak_alone(name, size, backward, threads)
                record: dict[str, Any] = {
                    "method": name, "size": list(size), "pass": what, "peak_mib": mib,
                    "seconds": times, "ratio": statistics.median(times) / reference,
                    "entropy_error": error(methods[name], arguments),
                    "collapsed_error": collapse[name][0], "collapsed_masked_error": collapse[name][1],
                }
                records.append(record)
                print(
                    f"  {name:<16} {statistics.median(times) * 1e3:9.1f} ms "
                    f"({times[0] * 1e3:.1f} to {times[-1] * 1e3:.1f})  {record['ratio']:5.2f} x ours  "
                    f"{mib:9.0f} MiB  entropy off by {record['entropy_error']:.1e}, collapsed "
                    f"{shown(collapse[name][0])}, with -inf {shown(collapse[name][1])}"
                )
            if options.json:
                write_json(options.json, {"provenance": origin, "records": records})


if __name__ == "__main__":
    main()
