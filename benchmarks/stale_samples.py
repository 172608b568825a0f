"""Runs whose samples are late: drawn by the policy of k steps ago, as an asynchronous sampler's are.

    python benchmarks/stale_samples.py    docs/holding_an_entropy_measured.md#samples-that-are-late

What a trainer makes of late samples is in `StaleRuns`: log-probabilities of the sampler in the ratio, and
the entropy that a controller sees either that of the policy being trained, or as late as the samples.
"""

from collections import deque
from typing import Any

import numpy as np

from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import get
from simulations.engine.dynamics import Dynamics
from simulations.engine.runs import Runs
from simulations.engine.sampling import Samples
from simulations.engine.task import Task
from simulations.problems.bandits import Bandit

TARGET = 1.0
DELAYS = (0, 1, 2, 4, 8)
RATES = (1.0, 3.0)
STARTS = 5
STEPS = 400
RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "integral, entropy bonus": (
        "entropy-bonus", {"coefficient_step": 0.005, "coefficient_low": 0.0}),
    "two-sided integral, diverse bonus": (
        "diverse-bonus", {"coefficient_step": 0.05, "coefficient_low": -5.0}),
    "forecast, entropy bonus": ("entropy-bonus", {"hold": "forecast", "coefficient_low": -5.0}),
    "forecast, diverse bonus": ("diverse-bonus", {"hold": "forecast", "coefficient_low": -5.0}),
}
"""As in simulations/experiments/holding_a_target.py."""


class StaleRuns(Runs):
    """Sampled runs of single answers, without a second batch, whose samples are ``delay`` steps late."""

    def __init__(self, task: Task, *, delay: int, late_entropy: bool) -> None:
        self.late_entropy = late_entropy
        self.past: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=delay + 1)
        """Log-probabilities and entropies of the last policies, the one that samples first."""
        super().__init__(task)
        self.levels = None  # sums over rows of equal reward know one policy alone

    def _control(self) -> None:
        now = self.entropy
        self.past.append((self.log_probabilities(), now))
        if self.late_entropy:
            self.entropy = self.past[0][1]
        super()._control()
        self.entropy = now

    def _draw(self, probabilities: np.ndarray, kind: int) -> Any:
        return super()._draw(np.exp(self.past[0][0]), kind)

    def _token_batch(self) -> TokenBatch:
        found = super()._token_batch()
        then = self.past[0][0].reshape(self.n_runs, -1)
        place = (found.state * self.logits.shape[-1] + found.action).reshape(self.n_runs, -1)
        drawn = np.take_along_axis(then, place, axis=1).reshape(found.log_prob.shape)
        return found.replace(old_log_prob=drawn, sampling_log_prob=drawn)


def block(name: str, *, delay: int, late_entropy: bool, steps: int = STEPS) -> StaleRuns:
    """The runs of a rule, at their starts: the first half at the first learning rate."""
    rule, options = RULES[name]
    problem = Bandit(n_actions=20, n_correct=8, accuracies=(0.2, 0.4, 0.6, 0.8))
    dynamics = Dynamics(
        rule=get(rule, target=TARGET, coefficient=0.0, coefficient_high=5.0, **options),
        learning_rate=tuple(np.repeat(RATES, STARTS)), steps=steps, samples=Samples(group_size=8))
    starts = np.tile(problem.starts(STARTS, 0), (len(RATES), 1, 1))
    return StaleRuns(
        Task.checked(starts, problem.correct, dynamics), delay=delay, late_entropy=late_entropy)


def held(name: str, *, delay: int, late_entropy: bool) -> dict[str, np.ndarray]:
    """By learning rate, over the second half: distance from the target and swing, nats; the reward."""
    found = block(name, delay=delay, late_entropy=late_entropy).advance(STEPS, measured=True)
    assert found is not None
    entropy, reward = (values[STEPS // 2 :].reshape(STEPS // 2, len(RATES), STARTS)
                       for values in (found.entropy, found.reward))
    return {"distance": np.abs(entropy - TARGET).mean((0, 2)), "swing": entropy.std(0).mean(-1),
            "reward": reward.mean((0, 2))}


if __name__ == "__main__":
    for label in RULES:
        for late in (False, True):
            for k in DELAYS:
                if k or not late:
                    told = held(label, delay=k, late_entropy=late)
                    print(f"{label:<34} {'late' if late else 'own':<5} {k}  " + "  ".join(
                        f"{key} {' '.join(f'{value:.3f}' for value in values)}"
                        for key, values in told.items()), flush=True)
