"""Measures how far steps move the logits at fixed states, and what a gradient's noise does to entropy.

The states are those of some completions of the first step, and stay fixed for the whole run. So a
change there is a change of the policy, not of the states that it visits. A move is the squared,
centered change of the logits, averaged over actions and states.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import TrainerCallback

from entropy_theory import entropy_change, policy
from llm_bridge.accounting.optimizer_step import scalings
from llm_bridge.forward.policy_forward import COLUMNS

SEQUENCES = 64
"""The number of completions whose states are looked at."""
BLOCK = 10
"""The number of steps over which a net move is measured, and at whose first one the raw gradient's is."""
WALKS = 24
"""The number of walks that are drawn of each length."""
SCORED_ACTIONS = 256
"""With more actions than this no covariance of scores [states, actions, actions] is made."""


def move(change: np.ndarray) -> np.ndarray:
    """Return the mean over actions of the squared centered change: [states] of [states, actions]."""
    return np.var(change, axis=-1)


class LogitMoves(TrainerCallback):
    """Measures every step at fixed states.

    Args:
        trainer: an EntropyTrainer on one process.
        raw_rate: the learning rate of plain SGD by which the raw gradient's move is measured.

    Attributes:
        series: lists by step and by block. By step: ``probe_entropy`` before the step, nats,
            ``move``, nats squared, and ``kl`` of the policy before the step to the policy after it,
            nats. By block: ``net_move`` and ``net_kl`` from its first step to its end, and
            ``raw_move`` of a step of SGD at ``raw_rate``.
    """

    def __init__(self, trainer: Any, *, raw_rate: float):
        self._trainer, self._raw_rate = trainer, raw_rate
        self._rows: dict[str, torch.Tensor] | None = None
        self.series: dict[str, list[float]] = {name: [] for name in (
            "probe_entropy", "move", "kl", "net_move", "net_kl", "raw_move")}

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        """Choose the states at the first step, and note where a block begins."""
        if self._rows is None:
            inputs = self._trainer.micro_batches[0].inputs
            self._rows = {name: inputs[name][:SEQUENCES].clone() for name in COLUMNS}
            self._mask = inputs["mask"][:SEQUENCES].clone()
            self._before = self.logits()
        if len(self.series["move"]) % BLOCK == 0:
            self._start = self._before
            raw = [self._raw_rate * gradient for gradient in self.gradients()]
            self.series["raw_move"].append(float(move(self.logits_after(raw) - self._before).mean()))

    def on_optimizer_step(self, *_: Any, **__: Any) -> None:
        """Measure the step that was just taken."""
        found, series = self.logits(), self.series
        series["probe_entropy"].append(float(policy.entropy(self._before).mean()))
        series["move"].append(float(move(found - self._before).mean()))
        series["kl"].append(_kl(self._before, found))
        if len(series["move"]) % BLOCK == 0:
            series["net_move"].append(float(move(found - self._start).mean()))
            series["net_kl"].append(_kl(self._start, found))
        self._before = found

    def logits(self) -> np.ndarray:
        """Return the log-probabilities at the states as the model is now: [states, actions], float64."""
        assert self._rows is not None
        with torch.no_grad():
            found = self._trainer.logits(self._trainer.model, self._rows)[self._mask]
        return policy.to_numpy(torch.log_softmax(found.double(), dim=-1))

    def parameters(self) -> list[torch.nn.Parameter]:
        """List the parameters that are trained."""
        return [one for one in self._trainer.model.parameters() if one.requires_grad]

    def gradients(self) -> list[torch.Tensor]:
        """Return the gradients of the loss at hand, in the parameters' order."""
        return [torch.zeros_like(one) if one.grad is None else one.grad for one in self.parameters()]

    def logits_after(self, step: Sequence[torch.Tensor]) -> np.ndarray:
        """Return `logits` with the parameters less ``step``, which are then put back to the bit."""
        kept = [one.detach().clone() for one in self.parameters()]
        try:
            with torch.no_grad():
                for one, away in zip(self.parameters(), step, strict=True):
                    one.sub_(away)
            return self.logits()
        finally:
            with torch.no_grad():
                for one, value in zip(self.parameters(), kept, strict=True):
                    one.copy_(value)


