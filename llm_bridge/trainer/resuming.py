"""State beside TRL's own in a checkpoint, so that a resumed run is the run that was interrupted.

- ``made_with``: the options that the run was made with. Different values at resumption are refused
  where they would change the run. Silently, transformers takes some from the checkpoint, like the
  learning rate, and others from the script, like the temperature.
- ``log``: the numbers of the steps since the last line of the log, whose means the next line has.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import re
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch

from entropy_theory.support import results
from entropy_theory.support.user_errors import one_line
from llm_bridge.running import checkpoints, ranks
from llm_bridge.trainer import trl_options

logger = logging.getLogger(__name__)

RUN_STATE = "run_state.json"
FORM = {"made_with": {}, "log": {"metrics": {}, "losses": [float], "logged_loss": float,
                                 "logged_step": int}}
STEADY_SCHEDULES = ("constant", "constant_with_warmup", "inverse_sqrt")
"""Learning-rate schedules under which a rate does not depend on the length of the run."""
LENGTHS = ("max_steps", "num_train_epochs")
FREE = {"processes"} | {name for name, option in trl_options.OPTIONS.items() if option.free}
"""Options that may change: they leave every step as it is, up to rounding. How rows are dealt out over
processes and micro-batches is free; how many a step has is described by itself."""
HASHED_ROWS = 100_000
"""The number of rows, evenly spread, that are compared of larger data."""


def describe(trainer: Any) -> dict[str, Any]:
    """Return what a run is made of, JSON-like, by the names under which a user gives it."""
    args, rule = trainer.args, trainer.rule
    rows = args.per_device_train_batch_size * args.steps_per_generation
    found = {
        **args.to_dict(),
        "rule": type(rule).__name__,
        **{f"rule.{field.name}": _text(getattr(rule, field.name)) for field in dataclasses.fields(rule)},
        "tempered_fraction": trainer.tempered_fraction,
        "resampling_rounds": trainer.resampling_rounds,
        "reward_funcs": list(trainer.reward_func_names),
        "optimizers": trainer.own_optimizer,
        "model": trainer.start,
        "train_dataset": _data(trainer.train_dataset),
        "processes": trainer.accelerator.num_processes,
        "completions of a step's generation": rows * trainer.accelerator.num_processes,
        "steps on a generation": trainer.steps_per_batch * args.num_iterations,
    }
    return json.loads(json.dumps(results.plain(found), default=_text))


def read(folder: Path) -> dict[str, Any] | None:
    """Return ``made_with`` and ``log`` of a checkpoint; None of one that is not an EntropyTrainer's."""
    path = folder / RUN_STATE
    return results.read_json(path, FORM) if path.exists() else None


def check(folder: Path, trainer: Any) -> None:
    """Refuse to go on from a checkpoint as another run, and say in one line which options have changed.

    Raises:
        ValueError: options that would change the run, with old and new values and the remedy.
    """
    state = read(folder)
    if trainer.args.ignore_data_skip and ranks.is_main():
        logger.warning("ignore_data_skip: the run reads its data from the beginning again")
    if state is None:
        if ranks.is_main():
            logger.warning("%s does not say with which options it was made (an EntropyTrainer's does): "
                           "whether those given now are the same is not checked", folder)
        return
    old, new = state["made_with"], trainer.made_with
    changed = [name for name in old if name in new and old[name] != new[name]]
    step = results.read_json(folder / checkpoints.TRAINER_STATE, {"global_step": int})["global_step"]
    taken: list[str] = []
    refused: list[str] = []
    for name in changed:
        why = _obstacle(name, old, new, trainer, step)
        said = f"{name} was {_short(old[name])}, is {_short(new[name])}"
        (taken if why is None else refused).append(f"{said}{f' ({why})' if why else ''}")
    if refused:
        raise ValueError(
            f"{folder} was made with other options, so the run would not continue exactly: "
            f"{'; '.join(refused)}. Give the old values, or start a new run from its weights, "
            f"model={str(folder)!r}")
    if taken and ranks.is_main():
        logger.warning("resumed with other options, which leave the steps as they are: %s",
                       "; ".join(taken))


