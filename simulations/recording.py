"""What is recorded of simulated runs, and how: on a schedule, and over every step of the tail."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from entropy_theory import entropy_change, forecast
from entropy_theory.policy import entropy, log_softmax

if TYPE_CHECKING:
    from simulations.engine import Runs


@dataclass(frozen=True, kw_only=True, slots=True)
class Trajectory:
    """What was recorded; entropies in nats, averaged over states."""

    step: np.ndarray
    """[records]: optimizer steps taken before the record."""
    entropy: np.ndarray
    """[records, runs]."""
    reward: np.ndarray
    """[records, runs]: probability of a right answer, averaged over states."""
    entropy_within_correct: np.ndarray
    """[records, runs]: entropy of the policy given a right answer, at most log |A*|."""
    temperature: np.ndarray
    """[records, runs]: at which the second batch of the next step is sampled; NaN without one."""
    final_logits: np.ndarray
    """[runs, states, actions]."""
    tail_entropy: np.ndarray
    """[runs]: mean over every step of the tail."""
    tail_reward: np.ndarray
    """[runs]: the same of the probability of a right answer."""
    tail_spread: np.ndarray
    """[runs]: standard deviation of entropy over every step of the tail: the chatter of control."""
    tail_switches: np.ndarray
    """[runs]: how often the temperature changed in the tail."""
    logits: np.ndarray
    """[records, runs, states, actions]; empty unless asked for."""
    forecasts: Forecasts | None = None
    """Of each recorded step but the last, if asked for."""

    def take_runs(self, index: np.ndarray) -> Trajectory:
        """The trajectory of some of the runs."""
        by_run = ("final_logits", "tail_entropy", "tail_reward", "tail_spread", "tail_switches")
        by_record = ("entropy", "reward", "entropy_within_correct", "temperature")
        taken = {name: getattr(self, name)[index] for name in by_run}
        taken |= {name: getattr(self, name)[:, index] for name in by_record}
        if self.logits.size:
            taken["logits"] = self.logits[:, index]
        if self.forecasts is not None:
            names = [field.name for field in dataclasses.fields(Forecasts)]
            taken["forecasts"] = Forecasts(
                **{name: getattr(self.forecasts, name)[:, index] for name in names}
            )
        return dataclasses.replace(self, **taken)


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecasts:
    """The three forecasts of `entropy_theory.forecast` beside the measured change, each
    [records - 1, runs], nats, averaged over states."""

    coefficients: np.ndarray
    """(i), from the rule's own coefficients on listed rows, times the learning rate."""
    first_order: np.ndarray
    """(ii), from the logit change."""
    exact: np.ndarray
    """(iii), from the logit change."""
    measured: np.ndarray
    """Entropy after minus entropy before."""


class Recorder:
    """Collects what `Trajectory` holds."""

    def __init__(self, runs: Runs, record_logits: bool, record_forecasts: bool) -> None:
        self.runs = runs
        self.record_logits = record_logits
        self.columns: dict[str, list[np.ndarray]] = {
            name: [] for name in ("entropy", "reward", "entropy_within_correct", "temperature")
        }
        self.steps: list[int] = []
        self.logits: list[np.ndarray] = []
        self.forecasts: dict[str, list[np.ndarray]] | None = (
            {f.name: [] for f in dataclasses.fields(Forecasts)} if record_forecasts else None
        )
        self.tail_steps = 0
        self.tail_entropy, self.tail_square, self.tail_reward = np.zeros((3, runs.n_runs))
        self.tail_switches = np.zeros(runs.n_runs, dtype=int)

    def policy(self, step: int) -> None:
        """A record of the current policies, ``step`` steps taken."""
        runs = self.runs
        self.steps.append(step)
        within = np.where(runs.reward > 0, runs.logits, -np.inf)
        right = sum_over_actions(runs.probabilities, runs.reward)[..., 0]
        temperature = np.full(runs.n_runs, np.nan) if runs.temperature is None else runs.temperature
        for name, values in (
            ("entropy", runs.entropy.mean(axis=-1)),
            ("reward", right.mean(axis=-1)),
            ("entropy_within_correct", entropy(within).mean(axis=-1)),
            ("temperature", temperature.copy()),
        ):
            self.columns[name].append(values)
        if self.record_logits:
            self.logits.append(runs.logits.copy(order="C"))

    def tail_policy(self) -> None:
        """Add the current policies to the means over the tail."""
        mean_entropy = self.runs.entropy.mean(axis=-1)
        self.tail_steps += 1
        self.tail_entropy += mean_entropy
        self.tail_square += mean_entropy**2
        right = sum_over_actions(self.runs.probabilities, self.runs.reward)
        self.tail_reward += right[..., 0].mean(axis=-1)

    def forecast(self, change: np.ndarray) -> None:
        """The three forecasts of the step ``change``, which is about to be taken."""
        if self.forecasts is None:
            return
        runs = self.runs
        rows = runs.rows()
        log_probabilities = log_softmax(runs.logits)
        at_rows = log_probabilities[np.arange(runs.n_runs)[:, None, None], rows.state]
        contributions = forecast.token_contributions(
            rows,
            runs.rule.scores(rows),
            runs.rule.state_terms(rows),
            forecast.state_statistics(
                at_rows, rows.action, removed_fraction=runs.rule.removed_fraction
            ),
        )
        measured_rows = rows.is_ordinary if runs.has_ordinary else rows.is_tempered
        from_coefficients = forecast.mean_entropy_forecast(
            rows.state, contributions, np.where(measured_rows, rows.weight, 0.0)
        )
        after = entropy(runs.logits + change).mean(axis=-1)
        for name, values in (
            ("coefficients", runs.learning_rate[:, 0, 0] * from_coefficients),
            ("first_order", entropy_change.first_order(runs.logits, change).mean(axis=-1)),
            ("exact", entropy_change.exact(runs.logits, change).mean(axis=-1)),
            ("measured", after - runs.entropy.mean(axis=-1)),
        ):
            self.forecasts[name].append(values)

    def trajectory(self) -> Trajectory:
        """All of it."""
        mean = self.tail_entropy / self.tail_steps
        variance = np.maximum(self.tail_square / self.tail_steps - mean**2, 0.0)
        columns = {name: np.asarray(values) for name, values in self.columns.items()}
        forecasts = None
        if self.forecasts is not None:
            changes = {name: np.asarray(values) for name, values in self.forecasts.items()}
            forecasts = Forecasts(**changes)
        return Trajectory(
            step=np.asarray(self.steps),
            **columns,
            final_logits=self.runs.logits.copy(order="C"),
            tail_entropy=mean,
            tail_reward=self.tail_reward / self.tail_steps,
            tail_spread=np.sqrt(variance),
            tail_switches=self.tail_switches,
            logits=np.asarray(self.logits),
            forecasts=forecasts,
        )


def sum_over_actions(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Sum over actions of x y, without a temporary: [runs, states, 1]."""
    return np.einsum("rsa,rsa->rs", x, y)[..., None]
