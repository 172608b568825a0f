"""Runs of any trainer, read off their logs as if they were folders of ours."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from entropy_theory.training_logs import logs
from entropy_theory.training_logs.names import Quantity
from llm_bridge.running.run_folder import RunRecord

METRICS: dict[Quantity, str] = {
    "entropy": "entropy", "reward": "reward", "score": "score", "length": "mean_length",
    "truncated": "truncated", "kl_reference": "kl_reference", "clipped": "clipped_fraction",
    "zero_variance": "groups_without_signal", "mismatch": "mismatch", "gradient_norm": "gradient_norm",
    "learning_rate": "learning_rate", "entropy_coefficient": "coefficient",
}
"""What our own log calls a quantity."""


def read(path: Path) -> list[RunRecord]:
    """Read the runs of a log; ``options`` have the engine, and the column that each metric is from.

    Raises:
        ValueError: nothing there can be read as a log.
    """
    found = [run for run in (_record(path, run) for run in logs.read([path])) if run.steps]
    if not found:
        raise ValueError(f"{path} has none of {', '.join(METRICS)} in it: name another log")
    return found


def sources(runs: Iterable[RunRecord]) -> list[str]:
    """Say of each run from a log which columns were read, and what was left out."""
    return ["; ".join([f"{run.name}: " + ", ".join(
        f"{name} is '{column}'" for name, column in run.options["columns"].items()),
        *run.options["notes"]]) for run in runs if "columns" in run.options]


def _record(path: Path, run: logs.Run) -> RunRecord:
    steps: dict[float, dict[str, Any]] = {}
    columns = {}
    # Estimates by sampled tokens stand in where the exact entropy was not logged.
    series = {"entropy": run.series["entropy_sampled"], **run.series} if (
        "entropy_sampled" in run.series) else run.series
    for quantity, name in METRICS.items():
        if (found := series.get(quantity)) is None:
            continue
        columns[name] = found.column
        for step, value in zip(found.step.tolist(), found.value.tolist(), strict=True):
            steps.setdefault(step, {"step": step})[name] = value
    label = path.name or str(path)
    return RunRecord(
        name=f"{label}, {run.name}" if run.name else label, folder=path, status="",
        options={"engine": run.engine or "unknown", "columns": columns, "notes": list(run.notes)},
        constant_answer_reward=None, steps=[steps[step] for step in sorted(steps)],
        evaluation=None, audit=None, provenance=None)
