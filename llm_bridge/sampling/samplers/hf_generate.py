"""Samples by Hugging Face generate, with a recorder in its logits processors."""

from __future__ import annotations

from typing import Any

import torch
import transformers

from entropy_theory import policy
from llm_bridge.data.models import cache_argument
from llm_bridge.data.private_names import keeps_a_state
from llm_bridge.sampling.logits_processors import Recorder
from llm_bridge.sampling.samplers.batch import PromptBatch, Tokens, positions

GENERATION = transformers.GenerationMixin.prepare_inputs_for_generation
"""What says how ``generate`` calls the past."""


def draw(model: Any, batch: PromptBatch, kept: dict[Any, Any]) -> Tokens:
    """Draw token by token and record each token as it is drawn."""
    ids, mask = batch.rows()
    recorder = _Recorder(batch.temperature)
    output = model.generate(
        input_ids=ids,
        attention_mask=mask,
        **cache_argument(GENERATION, _prefill(model, batch)),
        generation_config=model.generation_config,
        logits_processor=transformers.LogitsProcessorList([recorder]),
    )
    token_ids = output[:, ids.shape[1] :]
    recorder.drawn(token_ids[:, -1])
    return Tokens(
        ids=token_ids, entropy=torch.stack(recorder.entropy, dim=-1), **recorder.columns())


def draw_as_trl(model: Any, batch: PromptBatch, kept: dict[Any, Any]) -> Tokens:
    """Draw as GRPOTrainer's regular path does: every row from its prompt on, temperature in generate."""
    ids, mask = batch.rows()
    config = model.generation_config
    config.temperature, config.disable_compile = batch.temperature, True
    output = model.generate(input_ids=ids, attention_mask=mask, generation_config=config)
    return Tokens(ids=output[:, ids.shape[1] :])


class _Recorder(Recorder):
    """Records statistics of the raw logits of each step, and applies the temperature.

    Temperature is applied here and not by generate, so that this one place decides what is drawn.
    """

    def __init__(self, temperature: float):
        super().__init__()
        self._temperature = temperature
        self.entropy: list[torch.Tensor] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        logits = scores.float()
        self.entropy.append(policy.entropy(logits))
        log_probs = policy.log_softmax(logits)
        tempered = log_probs
        if self._temperature != 1.0:
            tempered = policy.log_softmax(logits, self._temperature)
        self.hold(input_ids, log_prob=log_probs, sampling_log_prob=tempered)
        return tempered


def _prefill(model: Any, batch: PromptBatch) -> transformers.Cache | None:
    """Compute keys and values of all but each prompt's last token, once for all its copies.

    generate would compute them for every sample, which for a few-shot prompt is most of the work.
    Returns None where there is nothing to gain, or where the model keeps a state that is not a cache.
    """
    if batch.copies == 1 or batch.ids.shape[1] == 1 or keeps_a_state(model):
        return None
    cache = transformers.DynamicCache(config=model.config)
    model.base_model(
        input_ids=batch.ids[:, :-1],
        attention_mask=batch.mask[:, :-1],
        position_ids=positions(batch.mask)[:, :-1],
        use_cache=True,
        **cache_argument(model, cache),
    )
    cache.batch_repeat_interleave(batch.copies)
    return cache
