"""Says what an evaluation will take before it is begun: completions, chunks, memory, the longest time.

    python -m llm_bridge evaluate --dry-run ...                its plan
    python -m llm_bridge evaluate --dry-run --probe ...        the same, with the time of a measured rate
    WORLD_SIZE=8 python -m llm_bridge evaluate --dry-run ...   that of eight processes
"""

from __future__ import annotations

import dataclasses
import os
import time
from typing import Any

from llm_bridge import evaluation
from llm_bridge.data import benchmarks, models
from llm_bridge.running import devices
from llm_bridge.sampling import peak_memory, samplers, sampling
from llm_bridge.sampling.drawing_options import Drawing, EvaluateConfig
from llm_bridge.sampling.samplers.vllm_engine import MEMORY_SHARE
from llm_bridge.sampling.scorer import rows_of_pass

PROMPT = 512
"""Tokens of a prompt that is not on this machine."""
PROBED = 128
"""Longest completion of a probe, in tokens."""


def plan(config: EvaluateConfig, *, world: int = 1) -> str:
    """Write the plan of an evaluation on so many processes.

    Raises:
        ValueError: as `evaluation.task_of` and, with a probe, `sampling.sample`.
    """
    config, protocol = config.resolved()
    asked = _prompts(config)
    task = evaluation.task_of(config, protocol) if asked is None else None
    prompts = len(task.prompts) if task else asked or 0
    new = config.max_new_tokens or (task.max_new_tokens if task else evaluation.LONGEST_COMPLETION)
    how = config.drawing(max_new_tokens=new)
    chunks = evaluation.chunks_of(prompts, how)
    rounds = -(-len(chunks) // world)
    longest = max(map(len, chunks))
    total = prompts * how.num_samples
    return "\n".join([
        f"plan: evaluate {config.model} on {config.task}"
        + (f" by the protocol of {config.protocol}" if config.protocol else "")
        + f", {config.dtype}, sampler {how.sampler}, {world} process{'es' if world > 1 else ''}",
        f"  completions  {prompts:,} prompts x {how.num_samples:,} samples = {total:,}",
        f"  tokens       up to {new:,} a completion, {total * new:,} in all",
        f"  chunks       {len(chunks):,} of up to {longest:,} completions, {rounds:,} a process; a kill "
        "costs those being drawn",
        f"  a process    {_at_once(how, prompts, longest, rounds)}",
        "", f"memory: {_memory(config, how, prompts, _longest_prompt(config, task))}",
        "", f"time: {_time(config, task, how, rounds * longest * new)}",
        "", f"Nothing was {'' if config.probe else 'loaded, downloaded or '}written.",
    ])


def _prompts(config: EvaluateConfig) -> int | None:
    """Return the number of prompts of a benchmark that lies on the hub; None where it can be counted."""
    here = config.benchmark_folder or os.environ.get(benchmarks.FOLDER_VARIABLE)
    if config.probe or here or config.task not in benchmarks.BENCHMARKS:
        return None
    whole = benchmarks.BENCHMARKS[config.task].size
    return min(config.num_prompts or whole, whole)


def _longest_prompt(config: EvaluateConfig, task: Any) -> int | None:
    """Return the tokens of the longest prompt, or None where prompts or tokenizer are not here."""
    import transformers

    if task is None or peak_memory.shape_of(config.model) is None:
        return None
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            models.locate(config.model), local_files_only=True)
    except (OSError, ValueError):
        return None
    return max(map(len, tokenizer(list(task.prompts)).input_ids))


def _at_once(how: Drawing, prompts: int, longest: int, chunks: int) -> str:
    if _engine(how):
        return (f"1 engine for its {chunks:,} chunks, {longest:,} completions at once, which the model "
                f"in memory scores")
    rows = sampling.largest_batch(prompts, how.num_samples, how.batch_size)
    return f"batches of {rows} completions, {-(-longest // rows)} a chunk"


def _engine(how: Drawing) -> bool:
    return how.sampler in samplers.SAMPLERS and samplers.SAMPLERS[how.sampler].engine is not None


def _memory(config: EvaluateConfig, how: Drawing, prompts: int, prompt: int | None) -> str:
    shape = peak_memory.shape_of(config.model)
    if shape is None:
        return f"not computed, since no config.json of {config.model} is on this machine"
    device = "cpu" if config.device == "cpu" else "cuda"
    dtype = models.torch_dtype(config.dtype)
    given = {"prompt": prompt or PROMPT, "new": how.max_new_tokens}
    held = peak_memory.weights(peak_memory.meta_model(shape, dtype))
    lines = [f"computed on tensors without data, a process with prompts of {given['prompt']:,} tokens"
             + ("" if prompt else " (taken for granted)"),
             f"  weights      {_gib(held)}"]
    if not _engine(how):
        rows = sampling.largest_batch(prompts, how.num_samples, how.batch_size)
        drawn = peak_memory.drawing(shape, dtype, rows=rows, **given)
        lines.append(
            f"  drawing      {_gib(drawn)} more, {rows} rows at once, keys and values among it")
    if _engine(how) or how.sampler == "trl":
        rows = rows_of_pass(how.batch_size, sum(given.values()))
        table = how.batch_size * how.max_new_tokens * shape.get_text_config().vocab_size
        scored = peak_memory.scoring(shape, dtype, rows=rows, device=device, **given)
        lines.append(f"  scoring      {_gib(scored)} more, {rows} rows at once; the logits of "
                     f"{how.batch_size} would be {_gib(table * dtype.itemsize)}")
    if _engine(how):
        lines.append(f"  vLLM         {MEMORY_SHARE:.0%} of the device's memory beside it")
    return "\n".join(lines)


def _gib(size: int) -> str:
    return f"{size / 2**30:.3f} GiB"


def _time(config: EvaluateConfig, task: Any, how: Drawing, tokens: int) -> str:
    """Write the time in which a process draws so many tokens."""
    rate, origin = config.tokens_per_second, "as --tokens-per-second says"
    if config.probe:
        rate, origin = _probed(config, task, how)
    if rate is None:
        return "not estimated: give --tokens-per-second of a process, or --probe to measure it here"
    seconds = round(tokens / rate)
    whole = f"{seconds // 3600} h {seconds % 3600 // 60:02} min" if seconds >= 3600 else (
        f"{seconds // 60} min {seconds % 60:02} s")
    return f"at most {whole}, at {rate:,.0f} tokens a second and process, {origin}"


def _probed(config: EvaluateConfig, task: Any, how: Drawing) -> tuple[float, str]:
    """Draw a batch twice, and time the second; return tokens per second, and what was measured."""
    device = devices.of_rank(config.device)
    model, tokenizer = models.load(config.model, dtype=config.dtype, device=device)
    size = evaluation.ENGINE_LEAST if _engine(how) else how.batch_size
    short = dataclasses.replace(
        how, max_new_tokens=min(PROBED, how.max_new_tokens), num_samples=min(size, how.num_samples))
    prompts = list(task.prompts[: max(1, size // short.num_samples)])
    shared: dict[Any, Any] = {}
    for seed in range(2):  # the first starts an engine, or captures a graph
        started = time.monotonic()
        drawn = sampling.sample(model, tokenizer, prompts, shared=shared, **{
            **dataclasses.asdict(short), "seed": seed, "stop": task.stop})
    seconds, tokens = time.monotonic() - started, int(drawn.lengths().sum())
    return tokens / seconds, (
        f"measured on {devices.product(config.device)} by {len(drawn.prompts)} completions of up to "
        f"{short.max_new_tokens} tokens, scoring included: longer ones go slower")
