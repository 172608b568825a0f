"""Steps of tabular policies, side by side: our engine, and what a user would take instead.

Our engine (`simulate`, engine "compiled"), the loop that a notebook user writes (one run, one step at a
time), NumPy over all runs at once, JAX (jit + scan), torch.compile, and the floor: a fused C loop
(`simulator_floor.c`, -O3 -march=native -ffast-math, libmvec), for comparison only. Every contender
records the entropy of every run at every step, and all may use two cores. On exact rules all must agree
before they are timed. Repeats are interleaved, so that a busy machine slows all; medians, and the fastest
and the slowest. Run times are wall clock, compilation left out.

What is not installed (jax, torch, gcc) is left out and said. ``--json FILE`` writes numbers and machine.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro
from contenders import BUILD, THREADS, Problem, Steps, missing, notebook, ours
from every_rule import every_rule

from entropy_theory.support.results import provenance

SIZES = ("1x10", "1000x10", "1024x100", "256x4096", "8x151936")
RULES = ("pg", "aepo", "grpo")
CONTENDERS = ("ours", "notebook", "numpy", "jax", "torch", "floor")
AIM = 0.3
"""Seconds of one repeat, roughly: long enough that what an engine does once a run is small."""
_kept: dict[str, Any] = {}


def clock() -> float:
    """Seconds: wall clock, or with ``--cpu-time`` processor time of all threads over THREADS."""
    return time.process_time() / THREADS if "cpu" in _kept else time.perf_counter()


def measure(problem: Problem, contenders: Sequence[str], repeats: int) -> dict[str, list[float]]:
    """Nanoseconds a logit and step, of each repeat; repeats of the contenders interleaved."""
    takes: dict[str, tuple[Steps, int, int]] = {}
    finals: dict[str, np.ndarray] = {}
    for name in contenders:
        if name == "floor" and problem.rule == "grpo":
            continue  # what a sampled step costs at least depends on the random numbers
        take = BUILD[name](problem)
        say(f"{problem.rule} {problem.runs}x{problem.actions} {problem.dtype}: {name} warms up")
        finals[name] = take(4)[0]
        runs = len(finals[name])
        began = clock()
        take(4)
        if name != "ours" and clock() - began > AIM:  # two steps fill a repeat
            takes[name] = take, 2, runs
            if name == "jax":
                take(2)
            continue
        # What ours does once a run (set-up, two full records) belongs to thousands of steps.
        steps = 300 if name == "ours" else 8
        while True:
            take(steps)  # JAX compiles for each number of steps
            began = clock()
            take(steps)
            seconds = clock() - began
            if seconds > AIM / 2 or steps >= 200_000:
                break
            steps = int(min(steps * max(2, 0.8 * AIM / max(seconds, 1e-6)), 200_000))
        takes[name] = take, steps, runs
    if problem.rule != "grpo":
        tolerance = 1e-10 if problem.dtype == "float64" else 1e-4
        for name, final in finals.items():
            np.testing.assert_allclose(final, finals["ours"][: len(final)], atol=tolerance, err_msg=name)
    times: dict[str, list[float]] = {name: [] for name in takes}
    for repeat in range(repeats):
        say(f"{problem.rule} {problem.runs}x{problem.actions} {problem.dtype}: repeat {repeat + 1}")
        for name, (take, steps, runs) in takes.items():
            began = clock()
            take(steps)
            entries = runs * problem.actions * steps
            times[name].append((clock() - began) / entries * 1e9)
    say("")
    return times


def line(times: list[float]) -> str:
    """Median and range."""
    return f"{np.median(times):.3g} ({min(times):.3g}-{max(times):.3g})"


def table(problem: Problem, times: dict[str, list[float]]) -> None:
    """One row: ns a logit and step of each contender, and ours against the best of the others."""
    cells = [line(times[name]) if name in times else (missing(name) or "-") for name in CONTENDERS]
    rivals = {n: float(np.median(t)) for n, t in times.items() if n not in ("ours", "floor")}
    own = float(np.median(times["ours"]))
    best = min(rivals, key=rivals.__getitem__) if rivals else None
    verdict = f"{rivals[best] / own:.2f}x as fast as {best}" if best else "-"
    if "floor" in times:
        verdict += f", {own / float(np.median(times['floor'])):.2f}x the floor's time"
    size = f"{problem.runs}x{problem.actions}"
    print(f"{problem.rule:5} {problem.dtype:8} {size:>9} " + " ".join(f"{c:>20}" for c in cells)
          + f"  {verdict}", flush=True)


def targets(results: Sequence[dict[str, Any]]) -> list[str]:
    """Ours against each contender from 1000x10 up, and against the floor: the least favorable ratios."""
    lines = []
    for dtype in dict.fromkeys(cell["dtype"] for cell in results):
        ratios: dict[str, list[tuple[float, str]]] = {}
        for cell in results:
            if cell["dtype"] != dtype or cell["size"] == "1x10":
                continue
            medians = {name: float(np.median(times)) for name, times in cell["ns"].items()}
            for name, ns in medians.items():
                if name != "ours":
                    ratios.setdefault(name, []).append(
                        (ns / medians["ours"], f"{cell['rule']} {cell['size']}"))
        for name, found in ratios.items():
            worst, where = min(found)
            best, _ = max(found)
            what = "of the floor's speed" if name == "floor" else f"times as fast as {name}"
            lines.append(f"{dtype}, from 1000x10 up: {worst:.2f} to {best:.2f} {what} "
                         f"(least at {where}, {len(found)} cells)")
    return lines


def long_run(steps: int, repeats: int) -> dict[str, float]:
    """A single run of 10 actions: seconds of our engine, and of the notebook loop by a part of it."""
    problem = Problem(rule="pg", runs=1, actions=10, dtype="float64")
    take, loop = ours(problem, measured=False), notebook(problem)
    take(10), loop(10)
    part = max(1, steps // 50)
    own: list[float] = []
    other: list[float] = []
    for _ in range(repeats):
        for times, function, count in ((own, take, steps), (other, loop, part)):
            began = clock()
            function(count)
            times.append(clock() - began)
    found = {"steps": steps, "ours": float(np.median(own)),
             "notebook": float(np.median(other)) * steps / part}
    print(f"\none run of 10 actions, {steps:,} steps: {found['ours']:.3g} s; notebook loop "
          f"{found['notebook']:.3g} s (by {part:,} of its steps): "
          f"{found['notebook'] / found['ours']:.0f}x")
    return found


def entropy_cost(repeats: int, sizes: Sequence[str]) -> dict[str, float]:
    """What recording entropy at every step costs our engine: ratio of times, minus 1."""
    print("\nentropy and reward recorded at every step, extra time:")
    found = {}
    for size in sizes:
        problem = Problem(rule="pg", dtype="float64", **_shape(size))
        takes = [ours(problem, measured=m) for m in (False, True)]
        steps = max(8, int(0.15e9 / (problem.entries * 2 + 200)))
        times: list[list[float]] = [[], []]
        for take in takes:
            take(steps)
        for _ in range(repeats):
            for take, kept in zip(takes, times, strict=True):
                began = clock()
                take(steps)
                kept.append(clock() - began)
        found[size] = float(np.median(np.array(times[1]) / times[0])) - 1
        print(f"  {size:>9}: {found[size]:+.1%}", flush=True)
    return found


def linearity(repeats: int) -> dict[str, list[float]]:
    """ns a logit and step of our engine as runs, actions and steps double; sizes interleaved."""
    print("\nns a logit and step as one of runs, actions, steps grows 1, 2, 4, 8 times, and the power of "
          "it that the time grows with (1: linear):")
    found: dict[str, list[float]] = {}
    factors = (1, 2, 4, 8)
    for name in ("runs", "actions", "steps"):
        sizes = [{kind: base * (factor if name == kind else 1)
                  for kind, base in (("runs", 256), ("actions", 256), ("steps", 500))}
                 for factor in factors]
        takes = [ours(Problem(rule="pg", dtype="float64", runs=size["runs"], actions=size["actions"]))
                 for size in sizes]
        times: list[list[float]] = [[] for _ in sizes]
        for take in takes:
            take(4)
        for _ in range(repeats):
            for size, take, kept in zip(sizes, takes, times, strict=True):
                began = clock()
                take(size["steps"])
                kept.append((clock() - began) / math.prod(size.values()) * 1e9)
        found[name] = [float(np.median(kept)) for kept in times]
        power = 1 + np.polyfit(np.log(factors), np.log(found[name]), 1)[0]
        print(f"  {name:>8}: " + "  ".join(f"{value:.3g}" for value in found[name])
              + f"   time ~ {name}^{power:.2f}", flush=True)
    return found


def memory(sizes: Sequence[str]) -> dict[str, float]:
    """MiB at the peak beyond the starts and the final logits, each in a fresh process."""
    print("\npeak memory beyond the state (starts and final logits), MiB a thread:")
    found = {}
    for size in sizes:
        command = [sys.executable, __file__, "--memory-of", size]
        out = subprocess.run(command, check=True, capture_output=True, text=True,
                             env={**os.environ, "OMP_NUM_THREADS": str(THREADS)})
        found[size] = float(out.stdout) / THREADS
        print(f"  {size:>9}: {found[size]:.2f}", flush=True)
    return found


def memory_of(size: str) -> float:
    """MiB at the peak of one run beyond the starts and the final logits, in this process."""
    runs, actions = _shape(size).values()
    # The compiled code for rows of this length is loaded first, by a problem of few of them.
    ours(Problem(rule="pg", dtype="float64", runs=min(runs, 64 if actions < 100 else 2),
                 actions=actions))(3)
    take = ours(Problem(rule="pg", dtype="float64", **_shape(size)))
    # What the first problem left to the allocator would hide as much of this one's memory.
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _status("VmRSS")
    final, _ = take(20)
    return (_status("VmHWM") - before) / 1024 - final.nbytes / 2**20


def _status(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(entry.split()[1]) for entry in lines if entry.startswith(name))


def _shape(size: str) -> dict[str, int]:
    runs, actions = size.split("x")
    return {"runs": int(runs), "actions": int(actions)}


def say(text: str) -> None:
    """A line of progress, on a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


