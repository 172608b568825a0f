"""Forecasts for a rule that holds an entropy by them (its option ``hold="forecast"``).

Before each optimizer step the entropy's gradient says what the step is about to do, and what a unit of
the rule's coefficient adds to it: one more backward pass, and, but for an entropy bonus averaged as the
entropy is, a forward pass with dual numbers. Before the next batch the rule's controller is shown their
sums over the steps on the last one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from transformers import TrainerCallback

from entropy_theory.controllers import EntropyForecast
from llm_bridge.accounting.accountant import Accountant


def attach(trainer: Any) -> None:
    """Make a trainer forecast its steps, if its rule's controller wants that; EntropyTrainer calls it."""
    controller = trainer.coefficient_controller
    if controller is None or not controller.forecasts or trainer.entropy_forecast is not None:
        return
    accountant = Accountant(trainer, every=0, forecast_every=1, forecast_unit=True)
    accountant.is_published = False
    forecasts = _Forecasts(accountant)
    trainer.add_callback(forecasts.accountant)
    trainer.add_callback(forecasts)
    trainer.entropy_forecast = forecasts


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
        """What a checkpoint between two batches stores."""
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
