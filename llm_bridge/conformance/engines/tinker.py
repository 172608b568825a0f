"""tinker-cookbook's advantages; its losses run on Tinker's servers, whose code is not public."""

from __future__ import annotations

import types
from typing import Any

import torch

from llm_bridge.conformance.batches import Batch
from llm_bridge.conformance.comparison import Case
from llm_bridge.conformance.stand_ins import imported

STAND_INS = ("blobfile", "chz", "tinker")


def advantages(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Call ``compute_advantages`` on groups of trajectories."""
    module = imported("tinker_cookbook.rl.data_processing", STAND_INS)
    groups = [types.SimpleNamespace(get_total_rewards=batch.reward[batch.group == prompt].tolist)
              for prompt in batch.group.unique()]
    return torch.cat(module.compute_advantages(groups))[:, None].expand(batch.mask.shape)


CASES = (
    Case(function="compute_advantages", call=advantages, of_advantages=True,
         rule={"name": "grpo", "estimator": "group-centered"}),
)