def _obstacle(
    name: str, old: dict[str, Any], new: dict[str, Any], trainer: Any, step: int
) -> str | None:
    """Why a changed option would change the run; "" without a reason beyond that, None if it does not."""
    if name in FREE:
        return None
    if name in LENGTHS:
        return _obstacle_to_length(name, old, new, step)
    if name == "train_dataset":
        return _obstacle_to_data(old, new, trainer, step)
    return ""


def _obstacle_to_length(
    name: str, old: dict[str, Any], new: dict[str, Any], step: int
) -> str | None:
    if name == "num_train_epochs" and old["max_steps"] > 0 and new["max_steps"] > 0:
        return None  # which nothing reads then
    if name == "max_steps" and 0 < new["max_steps"] <= step:
        return f"the checkpoint is that of step {step}"
    if not is_steady(**new):
        return (f"under lr_scheduler_type={new['lr_scheduler_type']!r} the steps taken would have had "
                "other learning rates; a run of constant learning rate can be made longer")
    return None


def is_steady(
    *, lr_scheduler_type: str = "constant", warmup_steps: float = 0, **_: Any
) -> bool:
    """Whether the learning rates of a run's steps do not depend on their number; defaults are ours."""
    return lr_scheduler_type in STEADY_SCHEDULES and not 0 < warmup_steps < 1


def _obstacle_to_data(
    old: dict[str, Any], new: dict[str, Any], trainer: Any, step: int
) -> str | None:
    """Data may grow at their end, where they are read in order and were not read a second time."""
    before, after = old["train_dataset"], new["train_dataset"]
    if before is None or after is None or after["rows"] <= before["rows"]:
        return ""
    if trainer.args.shuffle_dataset or trainer.resampling_rounds:
        return "prompts are drawn from all of it"
    prompts = new["completions of a step's generation"] // trainer.num_generations
    if step // new["steps on a generation"] * prompts > before["rows"] // prompts * prompts:
        return "the run has come round to its first prompts again"
    same = _data(trainer.train_dataset.select(range(before["rows"]))) == before
    return None if same else "its first prompts are others"


def _data(dataset: Any) -> dict[str, Any] | None:
    """The number of rows and a digest; None for a stream, whose rows are not known."""
    if not isinstance(dataset, datasets.Dataset):
        return None
    rows, digest = len(dataset), hashlib.blake2b(digest_size=8)
    some = dataset if rows <= HASHED_ROWS else dataset.select(
        np.unique(np.linspace(0, rows - 1, HASHED_ROWS).astype(int)))
    for batch in some.iter(batch_size=1000):
        for row in zip(*(batch[name] for name in sorted(batch)), strict=True):
            digest.update(repr(row).encode())
    return {"rows": rows, "digest": digest.hexdigest()}


def start_of(model: Any, *, frozen_alone: bool) -> str:
    """A digest of the first numbers of each weight of a model that no checkpoint has.

    Args:
        model: before training.
        frozen_alone: whether to look only at weights that are not trained (under an adapter).
    """
    digest = hashlib.blake2b(digest_size=8)
    for name, weight in model.named_parameters():
        if not (frozen_alone and weight.requires_grad):
            first = weight.detach().flatten()[:64].to("cpu", torch.float64)
            digest.update(name.encode() + first.numpy().tobytes())
    return digest.hexdigest()


def optimizer_given(optimizer: Any) -> str | None:
    """A user's own optimizer and its settings; None where TRL makes one of its options."""
    if optimizer is None:
        return None
    groups = [{name: value for name, value in group.items() if name != "params"}
              for group in optimizer.param_groups]
    return f"{type(optimizer).__name__} {_text(groups)}"


def _text(value: Any) -> str:
    """A value as text, without addresses in memory, which differ from process to process."""
    named = getattr(value, "__qualname__", None)
    return f"{value.__module__}.{named}" if named else re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _short(value: Any) -> str:
    said = one_line(value if isinstance(value, str) else json.dumps(value))
    return said if len(said) <= 120 else f"{said[:117]}..."


def skip_epochs(trainer: Any, epochs: int) -> None:
    """Draw the orders of the epochs behind, from which TRL's sampler would begin again."""
    sampler = trainer.train_sampler
    if getattr(sampler, "shuffle", False):
        for _ in range(epochs):
            torch.randperm(sampler.num_samples, generator=sampler.generator)
