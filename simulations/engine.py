"""The engine: many tabular policies trained at once by one update rule, exactly or from samples.

A run is one policy; runs differ in their start, right answers, target entropy, temperature or
learning rate and are advanced together, never one by one. Each step:

1. the entropy of every policy, which the rule's controller turns into the second batch's temperature;
2. the shares of the batch that take each action: probabilities, or counts of sampled responses;
3. the rule's coefficients on them (closed form, or the rule itself on listed rows);
4. logits += learning rate x sum_i weight_i (score_i (e_a - pi) + entropy term).

Arrays are [runs, states, actions]; where runs outnumber actions they lie with runs contiguous in
memory, which makes the sums over actions additions of long vectors (about three times faster).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from entropy_theory import entropy_change, forecast
from entropy_theory.policy import check_temperature, entropy, log_softmax, shift_logits
from entropy_theory.tabular import logit_step
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import UpdateRule
from simulations.closed_form import Rows, coefficients
from simulations.problems import check_problem
from simulations.sampling import Samples, draw_counts, token_batch


@dataclass(frozen=True, kw_only=True, slots=True)
class Dynamics:
    """How policies move. Numbers given as tuples have one entry a run.

    Raises ValueError for values that cannot be simulated, naming them.
    """

    rule: UpdateRule
    learning_rate: float | tuple[float, ...] = 0.5
    steps: int = 6000
    temperature: float | tuple[float, ...] | None = None
    """Without a controller: all rows are sampled at this temperature (AEPO, Figure 2)."""
    targets: tuple[float, ...] | None = None
    """Target entropy of each run, nats, in place of the rule's single one."""
    samples: Samples | None = None
    """None: exact expectation."""
    record_every: int = 20
    """Steps between records; the first and the last policy are always recorded."""
    tail: int = 0
    """Steps at the end over which entropy is averaged at every step; 0: the last sixth."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("steps", 1), ("record_every", 1), ("tail", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if not np.all(np.isfinite(self.learning_rate)):
            raise ValueError(f"learning_rate must be finite, got {self.learning_rate}")
        if self.temperature is not None:
            if self.rule.controller() is not None:
                raise ValueError(f"'{self.rule.name}' chooses the temperature: leave it None")
            check_temperature(np.asarray(self.temperature))
        if self.targets is not None and not hasattr(self.rule.controller(), "target"):
            raise ValueError(f"'{self.rule.name}' has no controller that takes targets: leave None")
        if self.samples is not None and _expected_group_size(self.rule) is not None:
            raise ValueError(
                "group_size of the rule is for exact expectation: leave it None for sampled runs "
                "and set Samples(group_size=...)"
            )


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


def simulate(
    logits: np.ndarray,
    correct: np.ndarray,
    dynamics: Dynamics,
    *,
    record_logits: bool = False,
    record_forecasts: bool = False,
    progress: Callable[[int], object] | None = None,
) -> Trajectory:
    """Train every run for ``dynamics.steps`` steps.

    Args:
        logits: [runs, states, actions], the starts; finite. Not changed.
        correct: boolean, broadcastable to the same: the right answers, with reward 1.
        dynamics: rule, step size, sampling, schedule and seed; same seed, same result.
        record_logits: keep the logits of each record.
        record_forecasts: keep the three forecasts of each recorded step.
        progress: called now and then with the number of steps taken since the last call.

    Raises:
        ValueError: an invalid problem (`problems.check_problem`), per-run values whose number is
            not that of the runs, or logits that stop being finite, with the step.
    """
    reward = np.asarray(correct)
    if reward.dtype != bool:
        raise ValueError(f"correct must be a boolean mask over actions, got dtype {reward.dtype}")
    reward = reward.astype(np.float64)
    logits = np.asarray(logits, dtype=np.float64)
    check_problem(logits, reward)
    run = _Run(logits, reward, dynamics)
    recorder = _Recorder(run, record_logits, record_forecasts)
    tail = min(dynamics.tail or max(dynamics.steps // 6, 1), dynamics.steps)
    tail_entropy, tail_square, tail_reward = np.zeros((3, run.n_runs))
    switches = np.zeros(run.n_runs, dtype=int)
    reported = 0
    for step in range(dynamics.steps):
        run.draw()
        recorded = step % dynamics.record_every == 0
        if recorded:
            recorder.policy(step)
        if step >= dynamics.steps - tail:
            mean_entropy = run.entropy.mean(axis=-1)
            tail_entropy += mean_entropy
            tail_square += mean_entropy**2
            tail_reward += (run.probabilities * run.reward).sum(axis=-1).mean(axis=-1)
        change = run.learning_rate * run.direction()
        if recorded and record_forecasts:
            recorder.forecast(change)
        run.logits += change
        before = run.temperature
        run.observe()
        if before is not None and step >= dynamics.steps - tail:
            switches += run.temperature != before
        if progress is not None and (step + 1) % 100 == 0:
            progress(step + 1 - reported)
            reported = step + 1
    recorder.policy(dynamics.steps)
    if progress is not None:
        progress(dynamics.steps - reported)
    tail_entropy /= tail
    return recorder.trajectory(
        tail_entropy=tail_entropy,
        tail_reward=tail_reward / tail,
        tail_spread=np.sqrt(np.maximum(tail_square / tail - tail_entropy**2, 0.0)),
        tail_switches=switches,
    )


class _Run:
    """The moving parts of all runs: logits, policy, temperature, random numbers."""

    def __init__(self, logits: np.ndarray, reward: np.ndarray, dynamics: Dynamics) -> None:
        self.n_runs, self.n_states, n_actions = logits.shape
        order: Literal["F", "C"] = "F" if self.n_runs >= n_actions else "C"
        self.logits = np.array(logits, order=order)
        self.reward = np.array(np.broadcast_to(reward, logits.shape), order=order)
        self.rule = dynamics.rule
        self.samples = dynamics.samples
        self.generator = np.random.default_rng(dynamics.seed)
        self.learning_rate = self._per_run(dynamics.learning_rate, "learning_rate")[:, None, None]
        self.controller = dynamics.rule.controller()
        if self.controller is not None and dynamics.targets is not None:
            targets = self._per_run(dynamics.targets, "targets")
            self.controller = dataclasses.replace(self.controller, target=targets)
        # Rows at temperature 1 are there unless every row is sampled at a given temperature.
        self.has_ordinary = dynamics.temperature is None
        self.temperature: np.ndarray | None = None
        if dynamics.temperature is not None:
            self.temperature = self._per_run(dynamics.temperature, "temperature")
        self.observe()

    def _per_run(self, value: float | tuple[float, ...], name: str) -> np.ndarray:
        array = np.asarray(value, dtype=np.float64)
        if array.ndim and array.shape != (self.n_runs,):
            raise ValueError(f"{name} has {array.size} values for {self.n_runs} runs")
        return np.broadcast_to(array, (self.n_runs,)).copy()

    def observe(self) -> None:
        """Evaluate the current policies and let the controller choose the temperature."""
        policy = shift_logits(self.logits)
        self.shifted = policy.shifted
        self.probabilities = policy.exponentials / np.exp(policy.log_normalizer)
        depth = (self.probabilities * self.shifted).sum(axis=-1)
        self.entropy = policy.log_normalizer[..., 0] - depth
        if self.controller is not None:
            self.temperature = self.controller.observe(self.entropy.mean(axis=-1))

    def draw(self) -> None:
        """The rows of this step's batch, summed by action: ``ordinary`` and ``tempered``."""
        samples = self.samples
        self.ordinary = self.tempered = None
        if self.has_ordinary:
            size = samples.group_size if samples else None
            self.ordinary = self._rows(self.probabilities, size)
        if self.temperature is not None:
            tempered = self.shifted / self.temperature[:, None, None]
            np.exp(tempered, out=tempered)
            tempered /= tempered.sum(axis=-1, keepdims=True)
            self.tempered = self._rows(tempered, samples.tempered if samples else None)

    def _rows(self, probabilities: np.ndarray, size: int | None) -> Rows:
        if size is None:
            hits = probabilities * self.reward
            right = hits.sum(axis=-1, keepdims=True)
            wrong = (probabilities - hits).sum(axis=-1, keepdims=True)
            return Rows(share=probabilities, right=right, wrong=wrong, group_size=None)
        counts = draw_counts(self.generator, probabilities, size)
        right = (counts * self.reward).sum(axis=-1, keepdims=True)
        # Counts are whole numbers, so a group all right or all wrong is one exactly.
        return Rows(
            share=counts / size, right=right / size, wrong=(size - right) / size, group_size=size
        )

    def direction(self) -> np.ndarray:
        """The step of all logits per unit learning rate: [runs, states, actions]."""
        known = coefficients(self.rule, self.ordinary, self.tempered)
        if known is None:
            return logit_step(self.logits, self.token_batch(), self.rule)
        total = np.zeros_like(self.logits)
        for rows, score in ((self.ordinary, known.ordinary), (self.tempered, known.tempered)):
            if rows is not None:
                total += rows.share * (self.reward * (score.right - score.wrong) + score.wrong)
        total -= self.probabilities * total.sum(axis=-1, keepdims=True)
        if known.entropy:
            # grad_z H = -pi (log pi + H), and log pi + H = shifted - E[shifted].
            mean = (self.probabilities * self.shifted).sum(axis=-1, keepdims=True)
            total -= known.entropy * self.probabilities * (self.shifted - mean)
        return total / self.n_states

    def token_batch(self) -> TokenBatch:
        """This step's batch as rows, as the update rules read it."""
        sampled = self.samples is not None
        return token_batch(
            self.logits,
            self.reward,
            ordinary=self.has_ordinary,
            temperature=self.temperature,
            counts=_counts(self.ordinary) if sampled else None,
            tempered_counts=_counts(self.tempered) if sampled else None,
        )


