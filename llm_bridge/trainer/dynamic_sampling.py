"""DAPO's dynamic sampling: groups of equal rewards make room for those of other prompts."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from entropy_theory import advantages
from llm_bridge.trainer.batches import join


def without_signal(rows: dict[str, Any], group_size: int) -> torch.Tensor:
    """Groups whose usable rows all have one reward, or of which none is usable: boolean [groups].

    Equal is what the rules take for equal: `advantages.equal_rewards`.
    """
    reward = rows["reward"].reshape(-1, group_size)
    usable = rows["mask"].any(dim=1).reshape(-1, group_size)
    largest = reward.masked_fill(~usable, -torch.inf).amax(dim=1)
    smallest = reward.masked_fill(~usable, torch.inf).amin(dim=1)
    return advantages.equal_rewards(smallest, largest)


def other_prompts(
    dataset: Any, groups: int, group_size: int, *, key: tuple[int, ...], rank: int, ranks: int
) -> list[dict[str, Any]]:
    """This rank's examples, each ``group_size`` times: those of all ranks are drawn together by key."""
    count = groups * ranks
    drawn = np.random.default_rng(key).choice(len(dataset), count, replace=count > len(dataset))
    own = drawn[rank * groups : (rank + 1) * groups]
    return [dataset[int(index)] for index in own for _ in range(group_size)]


def sources(dead: torch.Tensor, live: torch.Tensor, group_size: int) -> torch.Tensor:
    """Rows to take, [groups x group_size]: own ones, and from ``len(dead)`` groups on the new ones'."""
    group = torch.arange(len(dead), device=dead.device)
    places, found = group[dead], group[live]
    count = min(len(places), len(found))
    group[places[:count]] = len(dead) + found[:count]
    offset = torch.arange(group_size, device=dead.device)
    return (group[:, None] * group_size + offset).reshape(-1)


def taken(
    rows: dict[str, Any], new: dict[str, Any], source: torch.Tensor, *, pad_token: int
) -> dict[str, Any]:
    """The rows of either at ``source``, under the group and sequence numbers of the places they take."""
    both = join(rows, new, pad_token=pad_token)
    found = {name: column[source] if column.ndim else column for name, column in both.items()}
    return {**found, "group": rows["group"], "sequence": rows["sequence"]}