class NoiseForecast(LogitMoves):
    """Forecasts the effect of gradients without signal on entropy, from gradients of steps not taken.

    The first ``pilot`` steps are taken. At each later step the gradient g is computed, and the step
    is not taken. In a run g would move the parameters by u = rate x P g in all, over the steps in
    which momentum hands it on. Here P is the optimizer's scaling. Where rewards are drawn apart
    from actions, g and -g are equally likely. The mean change of entropy is then (H(theta + u) +
    H(theta - u)) / 2 - H(theta).

    Args:
        trainer: an EntropyTrainer.
        pilot: the number of steps that are taken.
        raw_rate: as that of `LogitMoves`.
        momentum: of SGD; Adam's hands on 1 in all.
        ahead: the numbers of steps of the walks.

    Attributes:
        updates: dicts by update, of means over states. ``drift``: the mean change above, nats.
            ``noise``: its part from the covariance of the logits' moves
            (`entropy_change.of_noise`). ``curvature``: its part from the logits' own curvature in
            the parameters, to first order. ``first``: (H(theta + u) - H(theta - u)) / 2. ``move``:
            of the logits by u. ``isotropic`` and ``score``: the drift by noise of the same move at
            each state. The noise has one variance for each logit, or is shaped as single samples'
            scores (None with more than `SCORED_ACTIONS` actions).
        walks: by number of steps, the changes of entropy at the sums of as many updates of random signs,
            nats.
    """

    def __init__(
        self, trainer: Any, *, raw_rate: float, pilot: int, momentum: float = 0.0,
        ahead: Sequence[int] = (),
    ):
        super().__init__(trainer, raw_rate=raw_rate)
        self._pilot, self._momentum, self._ahead = pilot, momentum, ahead
        self._seen: list[list[torch.Tensor]] = []
        self.updates: list[dict[str, float | None]] = []
        self.walks: dict[int, list[float]] = {}

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        """Look at the gradient, once the pilot is over, and take away the step's rate."""
        super().on_pre_optimizer_step()
        if self._trainer.state.global_step < self._pilot:
            return
        optimizer = self._trainer.optimizer
        rate = optimizer.param_groups[0]["lr"] / (1 - self._momentum)
        scaled = zip(scalings(optimizer, self.parameters()), self.gradients(), strict=True)
        update = [rate * scale * gradient for scale, gradient in scaled]
        self._seen.append(update)
        self.updates.append(_effects(
            self._before, self.logits_after(update), self.logits_after([-one for one in update])))
        for group in optimizer.param_groups:
            group["lr"] = 0.0

    def on_train_end(self, *_: Any, **__: Any) -> None:
        """Draw the walks."""
        generator = np.random.default_rng(0)
        here = policy.entropy(self._before).mean()
        for steps in self._ahead:
            self.walks[steps] = []
            for _walk in range(WALKS):
                signs = 2.0 * generator.integers(2, size=len(self._seen)) - 1
                walk = [torch.zeros_like(one) for one in self.parameters()]
                for sign, update in zip(signs, self._seen, strict=True):
                    for total, one in zip(walk, update, strict=True):
                        total += sign * (steps / len(self._seen)) ** 0.5 * one
                self.walks[steps].append(float(policy.entropy(self.logits_after(walk)).mean() - here))


def _effects(middle: np.ndarray, plus: np.ndarray, minus: np.ndarray) -> dict[str, float | None]:
    """Return an entry of `NoiseForecast.updates` from log-probabilities [states, actions]."""
    half, bend = (plus - minus) / 2, (plus + minus) / 2 - middle
    above, below, here = (policy.entropy(one) for one in (plus, minus, middle))
    actions: int = middle.shape[-1]
    moved, score = move(half), None
    if actions <= SCORED_ACTIONS:
        covariance = entropy_change.score_covariance(middle)
        spread = np.trace(covariance, axis1=-2, axis2=-1) / actions  # scores are centered
        score = float(np.mean(
            entropy_change.of_noise(middle, covariance) * moved / np.maximum(spread, 1e-30)))
    quadratic = entropy_change.second_order(middle, half) - entropy_change.first_order(middle, half)
    isotropic = entropy_change.of_isotropic_noise(middle) * moved * actions / (actions - 1)
    return {
        "drift": float(np.mean((above + below) / 2 - here)), "noise": float(np.mean(quadratic)),
        "curvature": float(np.mean(entropy_change.first_order(middle, bend))),
        "first": float(np.mean((above - below) / 2)), "move": float(moved.mean()),
        "isotropic": float(isotropic.mean()), "score": score,
    }


def _kl(before: np.ndarray, after: np.ndarray) -> float:
    return float(np.sum(np.exp(before) * (before - after), axis=-1).mean())
