"""Compares forecasts of entropy with what happened: a small model trained in many ways, step by step.

::

    python -m llm_bridge.commands.forecast_comparison --output FILE

Each run of `runs` has a task, an optimizer, its learning rate and a seed. Every step is audited.
The file keeps the forecasts and the measured change of each step of each finished run. The same
command continues a stopped one.
"""

from __future__ import annotations

import dataclasses
import tempfile
import time
from pathlib import Path
from typing import Any, Literal

import tyro

from entropy_theory.support.user_errors import run_command
from llm_bridge.analysis import audit
from llm_bridge.commands import comparison
from llm_bridge.commands.train import build_trainer, model_and_task

SETTINGS: tuple[tuple[Literal["split", "sum"], Literal["adamw", "sgd"], float], ...] = (
    ("split", "adamw", 3e-5), ("split", "adamw", 1e-4), ("split", "adamw", 3e-4),
    ("split", "sgd", 3e-3), ("split", "sgd", 1e-2),
    ("sum", "adamw", 1e-4), ("sum", "sgd", 1e-2),
)
"""Task, optimizer and learning rate."""
SEEDS = range(2)
SERIES = ("coefficients", "entropy_gradient", "first_order", "second_order", "accounted", "measured")
"""Fields of `audit.AuditedStep` that are kept of every step."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ForecastRun:
    """One run of the comparison: GRPO on the bundled model."""

    task: Literal["split", "sum"]
    optimizer: Literal["adamw", "sgd"]
    learning_rate: float
    seed: int

    @property
    def label(self) -> str:
        """Name the optimizer and its learning rate."""
        return f"{self.optimizer} {self.learning_rate:g}"

    @property
    def name(self) -> str:
        """Name the run, for the display."""
        return f"{self.task}, {self.label}, seed {self.seed}"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Size(comparison.Size):
    """The size of each run; runs of different sizes are not compared."""

    steps: int = 60
    """Optimizer steps of each run."""


def runs() -> list[ForecastRun]:
    """List the runs, seed after seed."""
    return [
        ForecastRun(task=task, optimizer=optimizer, learning_rate=rate, seed=seed)
        for seed in SEEDS for task, optimizer, rate in SETTINGS
    ]


def run(asked: ForecastRun, size: Size, folder: Path) -> dict[str, Any]:
    """Train one run on the CPU, each step audited, and return its record, JSON-like."""
    started = time.process_time()
    checked = comparison.train_config(
        size, folder, model=comparison.MODELS[asked.task], task=asked.task, optimizer=asked.optimizer,
        learning_rate=asked.learning_rate, seed=asked.seed)
    model, tokenizer, task = model_and_task(checked)
    trainer = build_trainer(checked, model, tokenizer, task)
    auditor = audit.Auditor(trainer)
    trainer.add_callback(auditor)
    trainer.train()
    return {
        "label": asked.label, **dataclasses.asdict(asked),
        "series": {name: [comparison.short(getattr(step, name)) for step in auditor.steps]
                   for name in SERIES},
        "process_seconds": round(time.process_time() - started, 1),
    }


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ForecastsConfig(Size):
    """Train a small model in many ways, and write every step's forecasts and measured entropy change."""

    output: Path
    """The JSON file of all records, which an earlier call may have begun."""


def compare(config: ForecastsConfig) -> None:
    """Make the runs that are not there yet.

    Raises:
        ValueError: fewer than 3 steps, through which any forecast has a perfect line.
        OSError: a file that cannot be written.
    """
    if config.steps < 3:
        raise ValueError(f"steps must be at least 3, got {config.steps}: two points lie on a line")
    size = Size.of(config)
    records = comparison.Records(config.output, size)
    names = [field.name for field in dataclasses.fields(ForecastRun)]
    done = {tuple(record[name] for name in names) for record in records.kept}
    for asked in runs():
        if dataclasses.astuple(asked) in done:
            continue
        with tempfile.TemporaryDirectory() as folder:
            records.add(asked.name, run(asked, size, Path(folder) / "run"))


def main() -> None:
    """Run `compare` from the command line."""
    compare(tyro.cli(ForecastsConfig, prog="python -m llm_bridge.commands.forecast_comparison"))


if __name__ == "__main__":
    run_command(main)
