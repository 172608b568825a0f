"""Lets a trainer draw completions from weights that are not those it trains: older or rounded ones."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator
from typing import Any

import torch
from transformers import TrainerCallback

from llm_bridge.forward.policy_forward import COLUMNS


class OtherSampler(TrainerCallback):
    """Draws from the weights of some steps before, in another number format, and corrects nothing.

    Args:
        trainer: an EntropyTrainer on one process, which this changes.
        steps_old: how many optimizer steps older the sampler's weights are than the trained ones.
        dtype: of its weights and activations.
    """

    def __init__(self, trainer: Any, *, steps_old: int = 0, dtype: torch.dtype = torch.float32):
        self._trainer, self._dtype = trainer, dtype
        self._kept: deque[list[torch.Tensor]] = deque(maxlen=steps_old + 1)
        draw = trainer.draw_completions

        def drawn(*given: Any, **options: Any) -> Any:
            # It would refuse, rightly: what is drawn from is not what is trained.
            trainer.same_policy.looks_at_draws = False
            with self._weights():
                return draw(*given, **options)

        trainer.draw_completions = drawn
        trainer.add_callback(self)

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Keep the weights, from which a later step draws."""
        self._kept.append([one.detach().clone() for one in self._trainer.generating_model.parameters()])

    @contextlib.contextmanager
    def _weights(self) -> Iterator[None]:
        model = self._trainer.generating_model
        kept, buffers = [(one.data, one.grad) for one in model.parameters()], dict(model.named_buffers())
        try:
            for one, old in zip(model.parameters(), self._kept[0], strict=True):
                one.data, one.grad = old, None  # a gradient would be rounded too
            model.to(self._dtype)
            yield
        finally:
            for one, (value, gradient) in zip(model.parameters(), kept, strict=True):
                one.data, one.grad = value, gradient
            for name, one in model.named_buffers():
                one.data = buffers[name].data

    def log_prob(self, inputs: dict[str, Any]) -> torch.Tensor:
        """Return the sampler's log-probabilities of the completions' tokens, [sequences, positions]."""
        with torch.no_grad(), self._weights():
            logits = self._trainer.logits(
                self._trainer.model, {name: inputs[name] for name in COLUMNS}).float()
        return torch.log_softmax(logits, -1).gather(-1, inputs["completion_ids"][..., None])[..., 0]


def nucleus_mass(logits: torch.Tensor, top_p: float) -> torch.Tensor:
    """Return the probability of the tokens that top-p leaves: [...] of logits [..., actions]."""
    sorted_, _ = torch.softmax(logits.double(), -1).sort(-1, descending=True)
    before = sorted_.cumsum(-1) - sorted_
    return torch.where(before < top_p, sorted_, 0.0).sum(-1)
