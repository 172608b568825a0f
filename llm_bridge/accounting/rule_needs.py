"""Computes effects of tokens on entropy, and forecasts of steps, for the rules that need them.

A rule may choose tokens by what each would do to the mean entropy of its generation (``covariance=
"network"``). Let g be the gradient of that mean and P the optimizer's scaling. To first order a
coefficient c on grad log pi_i moves the mean by c <g, P grad log pi_i>, which is c times the
derivative of log pi_i along P g. One forward and one backward pass give g. One pass with dual
numbers gives the derivatives of all tokens at once (`EntropyGradient.derivatives`).

A rule may hold an entropy by forecasts (``hold="forecast"``). Before each optimizer step the
entropy's gradient gives the forecast of the step, and of a unit of the rule's coefficient. This
costs one more backward pass. It also costs a forward pass with dual numbers, except for an entropy
bonus that is averaged as the entropy is. Before the next batch the rule's controller is given the
sums of both over the last batch's steps.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
from transformers import TrainerCallback

from entropy_theory.controllers import EntropyForecast
from entropy_theory.token_batch import TokenBatch
from llm_bridge.accounting.accountant import Accountant
from llm_bridge.accounting.entropy_gradient import EntropyGradient
from llm_bridge.accounting.optimizer_step import scalings
from llm_bridge.accounting.step_rows import StepRows, check_accelerator, token_shares
from llm_bridge.forward.images import cut
from llm_bridge.forward.policy_forward import COLUMNS


def attach(trainer: Any) -> None:
    """Make a trainer give its rule what it asks for; EntropyTrainer calls it.

    Raises ValueError for a kind of distribution without gradients; in training, as `of_generation`.
    """
    if "entropy_effect" in trainer.rule.needs.columns:
        check_accelerator(trainer.accelerator)
        trainer.entropy_effects = functools.partial(of_generation, trainer)
    controller = trainer.coefficient_controller
    if controller is None or not controller.forecasts or trainer.entropy_forecast is not None:
        return
    accountant = Accountant(trainer, every=0, forecast_every=1, forecast_unit=True)
    accountant.is_published = False
    forecasts = _Forecasts(accountant)
    trainer.add_callback(accountant)
    trainer.add_callback(forecasts)
    trainer.entropy_forecast = forecasts


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
        own = cut(columns, slice(start, stop), COLUMNS)
        return StepRows(
            statistics=lambda: trainer.forward.statistics(trainer.model, own),
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


class _Forecasts(TrainerCallback):
    """Adds up the forecasts of the steps on a batch, until they are asked for."""

    def __init__(self, accountant: Accountant):
        self.accountant = accountant
        self._base = self._per_unit = 0.0
        self._steps = 0

    def on_optimizer_step(self, *_: Any, **__: Any) -> None:
        """Count the step that was just taken; one without rows is forecast to do nothing."""
        found = self.accountant.current
        self._steps += 1
        if found is None:
            return
        base, per_unit = found.base_change, found.change_per_coefficient
        if base is not None and per_unit is not None:
            self._base += base
            self._per_unit += per_unit

    def state_dict(self) -> dict[str, float]:
        """The state that a checkpoint between two batches stores."""
        return {"base": self._base, "per_unit": self._per_unit, "steps": self._steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        self._base, self._per_unit, self._steps = state["base"], state["per_unit"], state["steps"]

    def __call__(self) -> EntropyForecast | None:
        """Return the sums since the last call; None if no step was taken."""
        base, per_unit, steps = self._base, self._per_unit, self._steps
        self._base = self._per_unit = 0.0
        self._steps = 0
        if steps == 0:
            return None
        return EntropyForecast(base=np.asarray(base), per_unit=np.asarray(per_unit))
