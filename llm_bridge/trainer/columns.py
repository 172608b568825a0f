"""Makes the columns that rules read from TRL's batch dictionary and the completions' rewards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import UpdateRule
from entropy_theory.update_rules.bonus import tells_prompts_apart
from llm_bridge.data.task_file import as_nats
from llm_bridge.forward.images import IMAGES, numbers
from llm_bridge.objective.batches import (
    OF_A_SEQUENCE,
    PREPARED,
    gathered,
    prefix_states,
    token_batch,
)

KEPT = ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask", "num_items_in_batch")
"""The columns of TRL that stay; its advantages and its scores are replaced."""

OFFSET = "target_offset"
"""The column of a data set that says how far a prompt's target is above the rule's, nats."""


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
    """
    reward = (rewards * reward_weights.to(rewards.device)).nansum(dim=1)
    judged = ~torch.isnan(rewards).all(dim=1)
    mask = columns["completion_mask"].bool() & judged[:, None]
    if "tool_mask" in columns:
        mask = mask & columns["tool_mask"].bool()
    tokens = torch.cat([columns["prompt_ids"], columns["completion_ids"]], dim=1)
    present = torch.cat([columns["prompt_mask"], columns["completion_mask"]], dim=1)
    states = prefix_states(tokens, present)
    if IMAGES in columns:
        states = states + numbers(columns[IMAGES]).to(states.device)[:, None]
    count = len(mask)
    row = place.rank * place.rows + torch.arange(count, device=mask.device)
    return {
        **{name: columns[name] for name in (*KEPT, IMAGES) if name in columns},
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


def target_offsets(examples: Sequence[dict[str, Any]], rule: UpdateRule) -> torch.Tensor | None:
    """Return the column ``target_offset`` of a rule for which prompts may have targets; else None.

    It depends on the rule alone whether there is a column, so that all ranks have it or none. An example
    without offset has the rule's own target.

    Args:
        examples: TRL's examples, one for each completion.
        rule: the rule that is trained with.

    Returns:
        [completions] in float64, nats; None for a rule without a target and without ``prompt_gain``.

    Raises:
        ValueError: an offset that is not a finite number, or offsets that the rule does not read.
    """
    given = [example.get(OFFSET) for example in examples]
    if not takes_offsets(rule):
        if any(offset is not None for offset in given):
            raise ValueError(
                f"the data set has a column {OFFSET}, but '{rule.name}' does not hold a target: "
                "give it target or prompt_gain, or take the column away")
        return None
    for offset, example in zip(given, examples, strict=True):
        if offset is not None and as_nats(offset) is None:
            raise ValueError(
                f"{OFFSET} of the prompt {str(example.get('prompt'))[:60]!r} is {offset!r}: give nats "
                "above the rule's target, or nothing for the rule's own")
    return torch.tensor([offset or 0.0 for offset in given], dtype=torch.float64)


def takes_offsets(rule: UpdateRule) -> bool:
    """Whether the rule holds a target, or tells prompts apart."""
    loops = (rule.controller(), rule.coefficient_controller())
    return tells_prompts_apart(rule) or any(loop is not None and loop.takes_target for loop in loops)


def token_weights(mask: torch.Tensor, accelerator: Any) -> dict[str, torch.Tensor]:
    """Return the columns ``weight``, 1/N each, and ``usable_tokens``, N, the tokens of all ranks."""
    tokens = accelerator.gather(mask.sum()).sum()
    return {"weight": mask.double() / tokens.clamp(min=1), "usable_tokens": tokens}


def world_batch(
    columns: dict[str, Any], policy: dict[str, torch.Tensor] | None, *, accelerator: Any, step: int,
    seed: int, is_unscored: bool = False,
) -> TokenBatch:
    """Make a TokenBatch of the rows of all ranks.

    Args:
        columns: the columns of this rank's rows, scored where ``policy`` is None.
        policy: statistics of the policy being trained, where it is not the one that sampled.
        accelerator: accelerate's accelerator, which gathers.
        step: the optimizer step about to be taken, counted from 0.
        seed: seed of the run.
        is_unscored: whether ``policy`` are the zeros of `scoring.unscored`.
    """
    batch = own_batch(columns, policy, step=step, seed=seed)
    # What is not scored is zero everywhere.
    zeros = ("log_prob", "old_log_prob", "entropy", "clamped_entropy") if is_unscored else ()
    return gathered(accelerator, batch, narrow=(*OF_A_SEQUENCE, *zeros))


def own_batch(
    columns: dict[str, Any], policy: dict[str, torch.Tensor] | None, *, step: int, seed: int
) -> TokenBatch:
    """Make a TokenBatch of this rank's rows. Arguments as `world_batch`."""
    known = {**columns, "log_prob": columns["old_log_prob"]} if policy is None else policy
    return token_batch(
        columns, known["log_prob"], known["entropy"], known.get("clamped_entropy"), step=step, seed=seed
    )


def prepare(rule: UpdateRule, columns: dict[str, Any], world: TokenBatch, *, rank: int) -> None:
    """Add the columns of the rule's ``prepare`` on all rows to those of this rank."""
    count, width = columns["mask"].shape
    own = slice(rank * count, (rank + 1) * count)
    for name, column in rule.prepare(world).prepared.items():
        columns[PREPARED + name] = column[own, :width]


def whole(micro_batches: list[dict[str, Any]]) -> dict[str, Any]:
    """Join the rows of all micro-batches of a generation, without prepared columns and scalars."""
    return {
        name: [row for part in micro_batches for row in part[name]] if isinstance(column, list)
        else torch.cat([part[name] for part in micro_batches])
        for name, column in micro_batches[0].items()
        if isinstance(column, list) or (column.ndim and not name.startswith(PREPARED))
    }


def deal_out(columns: dict[str, Any], micro_batches: list[dict[str, Any]]) -> None:
    """Give each micro-batch its rows of the prepared columns of `whole`."""
    start = 0
    for part in micro_batches:
        stop = start + len(part["mask"])
        for name, column in columns.items():
            if name.startswith(PREPARED):
                part[name] = column[start:stop]
        start = stop
