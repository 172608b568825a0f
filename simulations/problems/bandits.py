"""Families of bandit problems: policies to start from, and which answers are right.

A *prompt* is a question; its *answers* are actions (bandits, here) or responses of several tokens
(`token_trees`). A *run* is one policy trained on all prompts of its problem. By symmetry
the right answers of a bandit are its first ``n_correct`` actions; what matters is how the starting
logits are spread over them. Parameters that states share are in `simulations.problems.shared_parameters`.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_theory.token_tree import TokenTree

FAMILIES = ("gaussian", "ties", "dirichlet", "saturated", "given")
VOCABULARY = 151_936
"""The number of actions of a vocabulary-sized state: the vocabulary of Qwen2.5."""
DIFFICULTIES = (0.125, 0.5, 0.875)
"""Starting accuracies of hard, medium and easy prompts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Bandit:
    """A family of starting policies over ``n_actions`` answers of which ``n_correct`` are right.

    Raises ValueError for a family without right answers, with fewer than two actions, or whose
    options contradict each other; the message names the value.
    """

    n_actions: int = 20
    n_correct: int = 1
    family: str = "gaussian"
    """The distribution of logits. "gaussian" draws ``scale`` x N(0, 1). "ties" rounds these to multiples
    of ``scale``, so that several actions share a logit. "dirichlet" draws probabilities from a Dirichlet
    distribution of ``concentration``. "saturated" is gaussian, with one action drawn at random ahead of
    all others by ``gap``. "given" takes ``logits`` for every start."""
    scale: float = 1.0
    """Standard deviation of the logits, nats."""
    concentration: float = 1.0
    """The parameter of family "dirichlet" for each action: 1 is uniform over policies, below 1 peaked."""
    gap: float = 10.0
    """Nats between the largest logit and the next in family "saturated"."""
    accuracies: tuple[float | None, ...] = (None,)
    """The probability of a right answer at the start, one entry per state. It is set by raising or
    lowering all right answers of the state together; None leaves the logits as drawn."""
    rewards: tuple[float, ...] | None = None
    """Graded rewards of the first actions, in place of 1 for the ``n_correct`` right ones. All other
    actions have reward 0, and those with the largest reward are right."""
    logits: tuple[float, ...] | None = None
    """The starting logits of family "given", one number an action."""

    def __post_init__(self) -> None:
        for name in ("n_actions", "n_correct"):
            check_count(name, getattr(self, name))
        if self.n_actions < 2:
            raise ValueError(f"a bandit needs at least 2 actions, got n_actions {self.n_actions}")
        if not 1 <= self.n_correct <= self.n_actions:
            raise ValueError(
                f"n_correct must be between 1 and the {self.n_actions} actions, got "
                f"{self.n_correct}: a state without a right answer gives no gradient"
            )
        if self.family not in FAMILIES:
            raise ValueError(f"unknown family '{self.family}': use one of {', '.join(FAMILIES)}")
        for name in ("scale", "gap"):
            if not (math.isfinite(getattr(self, name)) and getattr(self, name) >= 0):
                raise ValueError(f"{name} must be finite and at least 0, got {getattr(self, name)}")
        if not (math.isfinite(self.concentration) and self.concentration > 0):
            raise ValueError(f"concentration must be finite and above 0, got {self.concentration}")
        if (self.family == "given") != (self.logits is not None):
            raise ValueError("give logits for the family 'given', and for no other")
        if self.logits is not None and len(self.logits) != self.n_actions:
            raise ValueError(f"{len(self.logits)} logits given for {self.n_actions} actions")
        if self.logits is not None and not all(map(math.isfinite, self.logits)):
            raise ValueError(f"logits must be finite, got {self.logits}")
        if not self.accuracies:
            raise ValueError("accuracies is empty: name one state at least, (None,) for a bandit")
        check_memory(
            8 * len(self.accuracies) * self.n_actions,
            f"the logits of {len(self.accuracies)} x {self.n_actions:,} actions", "use fewer of either")
        if self.rewards is not None:
            _check_rewards(self.rewards, self.n_actions)
        for accuracy in self.accuracies:
            if accuracy is not None and not 0 < accuracy < 1:
                raise ValueError(f"an accuracy must be strictly between 0 and 1, got {accuracy}")
            if accuracy is not None and self.correct.all():
                raise ValueError("every answer is right: its accuracy is 1 and cannot be set")

    @property
    def reward(self) -> np.ndarray:
        """Float [1, states, actions]: 1 or a graded reward at right answers, 0 elsewhere."""
        reward = np.zeros(self.n_actions)
        reward[: self.n_correct] = 1.0
        if self.rewards is not None:
            reward[:] = 0.0
            reward[: len(self.rewards)] = self.rewards
        return np.broadcast_to(reward, (1, len(self.accuracies), self.n_actions)).copy()

    @property
    def correct(self) -> np.ndarray:
        """Boolean [1, states, actions]: the right answers."""
        reward = self.reward
        return reward == reward.max(axis=-1, keepdims=True)

    @property
    def ceiling(self) -> float:
        r""":math:`\log |A^*|`, nats: the largest entropy of a policy that answers right every time."""
        return math.log(self.correct[0, 0].sum())

    def starts(self, n_starts: int, seed: int) -> np.ndarray:
        """Starting logits [starts, states, actions] of ``n_starts`` policies of the family.

        Start i of a seed does not depend on ``n_starts``, nor on ``n_correct``: problems with more
        right answers differ in the mask alone (unless an accuracy is set).
        """
        check_count("n_starts", n_starts, 1)
        check_count("seed", seed, 0)
        shape = (len(self.accuracies), self.n_actions)
        check_memory(
            8 * n_starts * math.prod(shape), f"{n_starts} starts of {shape[0]} x {shape[1]:,} actions",
            "use fewer starts at a time, or fewer actions")
        logits = np.empty((n_starts, *shape))
        for i, stream in enumerate(np.random.SeedSequence(seed).spawn(n_starts)):
            logits[i] = self._drawn(np.random.default_rng(stream), shape)
        correct = self.correct[0]
        for state, accuracy in enumerate(self.accuracies):
            if accuracy is not None:
                logits[:, state] = _with_accuracy(logits[:, state], correct[state], accuracy)
        check_problem(logits, self.reward)
        return logits

    def _drawn(self, generator: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
        if self.logits is not None:
            return np.broadcast_to(np.asarray(self.logits, dtype=float), shape)
        if self.family == "dirichlet":
            # The logarithm of a gamma variate; that of shape below 1 would underflow, and
            # log Gamma(c) = log Gamma(c + 1) + log(U) / c in distribution.
            gamma = generator.gamma(self.concentration + 1, size=shape)
            return np.log(gamma) + np.log1p(-generator.random(shape)) / self.concentration
        drawn = generator.normal(size=shape)
        if self.family == "ties":
            drawn = np.round(drawn)
        drawn *= self.scale
        if self.family == "saturated":
            first = generator.integers(self.n_actions, size=shape[0])
            states = np.arange(shape[0])
            drawn[states, first] = -np.inf
            drawn[states, first] = drawn.max(axis=-1) + self.gap
        return drawn


def graded_prompts(
    per_group: int = 8, difficulties: tuple[float, ...] = DIFFICULTIES, **options: Any
) -> Bandit:
    """Make a tabular stand-in for a training set, ``per_group`` prompts of each starting accuracy.

    ``options`` are those of `Bandit`. Prompts alternate between groups: prompt i has the difficulty whose
    number is i modulo the number of difficulties.
    """
    if per_group < 1:
        raise ValueError(f"per_group must be at least 1, got {per_group}")
    return Bandit(accuracies=tuple(difficulties) * per_group, **options)


def shuffled(problem: Bandit, n_starts: int, seed: int, key: int) -> tuple[np.ndarray, np.ndarray]:
    """Return (starting logits, right answers), each [starts, states, actions], in an order of each state.

    Which answers are right is then no help on another state, where parameters are shared.
    """
    logits = problem.starts(n_starts, seed)
    order = np.random.default_rng([seed, key]).random(logits.shape).argsort(axis=-1)
    correct = np.broadcast_to(problem.correct, logits.shape)
    return np.take_along_axis(logits, order, axis=-1), np.take_along_axis(correct, order, axis=-1)


def check_problem(logits: np.ndarray, reward: np.ndarray, tree: TokenTree | None = None) -> None:
    """Raise ValueError unless this is a problem that can be simulated.

    Args:
        logits: [runs, states, actions].
        reward: [runs or 1, states or 1, actions], the reward of each answer; the largest, where
            above 0, is a right answer. With a tree, [runs or 1, prompts or 1, responses].
        tree: None where answers are single actions.
    """
    if logits.ndim != 3:
        raise ValueError(f"logits are [runs, states, actions], got shape {logits.shape}")
    if not logits.shape[0] or not logits.shape[1]:
        raise ValueError(f"there is no run or no state in logits of shape {logits.shape}")
    if logits.shape[-1] < 2:
        raise ValueError(f"a bandit needs at least 2 actions, got {logits.shape[-1]}")
    n_runs, n_states, n_actions = logits.shape
    answers: tuple[int, ...] = logits.shape
    if tree is not None:
        n_prompts, left = divmod(n_states, tree.n_states)
        if n_actions != tree.n_tokens or left or not n_prompts:
            raise ValueError(
                f"logits {logits.shape} do not fit the tree, which has {tree.n_states} states a prompt "
                f"and {tree.n_tokens} tokens"
            )
        answers = (n_runs, n_prompts, tree.n_responses)
    try:
        shape = np.broadcast_shapes(answers, reward.shape)
    except ValueError:
        shape = ()
    if shape != answers:
        what = f"logits {logits.shape}" if tree is None else f"(runs, prompts, responses) {answers}"
        raise ValueError(f"reward of shape {reward.shape} does not fit {what}")
    if not np.isfinite(logits).all():
        bad = tuple(int(i) for i in np.argwhere(~np.isfinite(logits))[0])
        raise ValueError(
            f"starting logits must be finite, found {logits[bad]} at (run, state, action) {bad}"
        )
    place = "(run, state, action)" if tree is None else "(run, prompt, response)"
    if not np.isfinite(reward).all():
        bad = tuple(int(i) for i in np.argwhere(~np.isfinite(reward))[0])
        raise ValueError(f"the reward is {reward[bad]} at {place} {bad}: give every answer a number")
    if not (reward > 0).any(axis=-1).all():
        bad = tuple(int(i) for i in np.argwhere(~(reward > 0).any(axis=-1))[0])
        raise ValueError(
            f"no right answer (no reward above 0) in {place.rpartition(',')[0]}) {bad}: drop the "
            "state, or mark an answer as right"
        )


def check_count(name: str, value: Any, least: int | None = None) -> None:
    """Raise ValueError unless ``value`` is a whole number, of at least ``least`` where that is given."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise ValueError(f"{name} must be a whole number, got {value!r}")
    if least is not None and value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")


def check_memory(n_bytes: int, what: str, instead: str) -> None:
    """Raise ValueError if an array would not fit in half of the machine's memory.

    Args:
        n_bytes: size of the array.
        what: what needs it, for the message.
        instead: what the user can do about it, for the message.
    """
    limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    if n_bytes > limit:
        raise ValueError(
            f"{what}: {n_bytes / 1e9:,.1f} GB, more than half of this machine's {2 * limit / 1e9:.1f} GB "
            f"of memory; {instead}"
        )


def _check_rewards(rewards: tuple[float, ...], n_actions: int) -> None:
    if not 1 <= len(rewards) <= n_actions:
        raise ValueError(f"{len(rewards)} rewards given for {n_actions} actions")
    if not all(map(math.isfinite, rewards)):
        raise ValueError(f"rewards must be finite, got {rewards}")
    if max(rewards) <= 0:
        raise ValueError(f"no right answer: the largest of the rewards must be above 0, got {rewards}")


def _with_accuracy(logits: np.ndarray, correct: np.ndarray, accuracy: float) -> np.ndarray:
    """Shift the right answers of [starts, actions] by one number so that they hold ``accuracy``."""
    log_odds = np.logaddexp.reduce(logits[:, correct], axis=-1) - np.logaddexp.reduce(
        logits[:, ~correct], axis=-1
    )
    shift = math.log(accuracy) - math.log1p(-accuracy) - log_odds
    return np.where(correct, logits + shift[:, None], logits)
