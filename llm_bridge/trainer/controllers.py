"""Runs the closed loops of a rule: what each observes of a generation, and its state in a checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from entropy_theory.support import results
from entropy_theory.token_batch import TokenBatch, mean_over_sequences

CONTROLLER_STATE = "controller_state.json"
COEFFICIENT_STATE = "coefficient_state.json"


def observe(controller: Any, batch: TokenBatch) -> float:
    """Show a controller the mean of what it reads over all ordinary rows; return its next setting."""
    mean = mean_over_sequences(batch, controller.reads)
    return float(controller.observe(np.asarray(float(mean))))


def save(folder: Path, *, temperature: Any | None, coefficient: Any | None) -> None:
    """Write the state of those controllers that a rule has into a checkpoint."""
    for name, controller in _named(temperature, coefficient):
        results.write_json(folder / name, controller.state_dict())


def load(folder: Path, *, temperature: Any | None, coefficient: Any | None) -> None:
    """Give the controllers the state that `save` wrote."""
    for name, controller in _named(temperature, coefficient):
        controller.load_state_dict(results.read_json(folder / name))


def _named(temperature: Any | None, coefficient: Any | None) -> list[tuple[str, Any]]:
    both = ((CONTROLLER_STATE, temperature), (COEFFICIENT_STATE, coefficient))
    return [(name, controller) for name, controller in both if controller is not None]
