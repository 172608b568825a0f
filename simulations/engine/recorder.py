"""What is recorded of simulated runs, and how: on a schedule, and over every step of the tail."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_theory import entropy_change, forecast
from entropy_theory.policy import entropy
from entropy_theory.tabular import sum_by_index
from simulations.engine.compiled.compiled_runs import CompiledRuns
from simulations.engine.runs import Runs, Steps, power, sum_over_actions


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
        taken |= {name: getattr(self, name)[:, index] for name in _BY_RECORD}
        if self.logits.size:
            taken["logits"] = self.logits[:, index]
        if self.forecasts is not None:
            taken["forecasts"] = Forecasts(
                **{name: getattr(self.forecasts, name)[:, index] for name in _FORECASTS}
            )
        return dataclasses.replace(self, **taken)


_BY_RUN = ("final_logits", "tail_entropy", "tail_reward", "tail_spread", "tail_switches")
_BY_RECORD = (
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
              for name in _BY_RECORD}
    if first.logits.size:
        whole["logits"] = np.concatenate([part.logits for part in parts], axis=1)
    if first.forecasts is not None:
        whole["forecasts"] = Forecasts(**{
            name: np.concatenate([getattr(part.forecasts, name) for part in parts], axis=1)
            for name in _FORECASTS
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


_FORECASTS = tuple(field.name for field in dataclasses.fields(Forecasts))


class Recorder:
    """Collects what `Trajectory` holds of a block of runs."""

    def __init__(self, runs: Runs, record: Record) -> None:
        self.runs, self.record = runs, record
        if not isinstance(runs, CompiledRuns):
            self._find_right()
        self.columns: dict[str, list[np.ndarray]] = {name: [] for name in _BY_RECORD}
        self.steps: list[int] = []
        self.logits: list[np.ndarray] = []
        self.forecasts: dict[str, list[np.ndarray]] = {name: [] for name in _FORECASTS}
        self.tail_steps = 0
        self.tail_entropy, self.tail_square, self.tail_reward = np.zeros((3, runs.n_runs))
        self.tail_switches = np.zeros(runs.n_runs, dtype=int)

    def _find_right(self) -> None:
        runs = self.runs
        self.incorrect = 1 - runs.correct
        # Answers that are right somewhere: a slice where they come first, as in `problems.Bandit`.
        somewhere = runs.correct.any(axis=(0, 1))
        self.alike = bool((runs.correct == somewhere).all())
        """Whether every run and prompt has the same right answers."""
        count = int(somewhere.sum())
        self.right = slice(0, count) if somewhere[:count].all() else np.flatnonzero(somewhere)

    def policy(self) -> None:
        """A record of the current policies."""
        runs = self.runs
        runs.look()
        self.steps.append(runs.step)
        now = runs.columns() if isinstance(runs, CompiledRuns) else self._now()
        now["temperature"] = _or_nan(runs.temperature, runs.n_runs)
        now["coefficient"] = _or_nan(runs.coefficient, runs.n_runs)
        for name, values in now.items():
            self.columns[name].append(values)
        if self.record.logits:
            self.logits.append(runs.logits.copy(order="C"))

    def _now(self) -> dict[str, np.ndarray]:
        runs, p = self.runs, self.runs.probabilities
        reward = runs.reward_by_prompt()
        log_p = runs.log_probabilities()
        log_p += runs.entropy[..., None]  # centered: its mean is 0
        weighted = runs.advantage()
        weighted *= p
        covariance = runs.by_prompt(sum_over_actions(weighted, log_p)[..., 0])
        weighted *= p
        covariance_pg = runs.by_prompt(sum_over_actions(weighted, log_p)[..., 0])
        del log_p, weighted
        answers = runs.answers()
        wrong = sum_over_actions(answers, self.incorrect)[..., 0]
        seen = 1 - power(1 - answers[..., self.right], self.record.distinct_of)
        within = runs.answer_logits()[..., self.right]
        correct = runs.correct[..., self.right]
        if not self.alike:
            seen *= correct
            within = np.where(correct > 0, within, -np.inf)
        return {
            "entropy": runs.mean_entropy(),
            "reward": reward.mean(axis=-1),
            "entropy_within_correct": entropy(within).mean(axis=-1),
            "covariance": covariance.mean(axis=-1),
            "covariance_pg": covariance_pg.mean(axis=-1),
            "distinct_answers": seen.sum(axis=-1).mean(axis=-1),
            "response_length": runs.response_length(),
            "pass_at_k": np.stack(
                [(1 - power(wrong, k)).mean(axis=-1) for k in self.record.pass_at], axis=-1)
            if self.record.pass_at else np.empty((runs.n_runs, 0)),
            "entropy_by_state": runs.by_prompt(runs.entropy).copy(order="C"),
            "reward_by_state": reward.copy(order="C"),
            "covariance_by_state": covariance.copy(order="C"),
        }

    def tail(self, steps: Steps) -> None:
        """Add steps of the tail, which have just been taken."""
        runs = self.runs
        if runs.controller is not None:  # it chooses the next temperature
            runs.look()
        if self.tail_steps == 0:
            self.tail_origin = steps.entropy[0].copy()
        self.tail_steps += len(steps.entropy)
        # From the first value on: a spread far below the entropy would be lost in its square.
        if isinstance(runs, CompiledRuns):
            runs.add_deviations(steps, self.tail_origin, self.tail_entropy, self.tail_square)
        else:
            deviation = steps.entropy - self.tail_origin
            self.tail_entropy += deviation.sum(axis=0)
            self.tail_square += np.einsum("sr,sr->r", deviation, deviation)
        self.tail_reward += steps.reward.sum(axis=0)
        if runs.temperature is not None:
            temperatures = np.concatenate([steps.temperature, runs.temperature[None]])
            self.tail_switches += (np.diff(temperatures, axis=0) != 0).sum(axis=0)

    def forecast(self) -> Announcement:
        """What the next step's batch announces, to be completed by `measure` once it is taken."""
        runs = self.runs
        runs.draw()
        rows = runs.rows()
        log_probabilities = runs.log_probabilities()
        at_rows = log_probabilities[np.arange(runs.n_runs)[:, None, None], rows.state]
        contributions = forecast.token_contributions(
            rows,
            runs.rule.scores(rows),
            runs.rule.state_terms(rows),
            forecast.state_statistics(
                at_rows, rows.action, removed_fraction=runs.rule.removed_fraction
            ),
        )
        by_state = sum_by_index(np, contributions, rows.state, runs.n_states)
        shares = runs.token_shares().reshape(runs.n_runs, -1) / runs.n_prompts
        return Announcement(
            logits=runs.logits.copy(), entropy=runs.entropy, shares=shares,
            coefficients=runs.learning_rate[:, 0, 0] * (shares * by_state).sum(axis=-1),
        )

    def measure(self, announced: Announcement) -> None:
        """Compare with the step that has been taken since."""
        before, change = announced.logits, self.runs.logits - announced.logits
        self.forecasts["coefficients"].append(announced.coefficients)
        for name, by_state in (
            ("first_order", entropy_change.first_order(before, change)),
            ("exact", entropy_change.exact(before, change)),
            ("measured", entropy(self.runs.logits) - announced.entropy),
        ):
            self.forecasts[name].append((announced.shares * by_state).sum(axis=-1))

    def trajectory(self, final_logits: np.ndarray) -> Trajectory:
        """All of it; ``final_logits`` as the runs have them, in memory of the caller's."""
        deviation = self.tail_entropy / self.tail_steps
        variance = np.maximum(self.tail_square / self.tail_steps - deviation**2, 0.0)
        columns = {name: np.asarray(values) for name, values in self.columns.items()}
        changes = {name: np.asarray(values) for name, values in self.forecasts.items()}
        return Trajectory(
            step=np.asarray(self.steps),
            **columns,
            pass_at=self.record.pass_at,
            final_logits=final_logits,
            tail_entropy=self.tail_origin + deviation,
            tail_reward=self.tail_reward / self.tail_steps,
            tail_spread=np.sqrt(variance),
            tail_switches=self.tail_switches,
            logits=np.asarray(self.logits),
            forecasts=Forecasts(**changes) if self.record.forecasts else None,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Announcement:
    """A forecast, and the policy that it was made on."""

    logits: np.ndarray
    """[runs, states, actions]."""
    entropy: np.ndarray
    """[runs, states], nats."""
    shares: np.ndarray
    """[runs, states]: what the mean entropy weighs states by."""
    coefficients: np.ndarray
    """[runs], nats: forecast (i), times the learning rate."""


def _or_nan(values: np.ndarray | None, n_runs: int) -> np.ndarray:
    return np.full(n_runs, np.nan) if values is None else np.array(values)
