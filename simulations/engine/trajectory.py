"""What can be recorded of simulated runs, and what was."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """What is recorded beside the columns that always are. Raises ValueError for impossible counts."""

    logits: bool = False
    """Keep the logits of each record."""
    forecasts: bool = False
    """Keep the three forecasts of each recorded step."""
    pass_at: tuple[int, ...] = (1,)
    """The k of pass@k."""
    distinct_of: int = 8
    """Number of answers among which distinct right ones are counted."""

    def __post_init__(self) -> None:
        for name, value in (("pass_at", self.pass_at), ("distinct_of", (self.distinct_of,))):
            if not all(isinstance(k, (int, np.integer)) and k >= 1 for k in value):
                raise ValueError(f"{name} must be whole numbers of at least 1, got {value}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Trajectory:
    """What was recorded. Entropies in nats. A state is a prompt here, and means are over prompts.

    On a token tree what is said of a prompt is the mean over the tokens of its responses: per
    response, then over responses.
    """

    step: np.ndarray
    """[records]: optimizer steps taken before the record."""
    entropy: np.ndarray
    """[records, runs]."""
    reward: np.ndarray
    """[records, runs]: expected reward; the probability of a right answer where rewards are 0 or 1."""
    entropy_within_correct: np.ndarray
    """[records, runs]: entropy of the policy given a right answer, at most log |A*|."""
    temperature: np.ndarray
    """[records, runs]: at which the second batch of the next step is sampled; NaN without one."""
    coefficient: np.ndarray
    """[records, runs]: what the rule's controller of a coefficient chose; NaN without one."""
    covariance: np.ndarray
    """[records, runs]: Cov_pi(log pi, A), A the reward minus its expectation (on a tree, Q - V): what a
    natural-gradient step takes from entropy, to first order and per unit learning rate."""
    covariance_pg: np.ndarray
    """[records, runs]: Cov_pi(log pi, pi A), the same of a policy-gradient step."""
    distinct_answers: np.ndarray
    """[records, runs]: expected number of distinct right answers among ``distinct_of`` samples."""
    response_length: np.ndarray
    """[records, runs]: expected tokens of a response; 1 for bandits."""
    pass_at_k: np.ndarray
    """[records, runs, ks]: probability of a right answer among k, 1 - (1 - p)^k."""
    entropy_by_state: np.ndarray
    """[records, runs, states]."""
    reward_by_state: np.ndarray
    """[records, runs, states]."""
    covariance_by_state: np.ndarray
    """[records, runs, states]."""
    pass_at: tuple[int, ...]
    """The ks of ``pass_at_k``."""
    final_logits: np.ndarray
    """[runs, states, actions]."""
    tail_entropy: np.ndarray
    """[runs]: mean over every step of the tail."""
    tail_reward: np.ndarray
    """[runs]: the same of the expected reward."""
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
        taken = {name: getattr(self, name)[index] for name in _BY_RUN}
        taken |= {name: getattr(self, name)[:, index] for name in BY_RECORD}
        if self.logits.size:
            taken["logits"] = self.logits[:, index]
        if self.forecasts is not None:
            taken["forecasts"] = Forecasts(
                **{name: getattr(self.forecasts, name)[:, index] for name in FORECASTS}
            )
        return dataclasses.replace(self, **taken)


_BY_RUN = ("final_logits", "tail_entropy", "tail_reward", "tail_spread", "tail_switches")
BY_RECORD = (
    "entropy", "reward", "entropy_within_correct", "temperature", "coefficient", "covariance",
    "covariance_pg", "distinct_answers", "response_length", "pass_at_k", "entropy_by_state",
    "reward_by_state", "covariance_by_state",
)


def concatenate(parts: Sequence[Trajectory], final_logits: np.ndarray) -> Trajectory:
    """Trajectories of blocks of runs, recorded at the same steps, as one of all runs in order.

    ``final_logits``: [runs, states, actions], of all of them.
    """
    first = parts[0]
    if len(parts) == 1:
        return first
    whole: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in _BY_RUN if name != "final_logits"
    }
    whole["final_logits"] = final_logits
    whole |= {name: np.concatenate([getattr(part, name) for part in parts], axis=1)
              for name in BY_RECORD}
    if first.logits.size:
        whole["logits"] = np.concatenate([part.logits for part in parts], axis=1)
    if first.forecasts is not None:
        whole["forecasts"] = Forecasts(**{
            name: np.concatenate([getattr(part.forecasts, name) for part in parts], axis=1)
            for name in FORECASTS
        })
    return dataclasses.replace(first, **whole)


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecasts:
    """The three forecasts of `entropy_theory.forecast` beside the measured change, each
    [records - 1, runs], nats, averaged over states (weighted as before the step)."""

    coefficients: np.ndarray
    """(i), from the rule's own coefficients on listed rows, times the learning rate."""
    first_order: np.ndarray
    """(ii), from the logit change."""
    exact: np.ndarray
    """(iii), from the logit change."""
    measured: np.ndarray
    """Entropy after minus entropy before."""


FORECASTS = tuple(field.name for field in dataclasses.fields(Forecasts))
