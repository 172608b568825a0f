"""Runs whose steps are taken by NumPy: every rule, exact and sampled, on any problem.

Each step:

1. `Runs.evaluate` computes the policies and their entropy. At the start of a batch the rule's controllers
turn the entropy into the second batch's temperature and the coefficient of a bonus.
2. `Runs.draw` finds the share of the batch that takes each action, as probabilities or counts of draws.
3. `Runs.direction` computes the rule's coefficients on them, with one row per reward or every row.
4. The step is ``logits += learning rate x sum_i weight_i (score_i (e_a - pi) + gradients of state
terms)``.

Arrays are [runs, states, actions]. Where runs outnumber actions they lie with runs contiguous in memory,
which makes the sums over actions additions of long vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

import numpy as np

from entropy_theory import entropy_change
from entropy_theory.controllers import EntropyForecast
from entropy_theory.policy import namespace
from entropy_theory.tabular import logit_step, state_gradient
from entropy_theory.token_batch import TokenBatch
from simulations.engine.block import Block, StepMeasures, diverged
from simulations.engine.pooled import Levels, Rows, coefficients
from simulations.engine.rows import token_batch
from simulations.engine.sampler import noise_lanes, normal
from simulations.engine.sampling import ORDINARY, TEMPERED, batch_key, count, draw, lanes, uniforms
from simulations.engine.task import Task

CHUNK = 200
"""The largest number of steps between two calls of ``progress``."""


class Runs(Block):
    """A block of runs on bandits and prompts, one step at a time for all of them."""

    ready: Callable[[TokenBatch], TokenBatch] | None = None
    """Makes summed rows ready for the rule, as in `pooled.coefficients`."""

    def __init__(self, task: Task, step: int = 0) -> None:
        """Make the runs of a task, with the policies after ``step`` steps."""
        super().__init__(task, step)
        n_actions = task.logits.shape[-1]
        order: Literal["F", "C"] = "F" if self.n_runs >= n_actions and task.tree is None else "C"
        self.features = task.features
        self.logits = np.array(task.logits, dtype=self.dynamics.precision, order=order)
        # The starting policy is the reference of rules that have one.
        self.effects = "entropy_effect" in self.rule.needs.columns
        if self.effects and self.features is not None:
            raise ValueError(
                f"update rule '{self.rule.name}' with covariance 'network' runs on independent logits "
                "here: simulate without features, or take covariance 'tabular'")
        self.reference = task.logits if "reference_log_prob" in self.rule.needs.columns else None
        self.reward = np.array(task.reward, dtype=np.float64, order=order)
        """[runs or 1, prompts or 1, answers]."""
        self.correct = (self.reward == self.reward.max(axis=-1, keepdims=True)).astype(np.float64)
        """1 at the right answers, those with a state's largest reward; 0 elsewhere."""
        loop = self.coefficient_controller
        self._foretells = loop is not None and loop.forecasts
        self.reuses = self.dynamics.steps_per_batch > 1
        self.levels = self._levels() if task.pools else None
        self.kept: TokenBatch | None = None
        self._drawn = -1
        self._lanes: dict[tuple[int, int], np.ndarray] = {}
        self.sampling: dict[int, Any] = {}
        """The log-probabilities of what rows of each kind are drawn from, where a sampler departs from
        the policy: [runs, states, actions], nats."""
        self.noise: Any = None
        """The sampler's normal numbers of this batch, [runs, states, actions]."""
        sampler, optimizer = self.dynamics.sampler, self.dynamics.optimizer
        self.past = [self.logits.copy() for _ in range(sampler.steps_old if sampler else 0)]
        """The logits of the steps before, as many as the sampler lags behind, the latest first."""
        self.optimizer = None if optimizer.is_plain else optimizer
        # Shared parameters, of which the logits are a linear function, start at 0.
        self.parameters: Any = self.logits if self.features is None else np.zeros(
            (self.n_runs, self.features.shape[-1]), dtype=self.dynamics.precision)
        self.moments = [np.zeros_like(self.parameters) for _ in range(optimizer.n_moments)]
        self._after: list[Any] = []
        self._shifted, self.probabilities, self._work = (np.empty_like(self.logits) for _ in range(3))
        self.evaluate()

    def _levels(self) -> Any:
        return Levels.of(np.broadcast_to(
            self.reward, (len(self.reward), *self.logits.shape[1:])), self.logits.flags.f_contiguous)

    def uniforms(self, kind: int, position: int = 0) -> np.ndarray:
        """Return this batch's uniforms, [runs, prompts, samples]."""
        samples: Any = self.samples
        size = samples.group_size if kind == ORDINARY else samples.tempered
        if (kind, position) not in self._lanes:
            self._lanes[kind, position] = lanes(
                kind, self.run_numbers, self.n_prompts, size, position)
        key = batch_key(self.dynamics.seed, self.batch_number)
        return uniforms(self._lanes[kind, position], key)

    def chunk(self) -> int:
        """The number of steps that are best taken at once."""
        return CHUNK

    def evaluate(self) -> None:
        """Evaluate the policies and, at the start of a batch, let the controllers choose; once a step.

        Raises ValueError for logits that are not finite, with the step.
        """
        if self._evaluated == self.step:
            return
        self._evaluated = self.step
        top = self.logits.max(axis=-1, keepdims=True)
        if not math.isfinite(top.sum()):
            raise diverged(self.step)
        with np.errstate(over="ignore"):
            np.subtract(self.logits, top, out=self._shifted)
        exponentials = np.exp(self._shifted, out=self.probabilities)
        # As in `policy.shift_logits`: log1p of the sum over all but one maximal action.
        lower = exponentials < 1
        np.multiply(exponentials, lower, out=self._work)
        rest = self._work.sum(axis=-1, keepdims=True)
        rest += self.logits.shape[-1] - 1 - np.count_nonzero(lower, axis=-1, keepdims=True)
        self.probabilities *= 1 / (1 + rest)
        with np.errstate(invalid="ignore"):
            self._mean_shifted = sum_over_actions(self.probabilities, self._shifted)
        if not math.isfinite(self._mean_shifted.sum()):  # differences of finite logits overflow
            raise diverged(self.step)
        self._log_normalizer = np.log1p(rest)
        self.entropy = (self._log_normalizer - self._mean_shifted)[..., 0]
        if self.step % self.dynamics.steps_per_batch == 0:
            self._control()

    def log_probabilities(self) -> np.ndarray:
        """The log-probabilities, [runs, states, actions], nats."""
        return self._shifted - self._log_normalizer

    def answers(self) -> np.ndarray:
        """The probability of each answer, [runs, prompts, answers]."""
        return self.probabilities

    def answer_logits(self) -> np.ndarray:
        """The logarithms of the answers' probabilities up to a constant of each prompt, of that shape."""
        return self.logits

    def advantage(self) -> np.ndarray:
        """The reward minus its expectation, [runs, states, actions]."""
        return self.reward - sum_over_actions(self.probabilities, self.reward)

    def token_shares(self) -> np.ndarray:
        """The weights of states in the mean over tokens, summing to 1: [runs, prompts, states]."""
        return np.ones((self.n_runs, self.n_states, 1))

    def response_length(self) -> np.ndarray:
        """The expected number of tokens of a response, [runs]."""
        return np.ones(self.n_runs)

    def reward_by_prompt(self) -> np.ndarray:
        """The expected reward, [runs, prompts]."""
        return sum_over_actions(self.answers(), self.reward)[..., 0]

    def advance(self, steps: int, *, measured: bool) -> StepMeasures | None:
        """Take ``steps`` steps; with ``measured``, return the measures before each of them.

        Call `evaluate` first: it chooses temperature and coefficient of the first step; later steps
        choose their own. Afterwards the controllers have made ``steps`` observations, and the next
        `evaluate` observes again.

        Raises ValueError for logits that are not finite, with the step.
        """
        entropy, reward, temperature = np.full((3, steps if measured else 0, self.n_runs), np.nan)
        with np.errstate(over="ignore", invalid="ignore"):
            for i in range(steps):
                self.evaluate()
                if measured:
                    entropy[i] = self.mean_entropy()
                    reward[i] = self.reward_by_prompt().mean(axis=-1)
                    if self.temperature is not None:
                        temperature[i] = self.temperature
                self.draw()
                if self._foretells:
                    self._add_forecast()
                change = self.change()
                self._remember()
                self.logits += change
                self.step += 1
        if not math.isfinite(self.logits.sum()):
            raise diverged(self.step)
        return StepMeasures(
            entropy=entropy, reward=reward, temperature=temperature) if measured else None

    def change(self) -> np.ndarray:
        """Return this step's change of all logits: [runs, states, actions]."""
        change, rate = self.direction(), self.learning_rate
        if self.features is not None:
            change = _in_parts(change, self.features)
        if self.optimizer is not None:
            change, self._after = self.optimizer.update(
                change, self.parameters, self.moments, self.step)
        if self.features is not None:
            parameters = self.parameters + rate[..., 0] * change
            self._after = [*self._after[: len(self.moments)], parameters]
            change = _in_parts(change, self.features.swapaxes(1, 2)).reshape(self.logits.shape)
        if self.moments:  # (Which the change may be one of.)
            return rate * change
        change *= rate
        return change

    def _remember(self) -> None:
        """Keep what later steps need of the one just computed, before the logits move."""
        kept = self.moments if self.features is None else [*self.moments, self.parameters]
        for before, after in zip(kept, self._after, strict=True):
            before[...] = after
        if self.past:
            self.past = [self.logits.copy(), *self.past[:-1]]

    def _add_forecast(self) -> None:
        """Forecast this step's change of `mean_entropy`, the visits of states kept, and add it to the
        batch's.

        It is first order in the change of logits, which parameters that are shared have mixed already.
        """
        chosen, shares = self.coefficient, self.token_shares().reshape(self.n_runs, -1) / self.n_prompts
        rates = []
        for value in (0.0, 1.0):
            self.coefficient = np.full(self.n_runs, value)
            by_state = entropy_change.first_order(self.logits, self.change())
            rates.append((shares * by_state).sum(axis=-1))
        self.coefficient = chosen
        base, whole = rates
        added = EntropyForecast(base=base, per_unit=whole - base)
        if self.step % self.dynamics.steps_per_batch and self.forecast is not None:
            added = EntropyForecast(base=self.forecast.base + added.base,
                                    per_unit=self.forecast.per_unit + added.per_unit)
        self.forecast = added

    def draw(self) -> None:
        """Draw this step's batch: draws and, where rows are pooled, sums; a second call repeats it."""
        if self._drawn == self.batch_number:
            return
        self._drawn = self.batch_number
        self.draws: dict[int, Any] = {}
        self.pooled: dict[int, Rows] = {}
        self.noise, self.sampling = self.new_noise(), {}
        for kind, probabilities in self._probabilities_by_kind().items():
            if self.samples is not None:
                self.draws[kind] = self._draw(probabilities, kind)
            if self.levels is not None:
                self.pooled[kind] = self._pool(probabilities, kind)
        self.kept = self.rule.prepare(self.token_batch()) if self.reuses else None

    def kinds(self) -> list[int]:
        """Return the kinds of rows of this batch, ordinary ones first."""
        return [ORDINARY] * self.has_ordinary + [TEMPERED] * (self.temperature is not None)

    def _probabilities_by_kind(self) -> dict[int, np.ndarray]:
        """Return what ordinary and tempered rows are drawn from, [runs, states, actions].

        Where a sampler departs from the policy, its log-probabilities are kept in ``sampling``.
        """
        kinds: dict[int, Any] = {}
        for kind in self.kinds():
            temperature = None if kind == ORDINARY else self.temperature
            if self.dynamics.sampler is not None:
                logits: Any = self.past[-1] if self.past else self.logits
                if self.noise is not None:
                    logits = logits + self.dynamics.sampler.noise * self.noise
                self.sampling[kind] = self.dynamics.sampler.log_probabilities(
                    logits, None if temperature is None else temperature[:, None])
                kinds[kind] = namespace(logits).exp(self.sampling[kind])
            elif temperature is None:
                kinds[kind] = self.probabilities
            else:
                tempered = np.exp(self._shifted / temperature[:, None, None])
                tempered /= tempered.sum(axis=-1, keepdims=True)
                kinds[kind] = tempered
        return kinds

    def new_noise(self) -> np.ndarray | None:
        """Return the sampler's normal numbers of this batch; None for a sampler without noise."""
        if self.dynamics.sampler is None or self.dynamics.sampler.noise == 0:
            return None
        key = batch_key(self.dynamics.seed, self.batch_number)
        return normal(np, *(uniforms(lane, key) for lane in self.noise_lanes))

    @cached_property
    def noise_lanes(self) -> tuple[Any, Any]:
        """The words from which the uniforms of the sampler's noise are made, without seed and batch."""
        return noise_lanes(self.run_numbers, *self.logits.shape[1:])

    def _draw(self, probabilities: np.ndarray, kind: int) -> Any:
        """Draw actions, [runs, prompts, samples]."""
        return draw(probabilities, self.uniforms(kind))

    def _pool(self, probabilities: np.ndarray, kind: int) -> Any:
        assert self.levels is not None
        if self.samples is None:
            return Rows(
                share=probabilities, by_level=self.levels.sums(probabilities), exact=True)
        order: Literal["C", "F"] = "F" if self.logits.flags.f_contiguous else "C"
        counts = count(self.draws[kind], self.logits.shape[-1], order)
        size = self.draws[kind].shape[-1]
        # Counts are whole numbers, so a group all right or all wrong is one exactly.
        by_level = self.levels.sums(counts) / size
        counts /= size
        return Rows(share=counts, by_level=by_level, exact=False)

    def direction(self) -> np.ndarray:
        """Return the step of all logits per unit learning rate: [runs, states, actions]."""
        if self.levels is None:
            return logit_step(
                self.logits, self.rows(), self.rule, probabilities=self.probabilities)
        return self._pooled_direction()

    def _pooled_direction(self) -> np.ndarray:
        assert self.levels is not None
        known = coefficients(
            self.rule, self.levels, self.pooled, self.coefficient, self.temperature, self.step,
            self.dynamics.seed, self.ready)
        scored = [(rows, score / self.n_states)
                  for rows, score in zip(self.pooled.values(), known.scores, strict=True)]
        # sum_i weight_i score_i (e_a - pi): of rows whose shares are pi itself in one product.
        apart = [(rows, score) for rows, score in scored if rows.share is not self.probabilities]
        at_policy: Any = -sum(
            (rows.by_level * score).sum(axis=-1, keepdims=True) for rows, score in apart)
        for rows, score in scored:
            if rows.share is self.probabilities:
                at_policy = self.levels.at_actions(rows.centered(score) + at_policy)
        total = at_policy * self.probabilities
        for rows, score in apart:
            part = self.levels.at_actions(score)
            part *= rows.share
            total += part
        return self._add_terms(
            total, {name: term / self.n_states for name, term in known.terms.items()})

    def _add_terms(self, total: np.ndarray, terms: dict[str, np.ndarray]) -> np.ndarray:
        """Add the gradients of state functions, with coefficients [runs, states, 1]."""
        for name, term in terms.items():
            if name == "entropy":
                # grad_z H = -pi (log pi + H), and log pi + H = shifted - E[shifted].
                total -= term * self.probabilities * (self._shifted - self._mean_shifted)
            else:
                total += term * state_gradient(name, self.logits, self.rule.needs.removed_fraction)
        return total

    def rows(self) -> TokenBatch:
        """Return this step's prepared rows, with the log-probabilities of the current policy."""
        if self.kept is None:
            return self.rule.prepare(self.token_batch())
        flat = self.log_probabilities().reshape(self.n_runs, -1)
        index = self.kept.state * self.logits.shape[-1] + self.kept.action
        log_prob = np.take_along_axis(flat, index.reshape(self.n_runs, -1), axis=1)
        columns: dict[str, Any] = {"log_prob": log_prob.reshape(index.shape), "step": self.step}
        if "old_entropy" in self.rule.needs.columns:
            columns["entropy"] = self.entropy[np.arange(self.n_runs)[:, None, None], self.kept.state]
        if self.coefficient is not None:
            columns["coefficient"] = np.broadcast_to(self.coefficient[:, None, None], index.shape)
        batch = self.kept.replace(**columns)
        again = self.rule.needs.every_step
        return self.rule.prepare(batch.replace(prepared={})) if again else batch

    def token_batch(self) -> TokenBatch:
        """Return this step's batch as rows, as the update rules read it."""
        batch = self._token_batch()
        # A rule's own random choices are keyed by sequence: each run has numbers of its own.
        n_rows = batch.mask.shape[-2]
        sequence = self.run_numbers[:, None, None] * n_rows + np.arange(n_rows)[:, None]
        batch = batch.replace(
            step=self.step, seed=self.dynamics.seed, listed=self.samples is None,
            sequence=np.broadcast_to(sequence, batch.mask.shape))
        if self.dynamics.target_offsets is not None and batch.group is not None:
            offsets = np.asarray(self.dynamics.target_offsets, dtype=np.float64)
            batch = batch.replace(target_offset=offsets[batch.group])
        if self.coefficient is None:
            return batch
        return batch.replace(coefficient=namespace(self.coefficient).broadcast_to(
            self.coefficient[:, None, None], batch.mask.shape))

    def _token_batch(self) -> TokenBatch:
        return token_batch(
            self.logits, self.reward, ordinary=self.has_ordinary, temperature=self.temperature,
            draws=self.draws, sampling=self.sampling, log_prob=self.log_probabilities(),
            reference_logits=self.reference, removed_fraction=self.rule.needs.removed_fraction,
            effects=self.effects,
        )


def _in_parts(values: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Return the products [runs, m] of each run's n values and its part's matrix, of [parts, n, m]."""
    n_runs, (parts, n, m) = len(values), matrices.shape
    found: np.ndarray = values.reshape(n_runs, n).reshape(parts, -1, n) @ matrices
    return found.reshape(n_runs, m)


def sum_over_actions(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the sum over actions of x y, [runs, states, 1], without a temporary array."""
    return np.einsum("rsa,rsa->rs", x, y)[..., None]
