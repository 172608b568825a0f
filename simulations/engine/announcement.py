"""A forecast of the next step's entropy change, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropy_theory import entropy_change
from entropy_theory.policy import entropy


@dataclass(frozen=True, kw_only=True, slots=True)
class Announcement:
    """What a batch announces before its step is taken, and the policy that it was made on."""

    logits: np.ndarray
    """[runs, states, actions]."""
    entropy: np.ndarray
    """[runs, states], nats."""
    shares: np.ndarray
    """[runs, states]: what the mean entropy weighs states by."""
    coefficients: np.ndarray
    """[runs], nats: forecast (i), times the learning rate."""

    def compared(self, logits: np.ndarray) -> dict[str, np.ndarray]:
        """The columns of `Forecasts` [runs], given the logits that the step led to."""
        change = logits - self.logits
        by_state = {
            "first_order": entropy_change.first_order(self.logits, change),
            "exact": entropy_change.exact(self.logits, change),
            "measured": entropy(logits) - self.entropy,
        }
        return {"coefficients": self.coefficients,
                **{name: (self.shares * values).sum(axis=-1) for name, values in by_state.items()}}
