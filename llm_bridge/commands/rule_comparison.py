"""Compares what update rules do to a model's entropy: the same short training by each rule and seed.

::

    python -m llm_bridge.commands.rule_comparison --output FILE
    python -m llm_bridge.commands.rule_comparison --output FILE --task chain-sum --steps 16 --seeds 0 \\
        --rules grpo dppo

Rules have their default options. Each batch of samples is used for several optimizer steps, so that
ratios move. The file keeps a record of each finished run, so that the same command goes on where an
earlier one was stopped. A rule that a trainer cannot run has a record with the reason.
"""

from __future__ import annotations

import dataclasses
import tempfile
import time
from pathlib import Path
from typing import Any

import tyro

from entropy_theory.support.user_errors import run_command
from entropy_theory.update_rules import RULES
from llm_bridge.commands import comparison
from llm_bridge.commands.train_config import LEARNING_RATES
from llm_bridge.data import tasks

SERIES = ("entropy", "reward")
"""The names of the values kept of each batch's first optimizer step, whose samples are the policy's
own."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Size(comparison.HeldOutSize):
    """The size of each run; runs of different sizes are not compared."""

    task: comparison.Task = "split"
    """The task, and with it the model: split trains the bundled one, chain-sum SmolLM2-135M."""
    steps: int = 100
    """Optimizer steps of each run."""
    iterations: int = 4
    """Optimizer steps on each batch of samples."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class RulesConfig(Size):
    """Train a model by each rule from each seed, and write entropy and reward along the way."""

    output: Path
    """The JSON file of all records, which an earlier call may have begun."""
    rules: tuple[str, ...] = tuple(RULES)
    """The rules, by name."""
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    """Seeds of prompts and samples, the same for each rule."""


def run(rule: str, seed: int, size: Size, folder: Path) -> dict[str, Any]:
    """Train one run on the CPU and return its record, JSON-like.

    Raises:
        ValueError: a rule that a trainer cannot run.
    """
    from llm_bridge.commands.train import build_trainer, model_and_task

    started = time.process_time()
    name = comparison.MODELS[size.task]
    checked = comparison.train_config(
        size, folder, model=name, task=size.task, rule=rule, iterations=size.iterations, seed=seed,
        learning_rate=LEARNING_RATES.get((name, size.task), LEARNING_RATES.get((name, None))))
    model, tokenizer, task = model_and_task(checked)
    steps: list[dict[str, Any]] = []
    build_trainer(checked, model, tokenizer, task, steps.append).train()
    model.eval()
    held_out = tasks.load(size.task, split="held-out", size=size.held_out_prompts, seed=0)
    found = comparison.evaluated(model, tokenizer, held_out, size, seed)
    return {
        "series": {key: [comparison.short(step[key]) for step in steps[::size.iterations]]
                   for key in SERIES},
        "held_out": {key: comparison.short(found[key])
                     for key in ("entropy", "pass@1", "distinct_completions")},
        "process_seconds": round(time.process_time() - started, 1),
    }


def compare(config: RulesConfig) -> None:
    """Make the runs that are not there yet, seed after seed.

    Raises:
        ValueError: fewer than 2 steps, or an unknown rule.
        OSError: a file that cannot be written.
    """
    if config.steps < 2:
        raise ValueError(f"steps must be at least 2, got {config.steps}")
    if unknown := [rule for rule in config.rules if rule not in RULES]:
        raise ValueError(f"unknown rule '{unknown[0]}': use some of {', '.join(RULES)}")
    size = Size.of(config)
    records = comparison.Records(config.output, size)
    done = {(record["label"], record["seed"]) for record in records.kept}
    for seed in config.seeds:
        for rule in config.rules:
            if (rule, seed) in done:
                continue
            with tempfile.TemporaryDirectory() as folder:
                try:
                    record = run(rule, seed, size, Path(folder) / "run")
                except ValueError as error:
                    record = {"refused": str(error)}
            records.add(
                f"{rule}, seed {seed}", {"label": rule, "task": config.task, "seed": seed, **record},
                record.get("refused") or f"entropy {record['held_out']['entropy']:.3f}")


def main() -> None:
    """Run `compare` from the command line."""
    compare(tyro.cli(RulesConfig, prog="python -m llm_bridge.commands.rule_comparison"))


if __name__ == "__main__":
    run_command(main)
