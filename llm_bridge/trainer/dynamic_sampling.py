"""DAPO's dynamic sampling: groups of equal rewards make room for those of other prompts."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from entropy_theory import advantages
from llm_bridge.trainer.batches import join


def without_signal(rows: dict[str, Any], group_size: int) -> torch.Tensor:
    """Mask of the groups whose usable rows all have one reward, or which have no usable row: [groups].

    Rewards are equal as the rules count them equal: `advantages.equal_rewards`.
    """
    reward = rows["reward"].reshape(-1, group_size)
    usable = rows["mask"].any(dim=1).reshape(-1, group_size)
    largest = reward.masked_fill(~usable, -torch.inf).amax(dim=1)
    smallest = reward.masked_fill(~usable, torch.inf).amin(dim=1)
    return advantages.equal_rewards(smallest, largest)


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
    rows: dict[str, Any], new: dict[str, Any], source: torch.Tensor, *, pad_token: int
) -> dict[str, Any]:
    """Take the rows at ``source``, with the group and sequence numbers of the rows that they replace."""
    both = join(rows, new, pad_token=pad_token)
    found = {name: column[source] if column.ndim else column for name, column in both.items()}
    return {**found, "group": rows["group"], "sequence": rows["sequence"]}
