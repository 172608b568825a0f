"""DAPO's dynamic sampling: groups of equal rewards make room for those of other prompts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from entropy_theory import advantages
from entropy_theory.token_batch import TokenBatch
from llm_bridge.data import models
from llm_bridge.forward import images
from llm_bridge.objective.batches import join
from llm_bridge.trainer.columns import token_weights


def without_signal(columns: dict[str, Any], group_size: int) -> torch.Tensor:
    """Mask of the groups whose usable rows all have one reward, or which have no usable row: [groups].

    The groups that the rules themselves find without signal (`advantages.without_signal`).
    """
    mask = columns["mask"].bool().reshape(-1, group_size, columns["mask"].shape[1])
    reward = columns["reward"].reshape(-1, group_size, 1).expand(mask.shape)
    nothing = torch.zeros_like(reward)
    # Each group is a run of its own; of its rows only rewards are looked at.
    batch = TokenBatch(
        log_prob=nothing, old_log_prob=nothing, reward=reward, mask=mask, weight=mask.to(reward.dtype))
    return (advantages.without_signal(batch, mask) | ~mask).all(dim=2).all(dim=1)


def other_prompts(
    dataset: Any, groups: int, group_size: int, *, key: tuple[int, ...], rank: int, ranks: int
) -> list[dict[str, Any]]:
    """Draw this rank's examples, each ``group_size`` times; the key draws those of all ranks at once."""
    count = groups * ranks
    drawn = np.random.default_rng(key).choice(len(dataset), count, replace=count > len(dataset))
    own = drawn[rank * groups : (rank + 1) * groups]
    return [dataset[int(index)] for index in own for _ in range(group_size)]


def sources(dead: torch.Tensor, live: torch.Tensor, group_size: int) -> torch.Tensor:
    """Number the rows to train on, [groups x group_size]: own ones, and new ones in place of dead groups.

    The rows of new groups are numbered from ``len(dead)`` groups on.
    """
    group = torch.arange(len(dead), device=dead.device)
    places, found = group[dead], group[live]
    count = min(len(places), len(found))
    group[places[:count]] = len(dead) + found[:count]
    offset = torch.arange(group_size, device=dead.device)
    return (group[:, None] * group_size + offset).reshape(-1)


def taken(
    columns: dict[str, Any], new: dict[str, Any], source: torch.Tensor, *, pad_token: int
) -> dict[str, Any]:
    """Take the rows at ``source``, with the group and sequence numbers of the rows that they replace."""
    both = join(columns, new, pad_token=pad_token)
    found = {name: images.taken(column, source) if isinstance(column, list) or column.ndim else column
             for name, column in both.items()}
    return {**found, "group": columns["group"], "sequence": columns["sequence"]}


def resampled(
    trainer: Any, columns: dict[str, Any], inputs: list[dict[str, Any]],
    draw: Callable[[list[dict[str, Any]]], dict[str, Any]],
) -> tuple[dict[str, Any], list[dict[str, Any]], int]:
    """Replace groups without signal by whole groups of other prompts, on each rank by itself (DAPO).

    Args:
        trainer: the trainer, whose ``resampling_rounds`` is the largest number of draws.
        columns: the columns of the first draw.
        inputs: the examples of the first draw.
        draw: function that samples and judges completions of as many examples.

    Returns:
        The columns and examples to train on, and how many prompts of all ranks were replaced.
    """
    size, accelerator = trainer.num_generations, trainer.accelerator
    replaced = 0
    for attempt in range(trainer.resampling_rounds):
        dead = without_signal(columns, size)
        if not bool(accelerator.gather(dead.sum()).sum()):
            break
        others = other_prompts(
            trainer.train_dataset, len(dead), size,
            key=(trainer.args.seed, trainer.state.global_step, attempt),
            rank=accelerator.process_index, ranks=accelerator.num_processes)
        new = draw(others)
        live = ~without_signal(new, size)
        source = sources(dead, live, size)
        columns = taken(columns, new, source, pad_token=models.tokenizer_of(trainer).pad_token_id)
        inputs = [[*inputs, *others][index] for index in source.tolist()]
        replaced += int(accelerator.gather((source >= len(others)).sum()).sum()) // size
    return {**columns, **token_weights(columns["mask"], accelerator)}, inputs, replaced
