"""The choice of what is recorded of simulated runs, and the trajectories that were recorded."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_theory.support.notebook import card
from simulations.engine.array_types import (
    ByRecord,
    ByRecordAndState,
    ByRun,
    PassAtK,
    RecordSteps,
    RunLogits,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """Choice of records beside the columns that always are. Raises ValueError for impossible counts."""

    logits: bool = False
    """Whether to keep the logits of each record."""
    forecasts: bool = False
    """Whether to keep the three forecasts of each recorded step."""
    pass_at: tuple[int, ...] = (1,)
    """The values of k in pass@k."""
    distinct_of: int = 8
    """The number of answers among which distinct right ones are counted."""

    def __post_init__(self) -> None:
        for name, value in (("pass_at", self.pass_at), ("distinct_of", (self.distinct_of,))):
            if not all(isinstance(k, (int, np.integer)) and k >= 1 for k in value):
                raise ValueError(f"{name} must be whole numbers of at least 1, got {value}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Trajectory:
    """The records of runs; entropies are in nats, a state is a prompt, means are over prompts.

    On a token tree a prompt's value is the mean over the tokens of its responses: per response, then
    over responses.
    """

    step: RecordSteps
    """The number of optimizer steps taken before each record, [records]."""
    entropy: ByRecord
    """The entropy, [records, runs]."""
    reward: ByRecord
    """The expected reward, or probability of a right answer where rewards are 0 or 1: [records, runs]."""
    entropy_within_correct: ByRecord
    r"""The entropy of the policy given a right answer, at most :math:`\log |A^*|`: [records, runs]."""
    temperature: ByRecord
    """The temperature of the next step's second batch, NaN without one: [records, runs]."""
    coefficient: ByRecord
    """The coefficient that the rule's controller chose, NaN without one: [records, runs]."""
    covariance: ByRecord
    r""":math:`\operatorname{Cov}_\pi(\log \pi, A)`, with A the reward minus its expectation (on a tree,
    :math:`Q - V`). It is what a step of the natural gradient takes from entropy, to first order and per
    unit learning rate. [records, runs]."""
    covariance_pg: ByRecord
    """Cov_pi(log pi, pi A), what a policy-gradient step takes from entropy: [records, runs]."""
    distinct_answers: ByRecord
    """The expected number of distinct right answers among ``distinct_of`` samples: [records, runs]."""
    response_length: ByRecord
    """The expected number of tokens of a response, 1 for bandits: [records, runs]."""
    pass_at_k: PassAtK
    """The probability of a right answer among k, :math:`1 - (1 - p)^k`: [records, runs, ks]."""
    entropy_by_state: ByRecordAndState
    """[records, runs, states]."""
    reward_by_state: ByRecordAndState
    """[records, runs, states]."""
    covariance_by_state: ByRecordAndState
    """[records, runs, states]."""
    pass_at: tuple[int, ...]
    """The values of k in ``pass_at_k``."""
    final_logits: RunLogits
    """The logits after the last step, [runs, states, actions]."""
    tail_entropy: ByRun
    """The mean entropy over every step of the tail, [runs]."""
    tail_reward: ByRun
    """The mean expected reward over every step of the tail, [runs]."""
    tail_spread: ByRun
    """The standard deviation of entropy over every step of the tail, the chatter of control: [runs]."""
    tail_switches: ByRun
    """How often the temperature changed in the tail, [runs]."""
    saturated: ByRun
    """The number of batches at which the coefficient that would hold the target was out of bounds,
    [runs]; 0 without a controller that says so (`ForecastCoefficient`)."""
    held: ByRun
    """The number of batches at which the coefficient had no power over entropy and stayed, [runs]."""
    logits: np.ndarray
    """The logits of each record, [records, runs, states, actions]; empty unless asked for."""
    forecasts: Forecasts | None = None
    """The forecasts of each recorded step but the last, if asked for."""

    def _repr_html_(self) -> str:
        shown = ("entropy", "reward", "entropy_within_correct", "distinct_answers", "response_length")
        means = {name: getattr(self, name).mean(axis=1) for name in shown}
        return card(f"{self.entropy.shape[1]} runs, {self.step[-1]} steps: means, first to last", {
            name.replace("_", " "): f"{mean[0]:.4g} → {mean[-1]:.4g}" for name, mean in means.items()})

    def take_runs(self, index: np.ndarray) -> Trajectory:
        """Return the trajectory of some of the runs."""
        return _joined([self], self.final_logits[index], lambda parts, axis: (
            parts[0][index] if axis == 0 else parts[0][:, index]))


_BY_RUN = ("tail_entropy", "tail_reward", "tail_spread", "tail_switches", "saturated", "held")
BY_RECORD = (
    "entropy", "reward", "entropy_within_correct", "temperature", "coefficient", "covariance",
    "covariance_pg", "distinct_answers", "response_length", "pass_at_k", "entropy_by_state",
    "reward_by_state", "covariance_by_state",
)


def concatenate(parts: Sequence[Trajectory], final_logits: np.ndarray) -> Trajectory:
    """Join the trajectories of blocks of runs, recorded at the same steps, to one of all runs in order.

    ``final_logits`` [runs, states, actions] holds the last logits of all runs.
    """
    if len(parts) == 1:
        return parts[0]
    return _joined(parts, final_logits, np.concatenate)


def _joined(
    parts: Sequence[Trajectory], final_logits: np.ndarray,
    join: Callable[[list[np.ndarray], int], np.ndarray],
) -> Trajectory:
    """The first trajectory with these last logits and all other columns joined along the runs' axis."""
    first = parts[0]
    by_record = (*BY_RECORD, "logits") if first.logits.size else BY_RECORD
    columns: dict[str, Any] = {"final_logits": final_logits} | {
        name: join([getattr(part, name) for part in parts], axis)
        for axis, names in enumerate((_BY_RUN, by_record)) for name in names}
    if first.forecasts is not None:
        columns["forecasts"] = Forecasts(**{
            name: join([getattr(part.forecasts, name) for part in parts], 1) for name in FORECASTS})
    return dataclasses.replace(first, **columns)


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecasts:
    """The three forecasts of `entropy_theory.forecast` beside the measured change.

    Each is [records - 1, runs], in nats, averaged over states (weighted as before the step).
    """

    coefficients: np.ndarray
    """Forecast (i), from the rule's own coefficients on listed rows, times the learning rate."""
    first_order: np.ndarray
    """Forecast (ii), first order from the logit change."""
    exact: np.ndarray
    """Forecast (iii), exact from the logit change."""
    measured: np.ndarray
    """The measured change, entropy after minus entropy before."""


FORECASTS = tuple(field.name for field in dataclasses.fields(Forecasts))