@contextmanager
def two_threads() -> Iterator[None]:
    """Every contender's threads, set before any of them is imported."""
    os.environ["OMP_NUM_THREADS"] = str(THREADS)
    yield


def main(
    sizes: Annotated[tuple[str, ...], tyro.conf.arg(help="runs x actions")] = tuple(SIZES),
    rules: Annotated[tuple[str, ...], tyro.conf.arg(help="pg, aepo, grpo")] = tuple(RULES),
    dtypes: tuple[str, ...] = ("float64", "float32"),
    contenders: tuple[str, ...] = tuple(CONTENDERS),
    repeats: int = 7,
    quick: bool = False,
    cpu_time: bool = False,
    only_every_rule: bool = False,
    json_file: Annotated[Path | None, tyro.conf.arg(name="json")] = None,
    memory_of_size: Annotated[str | None, tyro.conf.arg(name="memory-of")] = None,
) -> None:
    """Compare and print.

    Args:
        sizes: runs x actions, such as 1000x10.
        rules: of pg, aepo, grpo.
        dtypes: float64, float32.
        contenders: of ours, notebook, numpy, jax, torch, floor.
        repeats: timed repeats of each.
        quick: three repeats, float64, no torch (it compiles for long), a shorter single run.
        cpu_time: count processor time of all threads, over two, not wall clock: for busy machines (it
            flatters whoever uses one thread by twice, and is unfair to those that wait actively).
        only_every_rule: print the times of every rule's step, and stop.
        json_file: write the numbers and the machine there.
        memory_of_size: print the peak memory of one size, MiB, and stop.
    """
    if memory_of_size is not None:
        print(memory_of(memory_of_size))
        return
    if cpu_time:
        _kept["cpu"] = True
    if only_every_rule:
        rows = every_rule(repeats, clock)
        if json_file is not None:
            json_file.write_text(json.dumps({"every_rule": rows, "provenance": provenance()}, indent=1))
        return
    if quick:
        repeats, dtypes = min(repeats, 3), ("float64",)
        contenders = tuple(name for name in contenders if name != "torch")
    absent = {name: missing(name) for name in contenders if missing(name)}
    for name, reason in absent.items():
        print(f"{name}: {reason}")
    if "ours" in absent or "ours" not in contenders:
        raise SystemExit("our engine must be among the contenders, and needs llvmlite")
    present = [name for name in contenders if name not in absent]
    began = time.perf_counter()
    print(f"load before: {os.getloadavg()[0]:.2f} on {len(os.sched_getaffinity(0))} processors")
    results: list[dict[str, Any]] = []
    found: dict[str, Any] = {
        "steps": results, "clock": "cpu" if cpu_time else "wall",
        "processor": platform.processor() or platform.machine(), "provenance": provenance(),
    }

    def keep(**more: Any) -> None:
        """Written after each part, so that what was measured outlives an interruption."""
        found.update(more, load=os.getloadavg(), minutes=(time.perf_counter() - began) / 60)
        if json_file is not None:
            partial = json_file.with_suffix(".partial")
            partial.write_text(json.dumps(found, indent=1))
            partial.replace(json_file)

    large = [size for size in sizes if size != "1x10"]
    # First what the issue bounds, and takes a minute; then the cells, in float64 first.
    keep(memory_mib_a_thread=memory(large))
    keep(entropy_extra=entropy_cost(repeats, large))
    keep(linearity=linearity(min(repeats, 5)))
    keep(long_run=long_run(50_000 if quick else 1_000_000, min(repeats, 3)))
    keep(every_rule=every_rule(repeats, clock))
    print(f"\nns a logit and step, median of {repeats} (fastest-slowest)")
    print(f"{'rule':5} {'dtype':8} {'size':>9} " + " ".join(f"{c:>20}" for c in CONTENDERS)
          + "  ours against the best, and the floor")
    for dtype in dtypes:
        for rule in rules:
            for size in sizes:
                problem = Problem(rule=rule, dtype=dtype, **_shape(size))
                times = measure(problem, present, repeats)
                table(problem, times)
                results.append({"rule": rule, "dtype": dtype, "size": size, "ns": times})
                keep()
    summary = targets(results)
    print("\n" + "\n".join(summary))
    keep(summary=summary)
    keep(peak_rss_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    print(f"\n{found['minutes']:.1f} minutes; load after: {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    with two_threads():
        tyro.cli(main)
