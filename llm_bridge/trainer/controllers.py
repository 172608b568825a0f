"""Runs the closed loops of a rule: what each observes of a generation, and its state in a checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from entropy_theory.controllers import EntropyForecast
from entropy_theory.support import results
from entropy_theory.token_batch import TokenBatch, mean_over_sequences

CONTROLLER_STATE = "controller_state.json"
COEFFICIENT_STATE = "coefficient_state.json"
FORECAST_STATE = "forecast_state.json"


Forecaster = Callable[[], EntropyForecast | None]
"""Returns the forecast of the optimizer steps on the last batch, summed, and the same on all ranks; None
before the first."""


def observe(
    controller: Any, batch: TokenBatch, forecaster: Forecaster | None = None, *, step: int, ahead: int
) -> float:
    """Show a controller the mean of what it reads over all ordinary rows; return its next setting.

    Where prompts have targets of their own, the mean is that of entropies less the prompts' offsets. One
    that ``forecasts`` is also shown what the forecaster returns, and one that follows a schedule is
    told its target.

    Args:
        step: the number of optimizer steps taken.
        ahead: how many are taken until the next generation.
    """
    controller.aim(step, ahead)
    mean = np.asarray(float(mean_over_sequences(batch, controller.reads)))
    if controller.takes_target and batch.target_offset is not None:
        mean = mean - float(mean_over_sequences(batch, "target_offset"))
    forecast = forecaster() if controller.forecasts and forecaster is not None else None
    return float(controller.observe(mean, forecast))


def report(controller: Any | None) -> dict[str, float]:
    """A controller's report on its last observation beside the setting, as numbers for a log."""
    if controller is None:
        return {}
    found = controller.report()
    if controller.target_schedule is not None:
        found = {"target": controller.target, **found}
    return {name: float(np.asarray(value)) for name, value in found.items()}


def save(
    folder: Path, *, temperature: Any | None, coefficient: Any | None, forecaster: Any | None = None
) -> None:
    """Write the state of those controllers that a rule has into a checkpoint, and of its forecaster."""
    for name, controller in _named(temperature, coefficient, forecaster):
        results.write_json(folder / name, controller.state_dict())


def load(
    folder: Path, *, temperature: Any | None, coefficient: Any | None, forecaster: Any | None = None
) -> None:
    """Give the controllers and the forecaster the state that `save` wrote."""
    for name, controller in _named(temperature, coefficient, forecaster):
        controller.load_state_dict(results.read_json(folder / name))


def _named(
    temperature: Any | None, coefficient: Any | None, forecaster: Any | None
) -> list[tuple[str, Any]]:
    named = [(CONTROLLER_STATE, temperature), (COEFFICIENT_STATE, coefficient)]
    if hasattr(forecaster, "state_dict"):
        named.append((FORECAST_STATE, forecaster))
    return [(name, controller) for name, controller in named if controller is not None]
