"""The rows of an optimizer step, whose mean entropy is accounted for, on one rank or on several."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed.tensor import DTensor

from entropy_theory.token_batch import TokenBatch, sequence_weight
from llm_bridge.head.token_statistics import TokenStatistics


@dataclass(frozen=True, kw_only=True, slots=True)
class StepRows:
    """Rows of a step that go through the model together."""

    statistics: Callable[[], TokenStatistics]
    """One forward pass: the statistics of the rows' tokens under the weights as they are."""
    measure: torch.Tensor
    """[sequences, positions]: the weight of each token's state in the mean; the weights of all rows of
    all ranks sum to 1."""
    moved: Mapping[str, torch.Tensor]
    """Factors of the gradients of the tokens' statistics in the step's loss, by names of
    `TokenStatistics`, [sequences, positions] each. The sign is that of the objective."""


class Slope:
    """Numbers shaped like the trainable parameters, the rank's own part, in float32 at least."""

    def __init__(self, parts: list[torch.Tensor]):
        self.parts = parts

    def __iadd__(self, other: Slope) -> Slope:
        for mine, its in zip(self.parts, other.parts, strict=True):
            mine += its
        return self

    def __imul__(self, factor: float) -> Slope:
        for mine in self.parts:
            mine *= factor
        return self

    def copy(self) -> Slope:
        """Return a slope of its own, with the same numbers."""
        return Slope([part.clone() for part in self.parts])


def token_shares(batch: TokenBatch, rows: torch.Tensor | None = None) -> tuple[torch.Tensor, float]:
    """Weight of each token's state in the mean entropy, before division by the rows' weight."""
    ordinary: Any = batch.is_ordinary
    if rows is not None:
        ordinary = ordinary & rows[:, None]
    length = ordinary.sum(-1, keepdim=True).clamp(min=1)
    weight: Any = sequence_weight(batch, ordinary)
    weight = weight.detach().double()
    return torch.where(ordinary, weight / length, 0.0), float(weight.sum())


def sum_over_ranks(accelerator: Any, numbers: Sequence[float]) -> list[float]:
    """Sum each number over all ranks, in one operation."""
    if accelerator.num_processes == 1:
        return list(numbers)
    column = torch.tensor(numbers, dtype=torch.float64, device=accelerator.device)
    return accelerator.reduce(column, "sum").tolist()


def copies_on_ranks(parameter: torch.Tensor, ranks: int) -> int:
    """On how many ranks each number of a parameter is held; ``ranks`` of one that is not sharded."""
    if not isinstance(parameter, DTensor):
        return ranks
    mesh = parameter.device_mesh
    replicated = [mesh.size(d) for d, p in enumerate(parameter.placements) if p.is_replicate()]
    return functools.reduce(operator.mul, replicated, 1)


def check_accelerator(accelerator: Any) -> None:
    """Raise ValueError for a kind of distribution whose steps cannot be accounted for."""
    if accelerator.distributed_type.value == "DEEPSPEED":
        raise ValueError(
            "DeepSpeed keeps gradients and the optimizer's state to itself, so that its steps cannot be "
            "accounted for: train with DDP or FSDP2, or without an account"
        )
    if accelerator.scaler is not None:
        raise ValueError(
            "float16 autocast scales the loss and may skip a step, which cannot be accounted for: train "
            "in bfloat16 or float32 (bf16=True, or fp16=False), or without an account"
        )
