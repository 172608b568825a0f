"""Problem families: bandits whose start, right answers and difficulty are chosen.

A *state* is a prompt with one-token answers, a *run* is one policy trained on all states of its
problem. By symmetry the right answers are the first ``n_correct`` actions of each state; what
matters is how the starting logits are spread over them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

FAMILIES = ("gaussian", "ties", "given")


@dataclass(frozen=True, kw_only=True, slots=True)
class Bandit:
    """A family of starting policies over ``n_actions`` answers of which ``n_correct`` are right.

    Raises ValueError for a family without right answers, with fewer than two actions, or whose
    options contradict each other; the message names the value.
    """

    n_actions: int = 20
    n_correct: int = 1
    family: str = "gaussian"
    """"gaussian": logits scale x N(0, 1); "ties": the same rounded to multiples of ``scale``, so
    that several actions share a logit; "given": ``logits`` for every start."""
    scale: float = 1.0
    """Standard deviation of the logits, nats."""
    accuracies: tuple[float | None, ...] = (None,)
    """One entry a state: probability of a right answer at the start, set by raising or lowering
    all its right answers together; None leaves the logits as drawn."""
    logits: tuple[float, ...] | None = None
    """The starting logits of family "given", one number an action."""

    def __post_init__(self) -> None:
        if self.n_actions < 2:
            raise ValueError(f"a bandit needs at least 2 actions, got n_actions {self.n_actions}")
        if not 1 <= self.n_correct <= self.n_actions:
            raise ValueError(
                f"n_correct must be between 1 and the {self.n_actions} actions, got "
                f"{self.n_correct}: a state without a right answer gives no gradient"
            )
        if self.family not in FAMILIES:
            raise ValueError(f"unknown family '{self.family}': use one of {', '.join(FAMILIES)}")
        if not (math.isfinite(self.scale) and self.scale >= 0):
            raise ValueError(f"scale must be finite and at least 0, got {self.scale}")
        if (self.family == "given") != (self.logits is not None):
            raise ValueError("give logits for the family 'given', and for no other")
        if self.logits is not None and len(self.logits) != self.n_actions:
            raise ValueError(f"{len(self.logits)} logits given for {self.n_actions} actions")
        if not self.accuracies:
            raise ValueError("accuracies is empty: name one state at least, (None,) for a bandit")
        for accuracy in self.accuracies:
            if accuracy is not None and not 0 < accuracy < 1:
                raise ValueError(f"an accuracy must be strictly between 0 and 1, got {accuracy}")
            if accuracy is not None and self.n_correct == self.n_actions:
                raise ValueError("every answer is right: its accuracy is 1 and cannot be set")

    @property
    def correct(self) -> np.ndarray:
        """Boolean [1, states, actions]: the right answers."""
        mask = np.arange(self.n_actions) < self.n_correct
        return np.broadcast_to(mask, (1, len(self.accuracies), self.n_actions)).copy()

    @property
    def ceiling(self) -> float:
        """log |A*|, nats: the largest entropy of a policy that answers right every time."""
        return math.log(self.n_correct)

    def starts(self, n_starts: int, seed: int) -> np.ndarray:
        """Starting logits [starts, states, actions] of ``n_starts`` policies of the family.

        Start i of a seed does not depend on ``n_starts``, nor on ``n_correct``: problems with more
        right answers differ in the mask alone (unless an accuracy is set).
        """
        shape = (len(self.accuracies), self.n_actions)
        streams = np.random.SeedSequence(seed).spawn(n_starts)
        drawn = [np.random.default_rng(stream).normal(size=shape) for stream in streams]
        logits = np.asarray(drawn).reshape(n_starts, *shape)
        if self.family == "ties":
            logits = np.round(logits)
        logits = self.scale * logits
        if self.logits is not None:
            logits = np.broadcast_to(np.asarray(self.logits, dtype=float), logits.shape).copy()
        for state, accuracy in enumerate(self.accuracies):
            if accuracy is not None:
                logits[:, state] = _with_accuracy(logits[:, state], self.correct[0, state], accuracy)
        check_problem(logits, self.correct.astype(float))
        return logits


def check_problem(logits: np.ndarray, reward: np.ndarray) -> None:
    """Raise ValueError unless this is a problem that can be simulated.

    Args:
        logits: [runs, states, actions].
        reward: [runs or 1, states or 1, actions], the reward of each answer; the largest, where
            above 0, is a right answer.
    """
    if logits.ndim != 3:
        raise ValueError(f"logits are [runs, states, actions], got shape {logits.shape}")
    if logits.shape[-1] < 2:
        raise ValueError(f"a bandit needs at least 2 actions, got {logits.shape[-1]}")
    try:
        shape = np.broadcast_shapes(logits.shape, reward.shape)
    except ValueError:
        shape = ()
    if shape != logits.shape:
        raise ValueError(f"reward of shape {reward.shape} does not fit logits {logits.shape}")
    if not np.isfinite(logits).all():
        bad = tuple(int(i) for i in np.argwhere(~np.isfinite(logits))[0])
        raise ValueError(
            f"starting logits must be finite, found {logits[bad]} at (run, state, action) {bad}"
        )
    if not np.isfinite(reward).all():
        bad = tuple(int(i) for i in np.argwhere(~np.isfinite(reward))[0])
        raise ValueError(
            f"the reward is {reward[bad]} at (run, state, action) {bad}: give every answer a number"
        )
    if not (reward > 0).any(axis=-1).all():
        bad = tuple(int(i) for i in np.argwhere(~(reward > 0).any(axis=-1))[0])
        raise ValueError(
            f"no right answer (no reward above 0) in (run, state) {bad}: drop the state, or mark "
            "an answer as right"
        )


def _with_accuracy(logits: np.ndarray, correct: np.ndarray, accuracy: float) -> np.ndarray:
    """Shift the right answers of [starts, actions] by one number so that they hold ``accuracy``."""
    log_odds = np.logaddexp.reduce(logits[:, correct], axis=-1) - np.logaddexp.reduce(
        logits[:, ~correct], axis=-1
    )
    shift = math.log(accuracy) - math.log1p(-accuracy) - log_odds
    return np.where(correct, logits + shift[:, None], logits)
