"""Makes the columns that rules read from TRL's batch dictionary and the completions' rewards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from llm_bridge.trainer.batches import prefix_states

KEPT = ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask", "num_items_in_batch")
"""The columns of TRL that stay; its advantages and its scores are replaced."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """The place of a rank's rows among those of all ranks."""

    rank: int
    ranks: int
    rows: int
    """The number of rows in one rank's share of a generation."""
    group_size: int
    """The number of completions of one prompt."""


def with_rule_columns(
    columns: dict[str, Any], rewards: torch.Tensor, *, reward_weights: torch.Tensor,
    temperature: float, tempered: bool, place: Place, accelerator: Any,
) -> dict[str, Any]:
    """Add to TRL's columns those that a TokenBatch needs and TRL does not carry.

    A completion that no reward function could judge (all its rewards are NaN) is left out by its mask.

    Args:
        columns: TRL's batch dictionary; its number of rows may be smaller than ``place.rows``.
        rewards: [rows, reward functions], NaN where a function gave none.
        reward_weights: [reward functions].
        temperature: temperature at which the completions were sampled.
        tempered: whether they are the second batch.
        place: place of these rows.
        accelerator: accelerate's accelerator, which counts the tokens of all ranks.

    Raises:
        ValueError: prompts with images.
    """
    if "pixel_values" in columns:
        raise ValueError("prompts with images are not supported: train on text")
    reward = (rewards * reward_weights.to(rewards.device)).nansum(dim=1)
    judged = ~torch.isnan(rewards).all(dim=1)
    mask = columns["completion_mask"].bool() & judged[:, None]
    if "tool_mask" in columns:
        mask = mask & columns["tool_mask"].bool()
    tokens = torch.cat([columns["prompt_ids"], columns["completion_ids"]], dim=1)
    present = torch.cat([columns["prompt_mask"], columns["completion_mask"]], dim=1)
    states = prefix_states(tokens, present)
    count = len(mask)
    row = place.rank * place.rows + torch.arange(count, device=mask.device)
    return {
        **{name: columns[name] for name in KEPT},
        "reward": reward,
        "group": row // place.group_size,
        "sequence": row + place.rows * place.ranks * tempered,
        "sampling_temperature": torch.full(
            (count,), temperature, dtype=torch.float64, device=mask.device),
        "tempered": torch.full((count,), tempered, device=mask.device),
        "mask": mask,
        **token_weights(mask, accelerator),
        "state": states[:, columns["prompt_ids"].shape[1] : -1],
        "answer": states[:, -1],
    }


def token_weights(mask: torch.Tensor, accelerator: Any) -> dict[str, torch.Tensor]:
    """Return the columns ``weight``, 1/N each, and ``usable_tokens``, N, the tokens of all ranks."""
    tokens = accelerator.gather(mask.sum()).sum()
    return {"weight": mask.double() / tokens.clamp(min=1), "usable_tokens": tokens}
