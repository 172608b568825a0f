"""What steps tabular policies in `simulator.py`: our engine, and what a user would take instead."""

from __future__ import annotations

import ctypes
import importlib.util
import itertools
import math
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from entropy_theory.update_rules import get
from simulations.engine import Dynamics, simulate
from simulations.engine.sampling import Samples

THREADS = 2
ETA, ALPHA, TARGET, GROUP = 0.5, 1.0, 0.5, 8
Steps = Callable[[int], tuple[np.ndarray, np.ndarray]]
"""From a number of steps to (logits after them [runs, actions], entropy before each [steps, runs])."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A bandit with a fifth of its answers right, all runs at once."""

    rule: str
    """"pg": exact policy gradient; "aepo": exact REINFORCE plus the tempered batch, T switched by the
    entropy; "grpo": sampled, groups of 8."""
    runs: int
    actions: int
    dtype: str

    @property
    def right(self) -> int:
        return max(1, self.actions // 5)

    @property
    def entries(self) -> int:
        return self.runs * self.actions

    def start(self) -> np.ndarray:
        drawn = np.random.default_rng(0).normal(size=(self.runs, self.actions))
        return drawn.astype(self.dtype)

    def reward(self) -> np.ndarray:
        return (np.arange(self.actions) < self.right).astype(self.dtype)


def ours(problem: Problem, measured: bool = True) -> Steps:
    """Our engine; without ``measured`` entropy is recorded at the first and the last step only."""
    rule = {"pg": get("reinforce"), "grpo": get("grpo"),
            "aepo": get("aepo", alpha=ALPHA, target=TARGET, base="reinforce")}[problem.rule]
    start, correct = problem.start()[:, None], problem.reward() > 0

    def take(steps: int) -> tuple[np.ndarray, np.ndarray]:
        dynamics = Dynamics(
            rule=rule, learning_rate=ETA, steps=steps, record_every=steps, engine="compiled",
            tail=steps if measured else 1, precision=problem.dtype,
            samples=Samples(group_size=GROUP) if problem.rule == "grpo" else None)
        run = simulate(start, correct, dynamics)
        return run.final_logits[:, 0], run.entropy[:1]

    return take


def notebook(problem: Problem) -> Steps:
    """One run after another, each step as the formulas read. Only a few of the runs: cost is linear."""
    start, right = problem.start()[:20], problem.reward()
    generator = np.random.default_rng(0)

    def take(steps: int) -> tuple[np.ndarray, np.ndarray]:
        final, entropies = start.copy(), np.empty((steps, len(start)))
        for run in range(len(final)):
            z = final[run]
            for t in range(steps):
                pi = np.exp(z - z.max())
                pi /= pi.sum()
                entropies[t, run] = entropy = -np.sum(pi * np.log(pi + 1e-300))
                if problem.rule == "grpo":
                    counts = generator.multinomial(GROUP, pi.astype(np.float64) / pi.sum(dtype=float))
                    share = counts @ right / GROUP
                    if 0 < share < 1:
                        advantage = (right - share) / math.sqrt(share * (1 - share))
                        z = z + ETA * counts / GROUP * advantage
                else:
                    p = pi @ right
                    step = pi * (right - p)
                    if problem.rule == "aepo":
                        tempered = np.exp((z - z.max()) / (1.2 if entropy < TARGET else 0.8))
                        hits = tempered / tempered.sum() * right
                        step = step + ALPHA * (hits - hits.sum() * pi)
                    z = z + ETA * step
            final[run] = z
        return final, entropies

    return take


def vectorized(problem: Problem) -> Steps:
    """All runs at once, in NumPy."""
    start, right = problem.start(), problem.reward()
    generator = np.random.default_rng(0)
    half = start.dtype.type(ETA)

    def take(steps: int) -> tuple[np.ndarray, np.ndarray]:
        z, entropies = start.copy(), np.empty((steps, len(start)))
        for t in range(steps):
            shifted = z - z.max(axis=1, keepdims=True)
            pi = np.exp(shifted)
            total = pi.sum(axis=1, keepdims=True)
            pi /= total
            entropies[t] = (np.log(total) - (pi * shifted).sum(axis=1, keepdims=True))[:, 0]
            if problem.rule == "grpo":
                level = generator.random((len(z), GROUP))
                running = np.cumsum(pi, axis=1, dtype=np.float64)
                drawn = np.stack([np.searchsorted(row, u * row[-1], side="right")
                                  for row, u in zip(running, level, strict=True)])
                hit = right[drawn]
                share = hit.mean(axis=1, keepdims=True)
                deviation = np.sqrt(share * (1 - share))
                safe = np.where(deviation > 0, deviation, 1)
                advantage = np.where(deviation > 0, (hit - share) / safe, 0)
                np.add.at(z, (np.arange(len(z))[:, None], drawn), half * advantage / GROUP)
            else:
                p = pi @ right[:, None]
                step = pi * (right - p)
                if problem.rule == "aepo":
                    degree = np.where(entropies[t] < TARGET, 1.2, 0.8).astype(z.dtype)[:, None]
                    tempered = np.exp(shifted / degree)
                    tempered /= tempered.sum(axis=1, keepdims=True)
                    hits = tempered * right
                    step += ALPHA * (hits - hits.sum(axis=1, keepdims=True) * pi)
                z += half * step
        return z, entropies

    return take


def jax_scan(problem: Problem) -> Steps:
    """JAX, the whole run one compiled scan."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    right, start = jnp.asarray(problem.reward()), jnp.asarray(problem.start())
    dtype = start.dtype

    def step(carry: Any, key: Any) -> Any:
        z = carry
        shifted = z - z.max(axis=1, keepdims=True)
        e = jnp.exp(shifted)
        total = e.sum(axis=1, keepdims=True)
        pi = e / total
        entropy = (jnp.log(total) - (pi * shifted).sum(axis=1, keepdims=True))[:, 0]
        if problem.rule == "grpo":
            running = jnp.cumsum(pi, axis=1)
            level = jax.random.uniform(key, (z.shape[0], GROUP), dtype=dtype) * running[:, -1:]
            drawn = jax.vmap(lambda c, u: jnp.searchsorted(c, u, side="right"))(running, level)
            hit = right[drawn]
            share = hit.mean(axis=1, keepdims=True)
            deviation = jnp.sqrt(share * (1 - share))
            safe = jnp.where(deviation > 0, deviation, 1)
            advantage = jnp.where(deviation > 0, (hit - share) / safe, 0)
            rows = jnp.arange(z.shape[0])[:, None]
            return z.at[rows, drawn].add(ETA * advantage / GROUP), entropy
        change = pi * (right - pi @ right[:, None])
        if problem.rule == "aepo":
            degree = jnp.where(entropy < TARGET, 1.2, 0.8).astype(dtype)[:, None]
            tempered = jnp.exp(shifted / degree)
            hits = tempered / tempered.sum(axis=1, keepdims=True) * right
            change = change + ALPHA * (hits - hits.sum(axis=1, keepdims=True) * pi)
        return z + ETA * change, entropy

    scan = jax.jit(lambda z, keys: jax.lax.scan(step, z, keys))

    def take(steps: int) -> tuple[np.ndarray, np.ndarray]:
        keys = jax.random.split(jax.random.key(0), steps)
        z, entropies = jax.block_until_ready(scan(start, keys))
        return np.asarray(z), np.asarray(entropies)

    return take


def torch_compiled(problem: Problem, device: str = "cpu") -> Steps:
    """torch.compile of one step; the loop over steps is Python's."""
    import torch

    torch.set_num_threads(THREADS)
    torch._dynamo.reset()  # shapes of one problem are not another's
    with torch.inference_mode():
        right = torch.as_tensor(problem.reward(), device=device).clone()
        start = torch.as_tensor(problem.start(), device=device).clone()

    def step(z: Any) -> Any:
        shifted = z - z.amax(dim=1, keepdim=True)
        e = torch.exp(shifted)
        total = e.sum(dim=1, keepdim=True)
        pi = e / total
        entropy = (torch.log(total) - (pi * shifted).sum(dim=1, keepdim=True))[:, 0]
        if problem.rule == "grpo":
            running = torch.cumsum(pi, dim=1)
            level = torch.rand((z.shape[0], GROUP), dtype=z.dtype, device=z.device) * running[:, -1:]
            drawn = torch.searchsorted(running, level, right=True).clamp(max=z.shape[1] - 1)
            hit = right[drawn]
            share = hit.mean(dim=1, keepdim=True)
            deviation = torch.sqrt(share * (1 - share))
            safe = torch.where(deviation > 0, deviation, 1)
            advantage = torch.where(deviation > 0, (hit - share) / safe, 0)
            return z.scatter_add(1, drawn, ETA * advantage / GROUP), entropy
        change = pi * (right - (pi * right).sum(dim=1, keepdim=True))
        if problem.rule == "aepo":
            # Of plain numbers torch.where makes float32.
            hot, cold = torch.full_like(entropy, 1.2), torch.full_like(entropy, 0.8)
            degree = torch.where(entropy < TARGET, hot, cold)[:, None]
            tempered = torch.exp(shifted / degree)
            hits = tempered / tempered.sum(dim=1, keepdim=True) * right
            change = change + ALPHA * (hits - hits.sum(dim=1, keepdim=True) * pi)
        return z + ETA * change, entropy

    compiled = torch.compile(step, dynamic=False)

    def take(steps: int) -> tuple[np.ndarray, np.ndarray]:
        z, entropies = start, []
        with torch.inference_mode():
            for _ in range(steps):
                z, entropy = compiled(z)
                entropies.append(entropy)
            return z.cpu().numpy(), torch.stack(entropies).cpu().numpy()

    return take


def floor(problem: Problem) -> Steps:
    """The fused C loop, runs over two threads; of exact steps only."""
    library = ctypes.CDLL(str(_compile_floor()))
    step = getattr(library, f"step_{problem.dtype}")
    pointer, number, real = ctypes.c_void_p, ctypes.c_long, ctypes.c_double
    step.argtypes = [pointer] * 4 + [number] * 3 + [real] * 3 + [ctypes.c_int, pointer]
    start = problem.start()
    right = np.ascontiguousarray(problem.reward())
    cuts = np.linspace(0, problem.runs, min(THREADS, problem.runs) + 1).astype(int)

    def take(steps: int) -> tuple[np.ndarray, np.ndarray]:
        z = start.copy()
        parts = [np.empty((steps, b - a), z.dtype) for a, b in itertools.pairwise(cuts)]
        work = np.empty((len(parts), 2, problem.actions), z.dtype)

        def part(i: int) -> None:
            step(z[cuts[i]:].ctypes.data, work[i, 0].ctypes.data, work[i, 1].ctypes.data,
                 right.ctypes.data, parts[i].shape[1], problem.actions, steps,
                 ETA, ALPHA, TARGET, problem.rule == "aepo", parts[i].ctypes.data)

        if len(parts) == 1:
            part(0)
        else:
            list(_pool().map(part, range(len(parts))))
        return z, np.concatenate(parts, axis=1)

    return take


BUILD: dict[str, Callable[[Problem], Steps]] = {
    "ours": ours, "notebook": notebook, "numpy": vectorized, "jax": jax_scan, "torch": torch_compiled,
    "floor": floor,
}
_kept: dict[str, Any] = {}


def _pool() -> ThreadPoolExecutor:
    return _kept.setdefault("pool", ThreadPoolExecutor(THREADS))


def _compile_floor() -> Path:
    if "floor" not in _kept:
        folder = Path(tempfile.mkdtemp(prefix="simulator-floor-"))
        source = Path(__file__).with_name("simulator_floor.c")
        subprocess.run(["gcc", "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", "-o",
                        str(folder / "floor.so"), str(source), "-lm", "-lmvec"], check=True)
        _kept["floor"] = folder / "floor.so"
    return _kept["floor"]


def missing(contender: str) -> str | None:
    """Why a contender cannot run here; None if it can."""
    module = {"ours": "llvmlite", "jax": "jax", "torch": "torch"}.get(contender)
    if module and importlib.util.find_spec(module) is None:
        return "not installed"
    if contender in ("floor", "torch") and shutil.which("gcc") is None:
        return "no gcc"
    return None
