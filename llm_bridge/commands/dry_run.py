"""Says what a run will take before anything is downloaded or loaded: steps, tokens, memory of a process.

    python -m llm_bridge train --dry-run ...                a run's own plan
    WORLD_SIZE=8 python -m llm_bridge train --dry-run ...   that of one process of eight
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from typing import Any

import torch

from llm_bridge.commands.train import options_of_trl, task_of
from llm_bridge.commands.train_config import Run
from llm_bridge.data import models, tasks
from llm_bridge.sampling import peak_memory
from llm_bridge.trainer.options import check_config, check_rule, grpo_config


def memory(shape: Any, *, dtype: torch.dtype, adamw: bool, reference: bool) -> int:
    """Return the bytes of a process's weights, gradients, optimizer state and reference model, unsharded.

    Args:
        shape: the model's configuration.
        dtype: the number format of the weights.
        adamw: whether the optimizer keeps two moments, and a counter for each tensor.
        reference: whether a frozen copy of the starting model is kept.
    """
    model = peak_memory.meta_model(shape, dtype)
    counters = 4 * len(list(model.parameters())) * adamw
    return (2 + 2 * adamw + reference) * peak_memory.weights(model) + counters


def plan(run: Run) -> str:
    """Write the plan of a run: its steps, and an estimate of a process's memory.

    Raises:
        ValueError: for an option of TRL that `train` refuses before it loads the model (what depends on
            the loaded model is refused later).
    """
    config, rule, world = run.config, run.rule, run.world
    task = task_of(config, size=run.prompts)
    check_rule(rule)
    with as_one_process():
        # Of one process with all rows: TRL asks for the processes and devices of this machine.
        asked = options_of_trl(dataclasses.replace(run, world=1), max_new_tokens=task.max_new_tokens)
        alone = asked | {"use_cpu": True, "tf32": None, "report_to": "none"}
        check_config(grpo_config("unused", **alone), rule)
    second = config.tempered_fraction if rule.controller() is not None else 0.0
    completions = round(run.prompts * config.samples * (1 + second))
    rows = -(-completions // (world * config.micro_batches))
    shape = peak_memory.shape_of(config.model)
    estimate = f"not estimated, since no config.json of {config.model} is on this machine"
    if shape is not None:
        held = memory(
            shape, dtype=models.torch_dtype(config.dtype), adamw=config.optimizer == "adamw",
            reference="reference_log_prob" in rule.needs.columns)
        estimate = (f"{held / 2**30:.3f} GiB a process for weights, gradients, optimizer and reference\n"
                    "  model, without activations, logits, keys and values, and what sharding saves")
    return "\n".join([
        f"plan: {rule.name} on {task.name}, {config.model} in {config.dtype}, {world} "
        f"process{'es' if world > 1 else ''}",
        f"  a process   {rows} rows at once, {config.micro_batches} micro-batches, "
        f"{-(-run.prompts * config.samples * config.mini_batches // world)} sampled at once",
        *_step_lines(run, task, completions, second),
        "", f"memory: {estimate}", "", "Nothing was loaded, downloaded or written.",
    ])


def _step_lines(run: Run, task: tasks.Task, completions: int, second: float) -> list[str]:
    config = run.config
    shared = config.mini_batches * config.iterations
    tokens = completions * task.max_new_tokens
    lines = [
        f"  steps       {config.steps}, a generation every {shared}" if shared > 1
        else f"  steps       {config.steps}, each on a generation of its own",
        f"  a step      {config.prompts} prompts x {config.samples} completions"
        + (f", and {second:g} of the prompts again in a second batch" if second else ""),
        f"  tokens      up to {task.max_new_tokens:,} a completion, {tokens:,} sampled a step, "
        f"{tokens * config.steps:,} in the run",
    ]
    if config.save_every:
        saved = list(range(config.save_every, config.steps + 1, config.save_every))
        shown = ", ".join(map(str, saved[:5])) + (" ..." if len(saved) > 5 else "")
        lines.append(f"  checkpoints after steps {shown}, the last two kept")
    told = "accounted for" if config.account_tokens else "accounted for, without tokens"
    for name, every in (("audited", config.audit_every), (told, config.account_every)):
        if every:
            lines.append(f"  {name}: every {every} steps")
    return lines


@contextlib.contextmanager
def as_one_process() -> Iterator[None]:
    """Hide a launch from what would join its processes, and undo what is written to the environment."""
    kept = dict(os.environ)
    try:
        for name in kept:
            if name in ("WORLD_SIZE", "RANK", "LOCAL_RANK") or name.startswith(("ACCELERATE_", "FSDP_")):
                del os.environ[name]
        yield
    finally:
        os.environ.clear()
        os.environ.update(kept)
