r"""Runs on token trees: the states of a prompt are its prefixes, its answers are whole responses.

A step is taken in one of three ways, which a test compares:

- A rule that reads only a response's reward and length (`Needs.pools`) gets one row for each pair of
  them. Backward recursion carries the coefficients to every state. The step is
  :math:`d(s) \pi(a|s) (Q - V)`, with the response's score in place of its reward. It costs as much as
  the logits.
- Other rules, in exact expectation, get every response as a row (`tabular.response_batch`).
- Sampled responses are rows, drawn token by token.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from entropy_theory.tabular import response_batch
from entropy_theory.token_batch import TokenBatch, concatenate
from entropy_theory.token_tree import Paths, TokenTree
from simulations.engine.pooled import MOST_LEVELS
from simulations.engine.runs import Runs
from simulations.engine.sampling import TEMPERED
from simulations.engine.task import Task
from simulations.engine.tree_rows import draw_responses, sampled_responses


@dataclass(frozen=True, kw_only=True, slots=True)
class ResponseClasses:
    """The classes of responses, by pairs of reward and length."""

    rewards: tuple[float, ...]
    lengths: tuple[int, ...]
    of_response: np.ndarray
    """Each response's place among the pairs, integer [runs or 1, prompts, responses]."""

    @classmethod
    def of(cls, reward: np.ndarray, tree: TokenTree) -> ResponseClasses | None:
        """Return the classes of a reward [runs or 1, prompts, responses]; None for too many rewards."""
        if len(np.unique(reward)) > MOST_LEVELS:
            return None
        pairs = np.stack(np.broadcast_arrays(reward, tree.lengths), axis=-1)
        found, place = np.unique(pairs.reshape(-1, 2), axis=0, return_inverse=True)
        return cls(
            rewards=tuple(found[:, 0].tolist()), lengths=tuple(found[:, 1].astype(int).tolist()),
            of_response=place.reshape(reward.shape),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ClassRows:
    """The rows of one kind in exact expectation, summed by class."""

    probabilities: np.ndarray
    """Probabilities of the policy that is sampled, [runs, prompts, states, tokens]."""
    by_class: np.ndarray
    """The probability of each class times ``scale``, a token's weight: [runs, prompts, classes]."""
    scale: np.ndarray
    """One over the number of prompts and the mean length, so that weights sum to 1: [runs, 1, 1]."""


class TreeRuns(Runs):
    """A block of runs on a token tree; states are prompts x tree states, prompt-major."""

    def __init__(self, task: Task, step: int = 0) -> None:
        """Make the runs of a task that has a tree, with the policies after ``step`` steps."""
        assert task.tree is not None
        self.tree: TokenTree = task.tree
        self._response_of_edge = self.tree.response_of_edge()
        self._shares_at = -1
        super().__init__(task, step)

    def _by_tree(self, values: np.ndarray) -> np.ndarray:
        """Reshape [runs, prompts * states, ...] to [runs, prompts, states, ...]."""
        return values.reshape(
            len(values), self.n_prompts, self.tree.n_states, *values.shape[2:])

    def _levels(self) -> Any:
        if self.samples is not None:
            return None
        return ResponseClasses.of(
            np.broadcast_to(
                self.reward, (len(self.reward), self.n_prompts, self.tree.n_responses)),
            self.tree)

    def by_prompt(self, values: np.ndarray) -> np.ndarray:
        return (self.token_shares() * self._by_tree(values)).sum(axis=-1)

    def token_shares(self) -> np.ndarray:
        """The `TokenTree.token_shares` of the current policies, [runs, prompts, states]."""
        if self._shares_at != self.step:
            self._shares = self.tree.token_shares(self._by_tree(self.probabilities))
            self._shares_at = self.step
        return self._shares

    def answers(self) -> np.ndarray:
        return self.tree.response_probabilities(self._by_tree(self.probabilities))

    def answer_logits(self) -> np.ndarray:
        return self.tree.sum_along(self._by_tree(self.log_probabilities()))

    def advantage(self) -> np.ndarray:
        values, action_values = self.tree.values(
            self._by_tree(self.probabilities), self.tree.edge_reward(self.reward))
        return (action_values - values[..., None]).reshape(self.logits.shape)

    def response_length(self) -> np.ndarray:
        visits = self.tree.visitation(self._by_tree(self.probabilities))
        return visits.sum(axis=-1).mean(axis=-1)

    def _draw(self, probabilities: np.ndarray, kind: int) -> Paths:
        return draw_responses(
            self.tree, self._by_tree(probabilities), lambda position: self.uniforms(kind, position))

    def _pool(self, probabilities: np.ndarray, kind: int) -> ClassRows:
        assert self.levels is not None
        by_tree = self._by_tree(probabilities)
        answers = self.tree.response_probabilities(by_tree)
        n_classes = len(self.levels.lengths)
        place = np.broadcast_to(self.levels.of_response, answers.shape)
        offset = n_classes * np.arange(self.n_runs * self.n_prompts).reshape(self.n_runs, -1, 1)
        by_class = np.bincount(
            (place + offset).ravel(), answers.ravel(), minlength=n_classes * offset.size,
        ).reshape(self.n_runs, self.n_prompts, n_classes)
        tokens = (by_class * np.array(self.levels.lengths)).sum(axis=(1, 2))
        scale = 1 / tokens[:, None, None]
        return ClassRows(probabilities=by_tree, by_class=by_class * scale, scale=scale)

    def _pooled_direction(self) -> np.ndarray:
        classes: Any = self.levels
        kinds = tuple(self.pooled)
        batch = _template(self.n_runs, self.n_prompts, self.tree.horizon, classes.rewards,
                          classes.lengths, kinds)
        rows: list[Any] = list(self.pooled.values())
        weight = np.stack([part.by_class for part in rows], axis=1).reshape(self.n_runs, -1, 1)
        columns: dict[str, Any] = {
            "weight": np.broadcast_to(weight, batch.mask.shape),
            "step": self.step, "seed": self.dynamics.seed}
        if self.temperature is not None:
            columns["sampling_temperature"] = np.where(
                batch.is_tempered, self.temperature[:, None, None], 1.0)
        if self.coefficient is not None:
            columns["coefficient"] = np.broadcast_to(
                self.coefficient[:, None, None], batch.mask.shape)
        batch = self.rule.prepare(batch.replace(**columns))

        def flows(of_token: np.ndarray) -> np.ndarray:
            """[runs, states, tokens]: what the batch's rows put on each edge, of a column."""
            # A response's tokens are alike: the first one's stands for all.
            of_row = of_token[..., 0].reshape(self.n_runs, len(rows), self.n_prompts, -1)
            total: Any = 0
            for i, part in enumerate(rows):
                of_response = np.take_along_axis(
                    of_row[:, i] * part.scale,
                    np.broadcast_to(classes.of_response,
                                    (self.n_runs, *classes.of_response.shape[1:])), axis=-1)
                total = total + self.tree.flow(part.probabilities, of_response)
            return total.reshape(self.logits.shape)

        total = flows(self.rule.scores(batch))
        total -= self.probabilities * total.sum(axis=-1, keepdims=True)
        terms = {name: flows(term).sum(axis=-1, keepdims=True)
                 for name, term in self.rule.state_terms(batch).items()}
        return self._add_terms(total, terms)

    def _token_batch(self) -> TokenBatch:
        parts = []
        for kind in self.kinds():
            temperature = self.temperature if kind == TEMPERED else None
            columns: dict[str, Any] = {
                "reference_logits": self.reference, "sampling_log_prob": self.sampling.get(kind),
                "removed_fraction": self.rule.needs.removed_fraction}
            if self.samples is None:
                parts.append(response_batch(
                    self.logits, self.reward, tree=self.tree, temperature=temperature, **columns))
            else:
                parts.append(sampled_responses(
                    self.logits, self.reward, self.tree, self.draws[kind], self._response_of_edge,
                    temperature=temperature,
                    columns={**columns, "log_prob": self.log_probabilities()}))
        return concatenate(parts)


@lru_cache(maxsize=8)
def _template(
    n_runs: int,
    n_prompts: int,
    horizon: int,
    rewards: tuple[float, ...],
    lengths: tuple[int, ...],
    kinds: tuple[int, ...],
) -> TokenBatch:
    """Make the batch without what changes from step to step, with placeholders as in `pooled`.

    Its shape is [runs, kinds * prompts * classes, horizon].
    """
    n_classes, copies = len(rewards), len(kinds) * n_prompts
    shape = (n_runs, copies * n_classes, horizon)

    def column(values: Any) -> np.ndarray:
        return np.broadcast_to(np.asarray(values)[:, None], shape)

    zeros = np.zeros(shape)
    return TokenBatch(
        log_prob=zeros,
        old_log_prob=zeros,
        reward=column(np.tile(rewards, copies)),
        mask=np.broadcast_to(np.arange(horizon) < np.tile(lengths, copies)[:, None], shape),
        weight=zeros,
        sampling_temperature=zeros + 1,
        tempered=column(np.repeat([kind == TEMPERED for kind in kinds], n_prompts * n_classes)),
        group=None if n_prompts == 1 else column(
            np.tile(np.repeat(np.arange(n_prompts), n_classes), len(kinds))),
        listed=True,
    )
