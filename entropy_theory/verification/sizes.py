"""Instances far larger than the sampler's: at which sizes a statement was tried, and at which not.

A margin may be any code, so its cost is measured. Each size is tried alone. A size is left out, and
reported, if the sizes before it show that it would take too long or too much memory.
"""

from __future__ import annotations

import itertools
import math
import time
import tracemalloc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from entropy_theory.token_tree import TokenTree
from entropy_theory.verification.claim import Statement
from entropy_theory.verification.formula.terms import PROMPTS, STATES
from entropy_theory.verification.instances import Batch, Instance, Instances, Larger, pick

ENTRIES = 500_000
"""How many entries a batch of large instances has, about."""
MOST_ROWS = 256
MOST_BYTES = 1e9
"""Memory that one size may take."""
MOST_SECONDS = 10.0
"""Seconds that one size may take."""
WAY_SECONDS = 3 * MOST_SECONDS
"""Seconds that all sizes of one way to grow may take."""
NOISE = 1e-9
"""Balls of large instances are slow, and a margin of rounding size is found at small ones as well."""


class Attack(Protocol):
    """An attack, which tries batches of instances (`search`)."""

    statement: Statement

    def measure(self, batch: Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(margins, meets the hypotheses, violates in floats), each [B]."""

    def certify(self, instance: Instance, margin: float) -> bool:
        """Whether balls prove a violation at this instance."""


@dataclass(frozen=True, slots=True)
class _Cost:
    """The cost of one instance of a size."""

    size: int
    seconds: float
    memory: float


def try_larger(
    attack: Attack, instances: Instances, sizes: tuple[int, ...], seed: int
) -> list[str]:
    """Try larger instances until one is proved to violate the statement; returns what was not tried.

    Args:
        attack: the attack that tries them.
        instances: the set that the statement is about, with the ways in which its members grow.
        sizes: how large; a way may have sizes of its own.
        seed: of what is drawn.
    """
    missing: list[str] = []
    for larger in instances.large if sizes else ():
        left = sorted(size for size in larger.sizes or sizes if size >= larger.fewest)
        costs: list[_Cost] = []
        none_met: list[int] = []
        reason = ""
        deadline = time.thread_time() + WAY_SECONDS
        while left and not reason:
            size = left[0]
            rows = _rows(_expected(costs, size), size)
            if not rows or time.thread_time() > deadline:
                reason = "the margin would take too long, or too much memory"
                break
            generator = np.random.default_rng([seed, 1])  # anew: rows depend on what the margin costs
            batch = with_simple_shapes(larger.draw(generator, rows, size))
            try:
                with _watched(costs, size, rows):
                    margins, meets, _ = attack.measure(batch)
            except Exception as error:
                if attack.statement.is_traceable():
                    raise
                reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
                break
            left.pop(0)
            none_met += [] if meets.any() else [size]
            index = int(np.argmin(np.where(meets, margins, np.inf)))
            if meets[index] and margins[index] < -NOISE and attack.certify(
                    pick(batch, index), float(margins[index])):
                return []
        missing += _not_tried(larger, left, reason, none_met)
    return missing


def _not_tried(larger: Larger, left: list[int], reason: str, none_met: list[int]) -> list[str]:
    told = [f"{said(left)} {larger.unit} were not tried ({reason})"] if left else []
    if none_met:
        told.append(f"no instance of {said(none_met)} {larger.unit} that was drawn meets the hypotheses")
    return told


def _expected(costs: list[_Cost], size: int) -> _Cost:
    """Return the cost of an instance of this size, if it grows by the power of its last growth."""
    if not costs:
        return _Cost(size, 0.0, 0.0)
    last = costs[-1]

    def grown(now: float, before: float) -> float:
        power = 2.0
        if len(costs) > 1 and now > 0 and before > 0:
            power = min(max(math.log(now / before) / math.log(last.size / costs[-2].size), 1.0), 3.0)
        return now * float(size / last.size) ** power

    earlier = costs[-2] if len(costs) > 1 else last
    return _Cost(size, grown(last.seconds, earlier.seconds), grown(last.memory, earlier.memory))


def _rows(expected: _Cost, size: int) -> int:
    """How many instances of this size are tried; 0 if one would cost too much."""
    if expected.memory > MOST_BYTES or expected.seconds > MOST_SECONDS:
        return 0
    most = max(4, min(MOST_ROWS, ENTRIES // size))
    by_memory = MOST_BYTES / 4 / max(expected.memory, 1.0)
    by_time = MOST_SECONDS / 4 / max(expected.seconds, 1e-9)
    return max(1, int(min(most, by_memory, by_time)))


@contextmanager
def _watched(costs: list[_Cost], size: int, rows: int) -> Iterator[None]:
    """Add to ``costs`` what happens inside takes for each of so many instances."""
    ours = not tracemalloc.is_tracing()
    if ours:
        tracemalloc.start()
    tracemalloc.reset_peak()
    before, started = tracemalloc.get_traced_memory()[0], time.thread_time()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1] - before
        costs.append(_Cost(size, (time.thread_time() - started) / rows, peak / rows))
    finally:
        if ours:
            tracemalloc.stop()


def with_simple_shapes(batch: Batch) -> Batch:
    """Return the batch with equal logits in its first row, and in a few more along another field.

    Constants that depend on size are attained at the uniform policy. Almost no policy that is drawn meets
    hypotheses such as "right actions are the likelier ones".
    """
    logits = batch["logits"]
    fields = [name for name, column in batch.items()
              if name != "logits" and column.size == logits.size]
    logits[0] = 0.0
    for row, (name, scale) in enumerate(itertools.product(fields, (1.0, 0.1, 10.0)), start=1):
        if 2 * row < len(logits):
            logits[row] = scale * batch[name][row].reshape(logits.shape[1:])
    return batch


def sizes_of(batch: Batch, instances: Instances) -> Mapping[str, int]:
    """How large the instances of a batch are, by unit; empty where they have no logits."""
    values = batch.get("weights", batch.get("logits"))
    if values is None or values.ndim < 2:
        return {}
    axes = {p.name: p.axes for p in instances.parameters.fields} if instances.parameters else {}
    of_logits = axes.get("logits", ())
    prompts = {"prompts": values.shape[1]} if PROMPTS in of_logits else {}
    if STATES not in of_logits:
        return {"actions": values.shape[-1], **prompts}
    return {"tokens": values.shape[-1], "tokens long": TokenTree.of(values).horizon, **prompts}


def said(sizes: Iterable[int]) -> str:
    """``2 to 16, 24, 1,000``."""
    runs: list[list[int]] = []
    for size in sorted(set(sizes)):
        if runs and size == runs[-1][1] + 1:
            runs[-1][1] = size
        else:
            runs.append([size, size])
    return ", ".join(f"{low:,}" if low == high else f"{low:,} to {high:,}" for low, high in runs)