class _Recorder:
    """Collects what `Trajectory` holds."""

    def __init__(self, run: _Run, record_logits: bool, record_forecasts: bool) -> None:
        self.run = run
        self.record_logits = record_logits
        self.columns: dict[str, list[np.ndarray]] = {
            name: [] for name in ("entropy", "reward", "entropy_within_correct", "temperature")
        }
        self.steps: list[int] = []
        self.logits: list[np.ndarray] = []
        self.forecasts: dict[str, list[np.ndarray]] | None = (
            {f.name: [] for f in dataclasses.fields(Forecasts)} if record_forecasts else None
        )

    def policy(self, step: int) -> None:
        run = self.run
        self.steps.append(step)
        within = np.where(run.reward > 0, run.logits, -np.inf)
        right = (run.probabilities * run.reward).sum(axis=-1)
        temperature = np.full(run.n_runs, np.nan) if run.temperature is None else run.temperature
        for name, values in (
            ("entropy", run.entropy.mean(axis=-1)),
            ("reward", right.mean(axis=-1)),
            ("entropy_within_correct", entropy(within).mean(axis=-1)),
            ("temperature", temperature.copy()),
        ):
            self.columns[name].append(values)
        if self.record_logits:
            self.logits.append(run.logits.copy(order="C"))

    def forecast(self, change: np.ndarray) -> None:
        """The three forecasts of the step ``change``, which is about to be taken."""
        if self.forecasts is None:
            return
        run = self.run
        rows = run.rule.prepare(run.token_batch())
        log_probabilities = log_softmax(run.logits)
        at_rows = log_probabilities[np.arange(run.n_runs)[:, None, None], rows.state]
        contributions = forecast.token_contributions(
            rows,
            run.rule.scores(rows),
            run.rule.state_terms(rows),
            forecast.state_statistics(at_rows, rows.action),
        )
        measured_rows = rows.is_ordinary if run.has_ordinary else rows.is_tempered
        from_coefficients = forecast.mean_entropy_forecast(
            rows.state, contributions, np.where(measured_rows, rows.weight, 0.0)
        )
        after = entropy(run.logits + change).mean(axis=-1)
        for name, values in (
            ("coefficients", run.learning_rate[:, 0, 0] * from_coefficients),
            ("first_order", entropy_change.first_order(run.logits, change).mean(axis=-1)),
            ("exact", entropy_change.exact(run.logits, change).mean(axis=-1)),
            ("measured", after - run.entropy.mean(axis=-1)),
        ):
            self.forecasts[name].append(values)

    def trajectory(self, **tail: np.ndarray) -> Trajectory:
        """All of it; ``tail`` holds the columns that were summed over every step of the tail."""
        forecasts = self.forecasts
        return Trajectory(
            step=np.asarray(self.steps),
            **{name: np.asarray(values) for name, values in self.columns.items()},
            final_logits=self.run.logits.copy(order="C"),
            **tail,
            logits=np.asarray(self.logits),
            forecasts=None
            if forecasts is None
            else Forecasts(**{name: np.asarray(values) for name, values in forecasts.items()}),
        )


def _counts(rows: Rows | None) -> np.ndarray | None:
    if rows is None or rows.group_size is None:
        return None
    return np.rint(rows.share * rows.group_size).astype(int)


def _expected_group_size(rule: UpdateRule) -> int | None:
    """The group size over which ``rule``, or a rule inside it, takes the exact expectation."""
    inner = getattr(rule, "rules", None) or [part for part in [getattr(rule, "base", None)] if part]
    sizes = [getattr(rule, "group_size", None), *(_expected_group_size(part) for part in inner)]
    return next((size for size in sizes if size is not None), None)
