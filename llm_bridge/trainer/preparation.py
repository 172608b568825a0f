"""Prepares a rule's whole-batch columns on all rows of all ranks, and carries them with the rows."""

from __future__ import annotations

from typing import Any

import torch

from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import UpdateRule
from llm_bridge.objective.batches import OF_A_SEQUENCE, PREPARED, gathered, token_batch


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
        name: torch.cat([part[name] for part in micro_batches])
        for name, column in micro_batches[0].items()
        if column.ndim and not name.startswith(PREPARED)
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
