"""What each token of a generation would do to its mean entropy, for rules that choose tokens by that.

With g the gradient of the mean entropy of the rows and P the optimizer's scaling, a coefficient c on
grad log pi_i moves the mean entropy by c <g, P grad log pi_i> to first order: c times the derivative of
log pi_i along P g. One forward and one backward pass give g, one with dual numbers the derivative for all
tokens at once (`EntropyGradient.derivatives`).
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from entropy_theory.token_batch import TokenBatch
from llm_bridge.accounting.entropy_gradient import EntropyGradient
from llm_bridge.accounting.optimizer_step import scalings
from llm_bridge.accounting.step_rows import StepRows, check_accelerator, token_shares
from llm_bridge.forward.policy_forward import COLUMNS


def attach(trainer: Any) -> None:
    """Make a trainer fill the column ``entropy_effect``, if its rule reads it; EntropyTrainer calls it.

    Raises ValueError for a kind of distribution without gradients; in training, as `of_generation`.
    """
    if "entropy_effect" in trainer.rule.needs.columns:
        check_accelerator(trainer.accelerator)
        trainer.entropy_effects = functools.partial(of_generation, trainer)


def of_generation(trainer: Any, columns: dict[str, Any], batch: TokenBatch) -> torch.Tensor:
    """Return the column ``entropy_effect`` of this rank's rows, [sequences, positions].

    Args:
        trainer: an EntropyTrainer in training.
        columns: the rows, as TRL's batch dictionary has them.
        batch: the same rows as rules read them.

    Raises:
        UnreadableStepError: an optimizer other than torch's SGD, Adam or AdamW.
        ValueError: a model without trainable parameter, or a kind of distribution without gradients.
    """
    gradient = EntropyGradient(trainer.model, trainer.accelerator)
    scaling = scalings(trainer.optimizer, gradient.parameters)
    shares, weight = token_shares(batch)
    (total,) = gradient.sum_over_ranks([weight])
    zeros = torch.zeros_like(shares)
    if not total:
        return zeros

    def rows(start: int, stop: int) -> StepRows:
        cut = {name: columns[name][start:stop] for name in COLUMNS}
        return StepRows(
            statistics=lambda: trainer.forward.statistics(trainer.model, cut),
            measure=shares[start:stop] / total, moved={"log_prob": zeros[start:stop]},
        )

    size = trainer.args.per_device_train_batch_size
    parts = [rows(start, start + size) for start in range(0, len(shares), size)]
    _, slope = gradient.evaluate(parts)
    power = 0.0
    for place, scale in enumerate(scaling):
        scaled = scale * slope.parts[place]
        power += gradient.products({"power": scaled}, slope, place)["power"]
        slope.parts[place] = scaled
    (power,) = gradient.sum_over_ranks([power])
    found = gradient.derivatives(parts, slope, power)
    return torch.cat([part["log_prob"] for part in found]).to(batch.log_prob.dtype)
