"""The engine: many tabular policies trained at once by one update rule, exactly or from samples.

A run is one policy; runs differ in their start, right answers, target entropy, temperature or
learning rate and are advanced together, never one by one. Each step:

1. the entropy of every policy, which the rule's controllers turn into the second batch's temperature
   and the coefficient of a bonus;
2. the shares of the batch that take each action: probabilities, or counts of sampled responses;
3. the rule's coefficients on them (two pooled rows a state, or every row);
4. logits += learning rate x sum_i weight_i (score_i (e_a - pi) + gradients of state terms).

Arrays are [runs, states, actions]; where runs outnumber actions they lie with runs contiguous in
memory, which makes the sums over actions additions of long vectors.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from entropy_theory.policy import check_temperature, clamped_entropy, log_softmax, shift_logits
from entropy_theory.tabular import logit_step, state_gradient
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import UpdateRule
from simulations.pooled import Rows, coefficients
from simulations.problems import check_problem
from simulations.recording import Recorder, Trajectory, sum_over_actions
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
    steps_per_batch: int = 1
    """Optimizer steps on the same samples, off-policy from the second on (PPO's epochs): ratios move,
    clips bind, and controllers wait for the next batch."""
    record_every: int = 20
    """Steps between records; the first and the last policy are always recorded."""
    tail: int = 0
    """Steps at the end over which entropy is averaged at every step; 0: the last sixth."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in (("steps", 1), ("steps_per_batch", 1), ("record_every", 1),
                            ("tail", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if not np.all(np.isfinite(self.learning_rate)):
            raise ValueError(f"learning_rate must be finite, got {self.learning_rate}")
        if self.temperature is not None:
            if self.rule.controller() is not None:
                raise ValueError(f"'{self.rule.name}' chooses the temperature: leave it None")
            if self.rule.name not in ("reinforce", "grpo"):
                raise ValueError(
                    "a run on tempered samples alone needs the rule 'reinforce' or 'grpo': "
                    f"'{self.rule.name}' acts on ordinary rows, of which there are none"
                )
            check_temperature(np.asarray(self.temperature))
        if self.targets is not None and not hasattr(self.rule.controller(), "target"):
            raise ValueError(f"'{self.rule.name}' has no controller that takes targets: leave None")
        if self.samples is not None and self.rule.needs_listing:
            raise ValueError(
                "group_size of the rule is for exact expectation: leave it None for sampled runs "
                "and set Samples(group_size=...)"
            )


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
    runs = Runs(logits, reward, dynamics)
    recorder = Recorder(runs, record_logits, record_forecasts)
    tail = min(dynamics.tail or max(dynamics.steps // 6, 1), dynamics.steps)
    reported = 0
    for step in range(dynamics.steps):
        if step % dynamics.steps_per_batch == 0:
            runs.draw()
        recorded = step % dynamics.record_every == 0
        in_tail = step >= dynamics.steps - tail
        if recorded:
            recorder.policy(step)
        if in_tail:
            recorder.tail_policy()
        with np.errstate(over="ignore", invalid="ignore"):
            change = runs.direction()
            change *= runs.learning_rate
            diverged = not math.isfinite(runs.logits.sum() + change.sum())
        if diverged:
            raise ValueError(f"the logits diverged in step {step + 1}: lower the learning rate")
        if recorded and record_forecasts:
            recorder.forecast(change)
        runs.logits += change
        before = runs.temperature
        runs.observe(controls=(step + 1) % dynamics.steps_per_batch == 0)
        if in_tail and before is not None:
            recorder.tail_switches += runs.temperature != before
        if progress is not None and (step + 1) % 100 == 0:
            progress(step + 1 - reported)
            reported = step + 1
    recorder.policy(dynamics.steps)
    if progress is not None:
        progress(dynamics.steps - reported)
    return recorder.trajectory()


class Runs:
    """The moving parts of all runs: logits, policy, temperature, random numbers."""

    def __init__(self, logits: np.ndarray, reward: np.ndarray, dynamics: Dynamics) -> None:
        self.n_runs, self.n_states, n_actions = logits.shape
        order: Literal["F", "C"] = "F" if self.n_runs >= n_actions else "C"
        self.logits = np.array(logits, order=order)
        # The starting policy is the reference of rules that have one.
        self.reference = logits if "reference_log_prob" in dynamics.rule.required_columns else None
        self.reuses = dynamics.steps_per_batch > 1
        self.seed, self.batches = dynamics.seed, 0
        self.batch: TokenBatch | None = None
        self.reward = np.array(np.broadcast_to(reward, logits.shape), order=order)
        self.correct = self.reward > 0
        self.incorrect = 1 - self.reward
        self.rule = dynamics.rule
        self.samples = dynamics.samples
        self.generator = np.random.default_rng(dynamics.seed)
        self.learning_rate = self._per_run(dynamics.learning_rate, "learning_rate")[:, None, None]
        self.controller = dynamics.rule.controller()
        if self.controller is not None and dynamics.targets is not None:
            targets = self._per_run(dynamics.targets, "targets")
            self.controller = dataclasses.replace(self.controller, target=targets)
        self.coefficient_controller = dynamics.rule.coefficient_controller()
        self.coefficient: np.ndarray | None = None
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

    def observe(self, controls: bool = True) -> None:
        """Evaluate the current policies and, with ``controls``, let the controllers choose."""
        policy = shift_logits(self.logits)
        self.shifted = policy.shifted
        self.probabilities = policy.exponentials
        self.probabilities /= np.exp(policy.log_normalizer)
        self.mean_shifted = sum_over_actions(self.probabilities, self.shifted)
        self.entropy = (policy.log_normalizer - self.mean_shifted)[..., 0]
        if not controls:
            return
        if self.controller is not None:
            self.temperature = self.controller.observe(self.entropy.mean(axis=-1))
        if self.coefficient_controller is not None:
            seen = self.entropy
            if self.coefficient_controller.reads == "clamped_entropy":
                seen = clamped_entropy(self.logits, self.rule.removed_fraction)
            self.coefficient = self.coefficient_controller.observe(seen.mean(axis=-1))

    def draw(self) -> None:
        """The rows of this step's batch, summed by action: ``ordinary`` and ``tempered``."""
        samples = self.samples
        self.batch = None
        self.batches += 1
        self.ordinary = self.tempered = None
        if self.has_ordinary:
            size = samples.group_size if samples else None
            self.ordinary = self._rows(self.probabilities, size)
        if self.temperature is not None:
            tempered = self.shifted / self.temperature[:, None, None]
            np.exp(tempered, out=tempered)
            tempered /= tempered.sum(axis=-1, keepdims=True)
            self.tempered = self._rows(tempered, samples.tempered if samples else None)
        if self.reuses:
            self.batch = self.rule.prepare(self.token_batch())

    def _rows(self, probabilities: np.ndarray, size: int | None) -> Rows:
        if size is None:
            return Rows(
                share=probabilities,
                right=sum_over_actions(probabilities, self.reward),
                wrong=sum_over_actions(probabilities, self.incorrect),
                group_size=None,
            )
        counts = draw_counts(self.generator, probabilities, size)
        right = sum_over_actions(counts, self.reward)
        # Counts are whole numbers, so a group all right or all wrong is one exactly.
        return Rows(
            share=counts / size, right=right / size, wrong=(size - right) / size, group_size=size
        )

    def direction(self) -> np.ndarray:
        """The step of all logits per unit learning rate: [runs, states, actions]."""
        if self.reuses:
            return logit_step(self.logits, self.rows(), self.rule)
        known = coefficients(self.rule, self.ordinary, self.tempered, self.coefficient)
        if known is None:
            return logit_step(self.logits, self.rows(), self.rule)
        kinds = [rows for rows in (self.ordinary, self.tempered) if rows is not None]
        scored = list(zip(kinds, known.scores, strict=True))
        total, *more = (
            rows.share * np.where(self.correct, score.right, score.wrong) for rows, score in scored
        )
        for part in more:
            total += part
        mean = sum(rows.right * score.right + rows.wrong * score.wrong for rows, score in scored)
        total -= self.probabilities * mean
        for name, term in known.terms.items():
            if name == "entropy":
                # grad_z H = -pi (log pi + H), and log pi + H = shifted - E[shifted].
                total -= term * self.probabilities * (self.shifted - self.mean_shifted)
            else:
                total += term * state_gradient(name, self.logits, self.rule.removed_fraction)
        return total if self.n_states == 1 else total / self.n_states

    def rows(self) -> TokenBatch:
        """This step's prepared rows, their log-probabilities those of the current policy."""
        if self.batch is None:
            return self.rule.prepare(self.token_batch())
        flat = log_softmax(self.logits).reshape(self.n_runs, -1)
        index = self.batch.state * self.logits.shape[-1] + self.batch.action
        log_prob = np.take_along_axis(flat, index[..., 0], axis=1)[..., None]
        batch = self.batch.replace(log_prob=log_prob)
        if self.rule.prepares_every_step:
            batch = self.rule.prepare(batch.replace(prepared={}))
        return batch

    def token_batch(self) -> TokenBatch:
        """This step's batch as rows, as the update rules read it."""
        sampled = self.samples is not None
        batch = token_batch(
            self.logits,
            self.reward,
            ordinary=self.has_ordinary,
            temperature=self.temperature,
            counts=_counts(self.ordinary) if sampled else None,
            tempered_counts=_counts(self.tempered) if sampled else None,
            reference_logits=self.reference,
            removed_fraction=self.rule.removed_fraction,
        ).replace(step=self.batches, seed=self.seed)
        if self.coefficient is None:
            return batch
        column = np.broadcast_to(self.coefficient[:, None, None], batch.mask.shape)
        return batch.replace(coefficient=column)


def _counts(rows: Rows | None) -> np.ndarray | None:
    if rows is None or rows.group_size is None:
        return None
    return np.rint(rows.share * rows.group_size).astype(int)
