"""A forecast of the next step's entropy change, and its comparison with the measured change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from entropy_theory import entropy_change, forecast
from entropy_theory.policy import entropy
from entropy_theory.tabular import sum_by_index
from simulations.engine.runs import Runs


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

    @classmethod
    def of(cls, runs: Runs) -> Announcement:
        """Return the forecast of the next step's batch, which is drawn for it."""
        runs.draw()
        rows = runs.rows()
        at_rows = runs.log_probabilities()[np.arange(runs.n_runs)[:, None, None], rows.state]
        contributions = forecast.token_contributions(
            rows,
            runs.rule.scores(rows),
            runs.rule.state_terms(rows),
            forecast.state_statistics(
                at_rows, rows.action, removed_fraction=runs.rule.needs.removed_fraction
            ),
        )
        by_state = sum_by_index(np, contributions, rows.state, runs.n_states)
        shares = runs.token_shares().reshape(runs.n_runs, -1) / runs.n_prompts
        return cls(
            logits=runs.logits.copy(), entropy=runs.entropy, shares=shares,
            coefficients=runs.learning_rate[:, 0, 0] * (shares * by_state).sum(axis=-1),
        )

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
