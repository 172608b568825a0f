"""Divides what the steps of a run did to entropy into signal, noise, momentum, penalty and mismatch.

The account of a step (`accountant.Accountant`) has a forecast of first order for each addend, made
before the step, and a part of the measured change. Given the states, the noise of a gradient has mean
zero. So the mean over seeds of the first is the signal's. The second less the first is the noise's.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from transformers import TrainerCallback

from llm_bridge.accounting import rule_parts
from llm_bridge.accounting.accountant import Accountant
from llm_bridge.analysis.other_sampler import OtherSampler, nucleus_mass
from llm_bridge.forward.policy_forward import COLUMNS

EVERY = 8


class NoiseParts(TrainerCallback):
    """Adds up the accounts of every eighth step of a run, each on the states of its own completions.

    Args:
        trainer: an EntropyTrainer on one process.
        sampler: which draws its completions where that is not the policy.
        top_p: of its draws.

    Attributes:
        sums: nats, over steps. ``measured`` is the whole, and the sum of the next five. ``signal``: of
            the gradient, to first order. ``noise``: of the gradient, beyond that. ``momentum``.
            ``weight_decay``. ``rest``: of rounding, and what is not accounted for. The gradient has two
            more: ``penalty``, by a reference policy, and ``mismatch``, what it has beyond a gradient
            whose tokens are weighed by policy over sampler.
    """

    def __init__(self, trainer: Any, *, sampler: OtherSampler | None = None, top_p: float = 1.0):
        self._trainer, self._sampler, self._top_p = trainer, sampler, top_p
        self._excess: list[torch.Tensor] = []
        self.sums: dict[str, float] = {}
        trainer.add_callback(Accountant(trainer, every=EVERY))
        trainer.add_callback(self)

    def on_pre_optimizer_step(self, *_: Any, **__: Any) -> None:
        """Look at the sampler before the step."""
        if self._trainer.entropy_account is not None:
            self._excess = [1 - self._weights(part.inputs) for part in self._trainer.micro_batches]

    def _weights(self, inputs: dict[str, Any]) -> torch.Tensor:
        """Return policy over sampler for each token, [sequences, positions]."""
        with torch.no_grad():
            logits = self._trainer.logits(
                self._trainer.model, {name: inputs[name] for name in COLUMNS}).float()
        if self._sampler is None:
            return nucleus_mass(logits, self._top_p)
        own = torch.log_softmax(logits, -1).gather(-1, inputs["completion_ids"][..., None])[..., 0]
        return torch.exp(own - self._sampler.log_prob(inputs))

    def on_optimizer_step(self, *_: Any, **__: Any) -> None:
        """Add the step that was just accounted for."""
        found = self._trainer.entropy_account
        if found is None:
            return
        parts, signal = found.account.parts, found.forecast_parts["gradient"]
        moved = [
            {name: column * excess for name, column in rule_parts.of_step(part).items()}
            for part, excess in zip(self._trainer.micro_batches, self._excess, strict=True)]
        step = {
            "signal": signal, "noise": parts["gradient"] - signal,
            **{name: parts.get(name, 0.0) for name in ("momentum", "weight_decay")}}
        step |= {
            "measured": found.account.measured,
            "rest": found.account.measured - math.fsum(step.values()),
            "penalty": found.by_rule.get("reference-kl", 0.0),
            "mismatch": math.fsum(float(effect.double().sum()) for effect in found.tokens.of(moved)),
        }
        self.sums = {name: self.sums.get(name, 0.0) + value for name, value in step.items()}
