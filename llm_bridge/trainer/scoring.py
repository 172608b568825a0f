"""Scores sampled rows, without gradient, under the policy that sampled them and the reference."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import torch

from entropy_theory.token_batch import TokenBatch
from llm_bridge.forward.policy_forward import COLUMNS, Forward
from llm_bridge.running import faults

OF_THE_POLICY = frozenset(
    {"log_prob", "old_log_prob", "sampling_log_prob", "entropy", "clamped_entropy"})
"""The names (`entropy_theory.reads`) that a rule may read and that need a forward pass. A ratio is not
among them where rows serve one step, as it is 1."""
MEASURED_ROWS = 8
"""The number of rows on which rounding is measured."""


class Scoring:
    """Computes statistics of the policy on sampled rows.

    Args:
        forward: the trainer's forward pass.
        batch_size: number of rows of one forward pass.
        precision: accelerate's mixed precision.
    """

    def __init__(self, forward: Forward, *, batch_size: int, precision: str):
        self._forward, self._batch_size, self._precision = forward, batch_size, precision
        self._rounding: dict[int, float] = {}
        self._known: dict[str, torch.Tensor] | None = None
        self._step: int | None = None

    def statistics(
        self, model: Any, columns: dict[str, Any], batch_size: int | None = None
    ) -> dict[str, torch.Tensor]:
        """Return ``log_prob``, ``entropy`` and, where the rule moves it, ``clamped_entropy``."""
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
        """Forget the scores that were kept, before other rows are sampled."""
        self._known = None

    def keep(self, statistics: dict[str, torch.Tensor]) -> None:
        """Keep the scores of the rows that were just sampled, which TRL computed by our forward pass."""
        self._known = statistics

    @property
    def has_kept(self) -> bool:
        """Whether the rows that were just sampled are scored already."""
        return self._known is not None

    def score(self, model: Any, columns: dict[str, Any], *, step: int) -> None:
        """Add the columns of the policy that sampled: old_log_prob, entropy and clamped_entropy."""
        found = self.statistics(model, columns) if self._known is None else self._known
        self._known, self._step = None, step
        # Once: what trains on another policy does so from the start, while rounding grows with a policy.
        if not self._rounding and faults.rounding(model, self._precision) > faults.TELLING:
            self._rounding[step] = self.difference_alone(model, columns, found["log_prob"])
        columns["old_log_prob"] = found.pop("log_prob")
        columns.update(found)

    def check_ratio(
        self, batch: TokenBatch, columns: dict[str, Any], model: Any, *, holds_logits: bool
    ) -> TokenBatch:
        """Check ratios as `faults.check_ratio`, at a step that starts from the policy that scored.

        Returns the batch with ratios of exactly 1 there, where all that differs is rounding: a clip or a
        penalty that has an edge at 1 would act on it, in another way for every cut into micro-batches.

        Args:
            batch: as there.
            columns: the rows', with those of `score` if they were scored.
            model: the policy.
            holds_logits: whether the step's statistics come from logits, which the model rounds; those
                of a fused head are not, and rounding was measured on these.
        """
        if batch.step == self._step and "old_log_prob" in columns:
            measured = None if holds_logits else self._rounding.get(batch.step)
            faults.check_ratio(
                batch, faults.rounding(model, self._precision, measured), step=batch.step)
            return batch.replace(old_log_prob=batch.log_prob.detach())
        return batch

    def difference_alone(
        self, model: Any, columns: dict[str, Any], log_prob: torch.Tensor
    ) -> float:
        """Score the first rows again, each alone and without its padding; return how far scores differ.

        Under sharding each call of the model is a collective: ranks have equally many rows, and each row
        is one call, with tokens or without.

        Args:
            model: the policy.
            columns: the rows'.
            log_prob: [rows, positions], their scores.

        Returns:
            The root mean square over tokens, nats; infinity without a token.
        """
        differences, counted = [], columns.get("mask", columns["completion_mask"]).bool()
        for row in range(min(MEASURED_ROWS, len(log_prob))):
            alone = {name: columns[name][row : row + 1] for name in COLUMNS}
            for kind in ("prompt", "completion"):
                place = alone[f"{kind}_mask"][0].nonzero()
                present = slice(int(place.min()), int(place.max()) + 1) if len(place) else slice(None)
                for part in ("ids", "mask"):
                    alone[f"{kind}_{part}"] = alone[f"{kind}_{part}"][:, present]
            again = self.statistics(model, alone)["log_prob"][0]
            differences.append((again - log_prob[row, present])[counted[row, present]])
        every = torch.cat(differences)
        return float(every.square().mean().sqrt()) if len(every) else math.inf


def unscored(mask: torch.Tensor, model: Any) -> dict[str, torch.Tensor]:
    """Return zeros, so that all ratios are 1, in place of the statistics that a rule does not read."""
    wide = any(weight.dtype == torch.float64 for weight in model.parameters())
    zeros = torch.zeros(mask.shape, dtype=torch.float64 if wide else torch.float32, device=mask.device)
    return dict.fromkeys(("log_prob", "entropy", "clamped_entropy"), zeros)
