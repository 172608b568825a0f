"""A forecast of the next step's entropy change, and its comparison with the measured change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropy_theory import entropy_change
from entropy_theory.policy import entropy


@dataclass(frozen=True, kw_only=True, slots=True)
class Announcement:
    """The forecast that a batch makes before its step is taken, and the policy that it is for."""

    logits: np.ndarray
    """The logits before the step, [runs, states, actions]."""
    entropy: np.ndarray
    """The entropy before the step, [runs, states], nats."""
    shares: np.ndarray
    """The weights of states in the mean entropy, [runs, states]."""
    coefficients: np.ndarray
    """Forecast (i) times the learning rate, [runs], nats."""

    def compared(self, logits: np.ndarray) -> dict[str, np.ndarray]:
        """Return the columns of `Forecasts` [runs], given the logits after the step."""
        change = logits - self.logits
        by_state = {
            "first_order": entropy_change.first_order(self.logits, change),
            "exact": entropy_change.exact(self.logits, change),
            "measured": entropy(logits) - self.entropy,
        }
        return {"coefficients": self.coefficients,
                **{name: (self.shares * values).sum(axis=-1) for name, values in by_state.items()}}
