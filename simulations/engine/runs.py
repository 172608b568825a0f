"""Runs whose steps are taken by NumPy: every rule, exact and sampled, on any problem.

Each step:

1. `Runs.evaluate`: the policies and their entropy, which at the start of a batch the rule's controllers
   turn into the second batch's temperature and the coefficient of a bonus;
2. `Runs.draw`: the shares of the batch that take each action: probabilities, or counts of draws;
3. `Runs.direction`: the rule's coefficients on them (one row a reward, or every row);
4. logits += learning rate x sum_i weight_i (score_i (e_a - pi) + gradients of state terms).

Arrays are [runs, states, actions]; where runs outnumber actions they lie with runs contiguous in
memory, which makes the sums over actions additions of long vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal

import numpy as np

from entropy_theory import entropy_change, forecast
from entropy_theory.controllers import EntropyForecast
from entropy_theory.policy import entropy, namespace
from entropy_theory.tabular import logit_step, state_gradient, sum_by_index
from entropy_theory.token_batch import TokenBatch
from simulations.engine.announcement import Announcement
from simulations.engine.block import Block, StepMeasures, diverged, pass_at, power
from simulations.engine.pooled import Levels, Rows, coefficients
from simulations.engine.rows import token_batch
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
        self._shifted, self.probabilities, self._work = (
            np.empty_like(self.logits) for _ in range(3)
        )
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

    def columns(self) -> dict[str, np.ndarray]:
        """Return the columns of `Trajectory` for the current policies, without those of controllers."""
        p = self.probabilities
        reward = self.reward_by_prompt()
        log_p = self.log_probabilities()
        log_p += self.entropy[..., None]  # centered: its mean is 0
        weighted = self.advantage()
        weighted *= p
        covariance = self.by_prompt(sum_over_actions(weighted, log_p)[..., 0])
        weighted *= p
        covariance_pg = self.by_prompt(sum_over_actions(weighted, log_p)[..., 0])
        del log_p, weighted
        answers = self.answers()
        wrong = sum_over_actions(answers, self._incorrect)[..., 0]
        right, alike = self._right
        seen = 1 - power(1 - answers[..., right], self.task.record.distinct_of)
        within = self.answer_logits()[..., right]
        correct = self.correct[..., right]
        if not alike:
            seen *= correct
            within = np.where(correct > 0, within, -np.inf)
        return {
            "entropy": self.mean_entropy(),
            "reward": reward.mean(axis=-1),
            "entropy_within_correct": entropy(within).mean(axis=-1),
            "covariance": covariance.mean(axis=-1),
            "covariance_pg": covariance_pg.mean(axis=-1),
            "distinct_answers": seen.sum(axis=-1).mean(axis=-1),
            "response_length": self.response_length(),
            "pass_at_k": pass_at(wrong, self.task.record.pass_at),
            "entropy_by_state": self.by_prompt(self.entropy).copy(order="C"),
            "reward_by_state": reward.copy(order="C"),
            "covariance_by_state": covariance.copy(order="C"),
        }

    @cached_property
    def _incorrect(self) -> np.ndarray:
        return 1 - self.correct

    @cached_property
    def _right(self) -> tuple[Any, bool]:
        """The answers that are right somewhere (a slice where they come first, as in `problems.Bandit`),
        and whether every run and prompt has the same."""
        somewhere = self.correct.any(axis=(0, 1))
        count = int(somewhere.sum())
        return (slice(0, count) if somewhere[:count].all() else np.flatnonzero(somewhere),
                bool((self.correct == somewhere).all()))

    def announce(self) -> Announcement:
        """Return the forecast of the next step's batch."""
        self.draw()
        rows = self.rows()
        at_rows = self.log_probabilities()[np.arange(self.n_runs)[:, None, None], rows.state]
        contributions = forecast.token_contributions(
            rows,
            self.rule.scores(rows),
            self.rule.state_terms(rows),
            forecast.state_statistics(
                at_rows, rows.action, removed_fraction=self.rule.needs.removed_fraction
            ),
        )
        by_state = sum_by_index(np, contributions, rows.state, self.n_states)
        shares = self.token_shares().reshape(self.n_runs, -1) / self.n_prompts
        return Announcement(
            logits=self.logits.copy(), entropy=self.entropy, shares=shares,
            coefficients=self.learning_rate[:, 0, 0] * (shares * by_state).sum(axis=-1),
        )

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
                self.logits += self.change()
                self.step += 1
        if not math.isfinite(self.logits.sum()):
            raise diverged(self.step)
        return StepMeasures(
            entropy=entropy, reward=reward, temperature=temperature) if measured else None

    def change(self) -> np.ndarray:
        """Return this step's change of all logits: [runs, states, actions]."""
        change = self.direction()
        if self.features is not None:
            flat = change.reshape(self.n_runs, -1)
            change = ((flat @ self.features) @ self.features.T).reshape(change.shape)
        change *= self.learning_rate
        return change

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
        for kind, probabilities in self._probabilities_by_kind().items():
            if self.samples is not None:
                self.draws[kind] = self._draw(probabilities, kind)
            if self.levels is not None:
                self.pooled[kind] = self._pool(probabilities, kind)
        self.kept = self.rule.prepare(self.token_batch()) if self.reuses else None

    def _probabilities_by_kind(self) -> dict[int, np.ndarray]:
        """Return the probabilities of ordinary and of tempered rows, [runs, states, actions]."""
        kinds = {}
        if self.has_ordinary:
            kinds[ORDINARY] = self.probabilities
        if self.temperature is not None:
            tempered = np.exp(self._shifted / self.temperature[:, None, None])
            tempered /= tempered.sum(axis=-1, keepdims=True)
            kinds[TEMPERED] = tempered
        return kinds

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
            draws=self.draws, log_prob=self.log_probabilities(), reference_logits=self.reference,
            removed_fraction=self.rule.needs.removed_fraction, effects=self.effects,
        )


def sum_over_actions(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the sum over actions of x y, [runs, states, 1], without a temporary array."""
    return np.einsum("rsa,rsa->rs", x, y)[..., None]
