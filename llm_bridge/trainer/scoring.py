"""What policies say of sampled rows, without gradient: the one that sampled, and the reference."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import torch

from entropy_theory.token_batch import TokenBatch
from llm_bridge.forward.policy_forward import COLUMNS, Forward
from llm_bridge.running import faults

OF_THE_POLICY = frozenset(
    {"log_prob", "old_log_prob", "sampling_log_prob", "entropy", "clamped_entropy"})
"""What a rule may read (`entropy_theory.reads`) that only a forward pass tells. A ratio is none of it
where rows serve one step: it is 1."""


class Scoring:
    """Statistics of the policy on sampled rows.

    Args:
        forward: of the trainer.
        batch_size: rows of one forward pass.
    """

    def __init__(self, forward: Forward, *, batch_size: int):
        self._forward, self._batch_size = forward, batch_size
        self._known: dict[str, torch.Tensor] | None = None
        self._step: int | None = None

    def statistics(
        self, model: Any, columns: dict[str, Any], batch_size: int | None = None
    ) -> dict[str, torch.Tensor]:
        """``log_prob``, ``entropy`` and, where the rule moves it, ``clamped_entropy``."""
        size = batch_size or self._batch_size
        found = defaultdict(list)
        with torch.no_grad():
            for start in range(0, len(columns["prompt_ids"]), size):
                cut = {name: columns[name][start : start + size] for name in COLUMNS}
                statistics = self._forward.statistics(model, cut)
                found["log_prob"].append(statistics.log_prob)
                found["entropy"].append(statistics.entropy)
                if statistics.clamped_entropy is not None:
                    found["clamped_entropy"].append(statistics.clamped_entropy)
        return {name: torch.cat(parts) for name, parts in found.items()}

    def forget(self) -> None:
        """What was kept is of other rows than those to come."""
        self._known = None

    def keep(self, statistics: dict[str, torch.Tensor]) -> None:
        """Of the rows that were just sampled: TRL has scored them, through our forward."""
        self._known = statistics

    @property
    def has_kept(self) -> bool:
        """Whether the rows that were just sampled are scored already."""
        return self._known is not None

    def score(self, model: Any, columns: dict[str, Any], *, step: int) -> None:
        """Add the columns of the policy that sampled: old_log_prob, entropy and clamped_entropy."""
        found = self.statistics(model, columns) if self._known is None else self._known
        self._known, self._step = None, step
        columns["old_log_prob"] = found.pop("log_prob")
        columns.update(found)

    def check_ratio(self, batch: TokenBatch, columns: dict[str, Any], model: Any, precision: str) -> None:
        """As `faults.check_ratio`, on the step that starts from the policy which scored its rows."""
        if batch.step == self._step and "old_log_prob" in columns:
            faults.check_ratio(batch, faults.rounding(model, precision), step=batch.step)


def unscored(mask: torch.Tensor, model: Any) -> dict[str, torch.Tensor]:
    """In the place of `Scoring.statistics` for a rule that reads none of it: zeros, all ratios 1."""
    wide = any(weight.dtype == torch.float64 for weight in model.parameters())
    zeros = torch.zeros(mask.shape, dtype=torch.float64 if wide else torch.float32, device=mask.device)
    return dict.fromkeys(("log_prob", "entropy", "clamped_entropy"), zeros)
