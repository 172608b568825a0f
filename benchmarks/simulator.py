"""Exact AEPO steps, side by side: our engine and the loop over runs that a notebook user writes.

``python benchmarks/simulator.py`` prints nanoseconds a run-step, entropy included, and the ratio.
Repeats of the two are interleaved, so that a busy machine slows both; the median is printed with the
fastest and slowest repeat.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from entropy_theory.update_rules import get
from simulations.engine import Dynamics, simulate
from simulations.problems import Bandit

SIZES = ((1, 10), (100, 20), (1000, 10), (1000, 100))
REPEATS = 7
TARGET, ALPHA, LEARNING_RATE, GROUP_SIZE = 0.5, 1.0, 0.5, 8


def engine(logits: np.ndarray, n_correct: int, steps: int) -> np.ndarray:
    """Our engine: [runs, actions] after ``steps``."""
    rule = get("aepo", alpha=ALPHA, target=TARGET, base=get("grpo", group_size=GROUP_SIZE))
    problem = Bandit(n_actions=logits.shape[-1], n_correct=n_correct)
    dynamics = Dynamics(rule=rule, learning_rate=LEARNING_RATE, steps=steps, record_every=steps)
    return simulate(logits[:, None], problem.correct, dynamics).final_logits[:, 0]


def notebook(logits: np.ndarray, n_correct: int, steps: int) -> np.ndarray:
    """One run after another, each step as the formulas read."""
    final = logits.copy()
    correct = np.arange(logits.shape[-1]) < n_correct
    shares = [k / GROUP_SIZE for k in range(GROUP_SIZE + 1)]
    for run in range(len(logits)):
        z = final[run]
        for _ in range(steps):
            pi = np.exp(z - z.max())
            pi /= pi.sum()
            entropy = -np.sum(pi * np.log(pi))
            temperature = 1.2 if entropy < TARGET else 0.8
            tempered = np.exp((z - z.max()) / temperature)
            tempered /= tempered.sum()
            p = pi[correct].sum()
            spread = sum(
                math.comb(GROUP_SIZE, k) * p**k * (1 - p) ** (GROUP_SIZE - k) * math.sqrt(s - s * s)
                for k, s in enumerate(shares)
            )
            gradient = spread / (p * (1 - p)) * pi * (correct - p)
            hits = np.where(correct, tempered, 0.0)
            z = z + LEARNING_RATE * (gradient + ALPHA * (hits - hits.sum() * pi))
        final[run] = z
    return final


def seconds(function: Callable[[np.ndarray, int, int], np.ndarray], *arguments) -> float:
    """Processor time of one call: other programs on a busy machine do not count."""
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


def main() -> None:
    """Check that both compute the same, then time them."""
    print(f"{'runs x actions':>14}  {'engine ns/run-step':>26}  {'notebook ns/run-step':>26}  ratio")
    for n_runs, n_actions in SIZES:
        logits = np.random.default_rng(0).normal(size=(n_runs, n_actions))
        n_correct = n_actions // 5
        # Fifty steps each round at 1e-15, and an early difference grows little in so few.
        np.testing.assert_allclose(
            engine(logits[:5], n_correct, 50), notebook(logits[:5], n_correct, 50), atol=1e-10
        )
        steps = max(40, 200_000 // (n_runs * n_actions))
        loop_runs = min(n_runs, 50)  # the loop's cost is proportional to the runs
        times = np.array(
            [
                (
                    seconds(engine, logits, n_correct, steps) / (n_runs * steps),
                    seconds(notebook, logits[:loop_runs], n_correct, 40) / (loop_runs * 40),
                )
                for _ in range(REPEATS)
            ]
        ) * 1e9
        columns = [
            f"{np.median(t):.0f} ({t.min():.0f} to {t.max():.0f})" for t in times.T
        ]
        ratio = np.median(times[:, 1] / times[:, 0])
        size = f"{n_runs} x {n_actions}"
        print(f"{size:>14}  {columns[0]:>26}  {columns[1]:>26}  {ratio:.1f}")


if __name__ == "__main__":
    main()
