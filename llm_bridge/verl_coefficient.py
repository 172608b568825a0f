"""Runs the controller of a rule's coefficient under verl: what it observes of a batch before its steps.

Mean entropies of the response tokens, per sequence and then over the sequences of all ranks:

- a controller that reads the entropy takes the one that verl's trainer puts into the batch with the old
  log-probabilities;
- one that reads the clamped entropy (``aent``) has verl's engine make a forward pass over the batch;
- one that holds its target by forecasts is also shown the sums of the forecasts (`verl_forecast`) of
  the steps on the batch before.

A second batch (`verl_second_batch`) is not observed. Where prompts have targets of their own, means are
those of entropies less the prompts' offsets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from entropy_theory.controllers import EntropyForecast
from entropy_theory.update_rules import UpdateRule
from llm_bridge.trainer.columns import OFFSET
from llm_bridge.verl_batches import clamped_entropy_of, of_all_ranks, shown_clamped_entropy
from llm_bridge.verl_columns import COLUMN, names_of, ordinary
from llm_bridge.verl_rules import PREFIX


def sequence_means(column: torch.Tensor, mask: torch.Tensor) -> list[float]:
    """Return the mean of a column over each sequence's response tokens, if it has any.

    Args:
        column: [sequences, positions].
        mask: [sequences, positions], nonzero at response tokens.
    """
    mask = mask.bool()
    total = torch.where(mask, column.double(), 0.0).sum(1)
    length = mask.sum(1)
    return (total / length)[length > 0].tolist()


def entropies(data: Any, rule: UpdateRule) -> list[float]:
    """Return each sequence's mean entropy, nats, as verl's trainer scored this rank's part of a batch.

    Raises:
        ValueError: a trainer that put no entropies into the batch.
    """
    if "entropy" not in names_of(data):
        raise ValueError(
            f"the coefficient of '{PREFIX}{rule.name}' adapts to the entropies that verl's trainer "
            "scores with the old log-probabilities, and this batch has none: set trainer.use_v1=true, "
            "and leave algorithm.rollout_correction.bypass_mode at false"
        )
    entropy = data.select("entropy").to_padded_tensor()["entropy"]
    if COLUMN + OFFSET in names_of(data):
        entropy = entropy - data[COLUMN + OFFSET].to(entropy.device)
    return sequence_means(entropy, ordinary(data))


class ClampedEntropies:
    """A loss of 0 that keeps each sequence's mean clamped entropy, nats, in ``means``.

    verl's engine calls it as `verl_plugin.rule_loss`, and with the logits where top-k distillation is
    asked for.
    """

    def __init__(self, rule: UpdateRule):
        self.means: list[float] = []
        self._rule = rule

    def __call__(
        self, model_output: Any = None, data: Any = None, dp_group: Any = None, *,
        student_logits: torch.Tensor | None = None,
    ) -> Any:
        if student_logits is not None:
            return {"clamped_entropy": clamped_entropy_of(student_logits, data, self._rule)}
        column = shown_clamped_entropy(model_output, data, self._rule)
        self.means += sequence_means(column, ordinary(data))
        return column.new_zeros(()), {}


def chosen(
    controller: Any, own_means: list[float], forecast: EntropyForecast | None = None, *, step: int,
    ahead: int, group: Any = None,
) -> float:
    """Show a controller the mean over the sequences of all ranks; return the coefficient for the batch.

    Without a response token anywhere there is nothing to observe and nothing to train on: 0.

    Args:
        controller: a coefficient's, with the same state on all ranks.
        own_means: a number for each sequence of this rank.
        forecast: of the steps on the batch before, summed; None before the first.
        step: the number of optimizer steps taken.
        ahead: how many are taken on this batch.
        group: data-parallel process group; None for one rank.
    """
    means = [mean for part in of_all_ranks(own_means, group)[0] for mean in part]
    if not means:
        return 0.0
    controller.aim(step, ahead)
    return float(controller.observe(np.asarray(np.mean(means)), forecast))
