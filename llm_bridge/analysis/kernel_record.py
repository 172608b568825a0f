"""Keeps the logit kernel of an audited step in a file, and summarizes the kernels of a run."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from entropy_theory.support import results
from entropy_theory.support.stored import parsed
from llm_bridge.analysis.stored_arrays import read_record, write_arrays
from llm_bridge.analysis.tangent_kernel import RUNGS, Kernel, Ladder, climb, shape


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class KernelRecord:
    """The kernel and the ladder of one optimizer step."""

    step: int
    kernel: Kernel
    ladder: Ladder
    prefixes: list[list[int]]
    """The token ids of each state."""


def write(path: Path, record: KernelRecord) -> None:
    """Write a record, whole or not at all."""
    ladder: dict[str, Any] = {f"rung {name}": column for name, column in record.ladder.rungs.items()}
    write_arrays(path, {
        "step": record.step, "values": record.kernel.values, "actions": record.kernel.actions,
        "measured": record.ladder.measured, "prefixes": json.dumps(record.prefixes), **ladder})


def read(path: Path) -> KernelRecord:
    """Read a record. Raises ValueError as `stored_arrays.read_record`."""
    return read_record(path, lambda columns: KernelRecord(
        step=int(columns["step"]), prefixes=parsed(str(columns["prefixes"])),
        kernel=Kernel(values=columns["values"], actions=columns["actions"]),
        ladder=Ladder(rungs={name: columns[f"rung {name}"] for name in RUNGS},
                      measured=columns["measured"]),
    ), "a logit kernel")


def summary(records: Sequence[KernelRecord]) -> dict[str, Any]:
    """Summarize, JSON-like, how diagonal and constant each step's kernel is, and the rungs."""
    shapes = [shape(record.kernel) for record in records]
    return {
        "states": len(records[0].prefixes),
        "actions": int(records[0].kernel.actions.shape[1]),
        "steps": [
            {"step": record.step, **results.plain(found)}
            for record, found in zip(records, shapes, strict=True)
        ],
        "rungs": results.plain(climb([record.ladder for record in records])),
    }
