r"""Exact expected training of many prompts, each a tabular bandit: the curves the R-H law is fitted
to.

Entropy and performance are means over prompts. Updates are exact expectations per prompt, with one
learning rate. With :math:`A = 1_{\text{right}} - R` the policy gradient is
:math:`z \leftarrow z + \eta \pi A`, and the natural policy gradient :math:`z \leftarrow z + \eta A`.
The runs are deterministic, in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from entropy_theory.policy import entropy, softmax

Rule = Literal["policy gradient", "natural gradient"]


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainedRun:
    """A training run.

    Attributes:
        entropy: [steps + 1] nats, mean over prompts.
        performance: [steps + 1] probability of a right answer, mean over prompts.
    """

    entropy: np.ndarray
    performance: np.ndarray

    def early(self, share: float) -> TrainedRun:
        """The first ``share`` of its steps."""
        kept = max(3, round(share * len(self.entropy)))
        return TrainedRun(entropy=self.entropy[:kept], performance=self.performance[:kept])


def random_prompts(
    n_prompts: int, n_actions: int, n_correct: int, *, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """(logits, correct), each [prompts, actions]: standard normal logits, the first m actions right."""
    logits = np.random.default_rng(seed).standard_normal((n_prompts, n_actions))
    return logits, np.broadcast_to(np.arange(n_actions) < n_correct, logits.shape)


def train(
    logits: np.ndarray, correct: np.ndarray, rule: Rule, *, learning_rate: float, steps: int
) -> TrainedRun:
    """Run a rule from ``logits`` [prompts, actions]."""
    logits, history = logits.copy(), []
    for _ in range(steps + 1):
        probabilities = softmax(logits)
        performance = np.sum(probabilities * correct, axis=-1)
        history.append((entropy(logits).mean(), performance.mean()))
        advantage = correct - performance[:, None]
        pull = probabilities * advantage if rule == "policy gradient" else advantage
        logits += learning_rate * pull
    means = np.array(history)
    return TrainedRun(entropy=means[:, 0], performance=means[:, 1])
