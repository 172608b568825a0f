"""Samples by transformers' continuous batching: sequences that end make room for those that wait."""

from __future__ import annotations

from typing import Any

import transformers

from llm_bridge.sampling.samplers.batch import PromptBatch, Tokens, padded


def draw(model: Any, batch: PromptBatch, kept: dict[Any, Any]) -> Tokens:
    """Draw all completions of all prompts, in the order that the scheduler finds best.

    Raises:
        RuntimeError: requests that it lost or gave up, with their number.
    """
    config = model.generation_config
    config.temperature = batch.temperature
    attention = model.config._attn_implementation
    try:
        outputs = list(model.generate_batch(
            batch.plain_prompts(), generation_config=config, progress_bar=False,
            continuous_batching_config=_config(batch),
        ).values())
    finally:
        if model.config._attn_implementation != attention:
            model.set_attn_implementation(attention)
    rows = len(batch.ids) * batch.copies
    failed = [output.error for output in outputs if output.error is not None]
    if failed or len(outputs) != rows:
        reason = failed[0] if failed else "it stopped early"
        raise RuntimeError(
            f"continuous batching finished {len(outputs) - len(failed)} of {rows} sequences "
            f"({reason}): take sampler generate, or fewer sequences"
        )
    found = [list(output.generated_tokens) for output in outputs]
    return Tokens(ids=padded(found, batch.pad_id, batch.ids.device))


CPU_SEQUENCES, CPU_BLOCK = 64, 32


def _config(batch: PromptBatch) -> Any:
    """Size the cache for the device; by default it takes most of the memory, on a CPU for masks."""
    if batch.ids.device.type == "cuda":
        return transformers.ContinuousBatchingConfig(seed=batch.seed)
    together = min(CPU_SEQUENCES, len(batch.ids) * batch.copies)
    return transformers.ContinuousBatchingConfig(
        seed=batch.seed, block_size=CPU_BLOCK, max_requests_per_batch=together,
        num_blocks=together * (batch.length // CPU_BLOCK + 2),
        max_batch_tokens=max(batch.length, 4 * together),
    )


def obstacle(model: Any) -> str | None:
    """Say why a model cannot be sampled this way, or return None."""
    if not hasattr(transformers, "ContinuousBatchingConfig"):
        return f"transformers {transformers.__version__} has no continuous batching of this form"
    # Paged attention is put in place of the model's own by name.
    if not getattr(model, "_supports_sdpa", False):
        return f"{type(model).__name__} has no attention that can be paged"
    return None
