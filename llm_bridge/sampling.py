"""Sampling: completions drawn from pi^T, with what was known of each token when it was drawn."""

from __future__ import annotations

import dataclasses
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rich.console
import rich.progress
import torch
import transformers

from entropy_theory import policy, results
from llm_bridge import models, tasks


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Samples:
    """Completions and their tokens. Rows are sequences: all samples of a prompt, then the next.

    Attributes:
        prompts: [sequences], each repeated for each of its samples.
        completions: [sequences], text without special tokens.
        prompt_ids: [sequences, prompt positions] integers, padded on the left.
        prompt_mask: [sequences, prompt positions], False on padding.
        token_ids: [sequences, positions] integers, padded on the right.
        mask: [sequences, positions], True up to and with the token that ended the completion.
        log_prob: [sequences, positions], nats, under pi (T = 1); 0 outside the mask.
        sampling_log_prob: the same under pi^T, from which the tokens were drawn.
        entropy: [sequences, positions], nats, of pi (T = 1) over the whole vocabulary; 0 outside
            the mask.
        temperature: T.
    """

    prompts: list[str]
    completions: list[str]
    prompt_ids: torch.Tensor
    prompt_mask: torch.Tensor
    token_ids: torch.Tensor
    mask: torch.Tensor
    log_prob: torch.Tensor
    sampling_log_prob: torch.Tensor
    entropy: torch.Tensor
    temperature: float

    def lengths(self) -> torch.Tensor:
        """[sequences] tokens in each completion, the one that ended it included."""
        return self.mask.sum(-1)

    def mean_entropy(self) -> float:
        """Entropy in nats per token: the mean over each sequence, then over sequences."""
        return (self.entropy.sum(-1) / self.lengths()).mean().item()


def sample(
    model: Any,
    tokenizer: Any,
    prompts: list[str],
    *,
    num_samples: int = 1,
    temperature: float = 1.0,
    max_new_tokens: int = 64,
    seed: int = 0,
    stop: str | None = None,
    batch_size: int = 32,
    progress: bool = False,
) -> Samples:
    """Draw completions from pi^T = softmax(logits / T), token by token, with Hugging Face generate.

    The model's own generation settings are ignored and left as they are; torch's global random
    state is left as it was.

    Args:
        prompts: text; tokenized as the tokenizer does by itself, special tokens included.
        num_samples: completions for each prompt.
        temperature: T, finite and above 0.
        max_new_tokens: completions end here at the latest.
        seed: equal arguments and seed give equal samples.
        stop: a completion also ends after the first token whose text contains this.
        batch_size: sequences generated at once.
        progress: show a progress bar on standard error.

    Raises:
        ValueError: a temperature that is not finite and above 0, no prompts, a count below 1, or a
            prompt that leaves no room for a completion.
    """
    _check(prompts, temperature, num_samples, max_new_tokens, batch_size)
    stop_ids = models.stop_token_ids(tokenizer, stop)
    check_room(model, tokenizer, prompts, max_new_tokens)
    config = models.plain_generation(tokenizer, stop_ids)
    config.max_new_tokens = max_new_tokens
    own_config, was_training = model.generation_config, model.training
    devices = [model.device] if model.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices), torch.no_grad():
        torch.manual_seed(seed)
        # generate fills what a config leaves unset from the model's own.
        model.generation_config = config
        model.eval()
        try:
            parts = [
                _sample_batch(model, tokenizer, batch, copies, temperature, stop_ids)
                for batch, copies in rich.progress.track(
                    list(_batches(prompts, num_samples, batch_size)),
                    description="sampling",
                    console=rich.console.Console(stderr=True),
                    disable=not progress,
                )
            ]
        finally:
            model.generation_config = own_config
            model.train(was_training)
    return _join(parts, tokenizer, temperature)


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class SampleConfig:
    """Draw completions and print them, or write them to a JSONL file."""

    model: str = "small-sums"
    """Bundled name, folder in Hugging Face format, or hub id."""
    task: str = "split"
    """Task name, reasoning-gym:NAME, or a JSONL file of prompts and answers."""
    num_prompts: int = 8
    """How many prompts of the task."""
    num_samples: int = 4
    """Completions drawn for each prompt."""
    temperature: float = 1.0
    """Sampling temperature, finite and above 0; 1 samples the model's own distribution."""
    max_new_tokens: int | None = None
    """Longest completion, in tokens; the task's own limit by default."""
    split: tasks.Split = "held-out"
    """Part of a named task the prompts come from; a JSONL file is used whole."""
    reward: str | None = None
    """Reward function, by name or as module:function; the task's own by default."""
    chat_template: bool = False
    """Render each prompt as a user's turn of the model's chat template."""
    seed: int = 0
    """Seed of the prompts and of the samples."""
    dtype: str = "float32"
    """Number format of the weights: float32, bfloat16 or float16."""
    device: str = "cpu"
    """Where the model runs: cpu or cuda."""
    batch_size: int = 32
    """Sequences generated at once."""
    output: Path | None = None
    """JSONL file to write, its provenance beside it; printed by default."""


def sample_command(config: SampleConfig) -> None:
    """Draw completions as ``config`` says; one JSON object a line, with reward and log-probability."""
    if config.output is not None:
        results.check_writable(config.output)
    task = tasks.load(
        config.task, split=config.split, size=config.num_prompts, seed=config.seed,
        reward=config.reward, max_new_tokens=config.max_new_tokens,
    )
    transformers.utils.logging.disable_progress_bar()
    model, tokenizer = models.load(config.model, dtype=config.dtype, device=config.device)
    if config.chat_template:
        task = tasks.with_chat_template(task, tokenizer)
    drawn = sample(
        model, tokenizer, list(task.prompts), num_samples=config.num_samples,
        temperature=config.temperature, max_new_tokens=task.max_new_tokens, seed=config.seed,
        stop=task.stop, batch_size=config.batch_size, progress=True,
    )
    answers = [answer for answer in task.answers for _ in range(config.num_samples)]
    judged = task.judge(drawn.prompts, drawn.completions, answers)
    columns = zip(
        drawn.prompts, drawn.completions, answers, judged, drawn.log_prob.sum(-1).tolist(),
        drawn.lengths().tolist(), strict=True,
    )
    names = ("prompt", "completion", "answer", "reward", "log_prob", "length")
    lines = [json.dumps(dict(zip(names, row, strict=True))) for row in columns]
    if config.output is None:
        print("\n".join(lines))
        return
    results.write_text(config.output, "\n".join(lines) + "\n")
    results.write_json(
        config.output.with_suffix(".provenance.json"),
        results.provenance(
            config=config, seed=config.seed, device=config.device,
            packages=("torch", "transformers", "reasoning-gym"),
        ),
    )
    print(f"{len(lines)} completions in {config.output}", file=sys.stderr)


class _Recorder(transformers.LogitsProcessor):
    """Sees the raw logits of each step, records what is asked of them, and applies T.

    Temperature is applied here and not by generate, so that this one place decides what is drawn.
    The token drawn at a step is known at the next.
    """

    def __init__(self, temperature: float):
        self.temperature = temperature
        self.entropy: list[torch.Tensor] = []
        self.log_prob: list[torch.Tensor] = []
        self.sampling_log_prob: list[torch.Tensor] = []
        self._last: tuple[torch.Tensor, torch.Tensor] | None = None

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if self._last is not None:
            self.drawn(input_ids[:, -1])
        logits = scores.float()
        self.entropy.append(policy.entropy(logits))
        log_probs = policy.log_softmax(logits)
        tempered = log_probs
        if self.temperature != 1.0:
            tempered = policy.log_softmax(logits, self.temperature)
        self._last = (log_probs, tempered)
        return tempered

    def drawn(self, token_ids: torch.Tensor) -> None:
        """Record the log-probabilities of the tokens [sequences] drawn at the last step."""
        assert self._last is not None
        for column, record in zip(
            self._last, (self.log_prob, self.sampling_log_prob), strict=True
        ):
            record.append(column.gather(-1, token_ids[:, None])[:, 0])
        self._last = None


def _batches(
    prompts: list[str], num_samples: int, batch_size: int
) -> Iterator[tuple[list[str], int]]:
    """(prompts, samples of each) with at most ``batch_size`` samples, in the order of the rows."""
    together = max(1, batch_size // num_samples)
    for start in range(0, len(prompts), together):
        for done in range(0, num_samples, batch_size):
            yield prompts[start : start + together], min(batch_size, num_samples - done)


def _sample_batch(
    model: Any,
    tokenizer: Any,
    prompts: list[str],
    copies: int,
    temperature: float,
    stop_ids: list[int],
) -> dict[str, Any]:
    encoded = tokenizer(prompts, return_tensors="pt", padding=True, padding_side="left")
    prompt_ids = encoded.input_ids.to(model.device)
    prompt_mask = encoded.attention_mask.to(model.device)
    cache = _prefill(model, prompt_ids, prompt_mask, copies)
    prompt_ids = prompt_ids.repeat_interleave(copies, dim=0)
    prompt_mask = prompt_mask.repeat_interleave(copies, dim=0)
    recorder = _Recorder(temperature)
    output = model.generate(
        input_ids=prompt_ids,
        attention_mask=prompt_mask,
        past_key_values=cache,
        generation_config=model.generation_config,
        logits_processor=transformers.LogitsProcessorList([recorder]),
    )
    token_ids = output[:, prompt_ids.shape[1] :]
    recorder.drawn(token_ids[:, -1])
    is_stop = torch.isin(token_ids, torch.tensor(stop_ids, device=token_ids.device))
    mask = (is_stop.cumsum(-1) - is_stop.long()) == 0
    masked = {
        name: torch.where(mask, torch.stack(getattr(recorder, name), dim=-1), 0.0).cpu()
        for name in ("log_prob", "sampling_log_prob", "entropy")
    }
    kept = [row[keep].tolist() for row, keep in zip(token_ids, mask, strict=True)]
    return {
        "prompts": [prompt for prompt in prompts for _ in range(copies)],
        "completions": tokenizer.batch_decode(kept, skip_special_tokens=True),
        "prompt_ids": prompt_ids.cpu(),
        "prompt_mask": prompt_mask.bool().cpu(),
        "token_ids": torch.where(mask, token_ids, tokenizer.pad_token_id).cpu(),
        "mask": mask.cpu(),
        **masked,
    }


def _prefill(
    model: Any, prompt_ids: torch.Tensor, prompt_mask: torch.Tensor, copies: int
) -> transformers.Cache | None:
    """Keys and values of all but each prompt's last token, computed once for its ``copies`` samples.

    generate would compute them for every sample, which for a few-shot prompt is most of the work.
    None where there is nothing to gain, or where the model keeps a state that is not a cache.
    """
    if copies == 1 or prompt_ids.shape[1] == 1 or getattr(model, "_is_stateful", False):
        return None
    cache = transformers.DynamicCache(config=model.config)
    model.base_model(
        input_ids=prompt_ids[:, :-1],
        attention_mask=prompt_mask[:, :-1],
        position_ids=(prompt_mask.cumsum(-1) - 1).clamp(min=0)[:, :-1],
        past_key_values=cache,
        use_cache=True,
    )
    cache.batch_repeat_interleave(copies)
    return cache


def _join(parts: list[dict[str, Any]], tokenizer: Any, temperature: float) -> Samples:
    """Batches one under the other, padded to the widest: prompts on the left, the rest right."""
    joined: dict[str, Any] = {}
    for name in parts[0]:
        columns = [part[name] for part in parts]
        if isinstance(columns[0], list):
            joined[name] = [item for column in columns for item in column]
            continue
        width = max(column.shape[1] for column in columns)
        fill = tokenizer.pad_token_id if name in ("prompt_ids", "token_ids") else 0
        joined[name] = torch.cat([
            torch.nn.functional.pad(
                column,
                (width - column.shape[1], 0) if name.startswith("prompt_")
                else (0, width - column.shape[1]),
                value=fill,
            )
            for column in columns
        ])
    return Samples(**joined, temperature=temperature)


def _check(
    prompts: list[str], temperature: float, num_samples: int, max_new_tokens: int, batch_size: int
) -> None:
    if not (math.isfinite(temperature) and temperature > 0):
        raise ValueError(
            f"temperature must be finite and above 0, got {temperature}: 1 samples the model's own "
            "distribution, 0.01 is nearly greedy"
        )
    if not prompts:
        raise ValueError("no prompts to sample from: give at least one")
    counts = {
        "num_samples": num_samples, "max_new_tokens": max_new_tokens, "batch_size": batch_size
    }
    for name, value in counts.items():
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")


def check_room(model: Any, tokenizer: Any, prompts: list[str], max_new_tokens: int) -> None:
    """Raise ValueError for an empty prompt, or one too long for ``max_new_tokens`` more tokens.

    Beyond its last trained position a model answers all the same, or fails deep inside.
    """
    limit = getattr(model.config, "max_position_embeddings", None)
    longest = max(len(ids) for ids in tokenizer(prompts).input_ids)
    if longest == 0:
        raise ValueError("an empty prompt has no tokens for this tokenizer: give some text")
    if limit is not None and longest + max_new_tokens > limit:
        raise ValueError(
            f"a prompt of {longest} tokens and {max_new_tokens} new ones exceed the model's "
            f"{limit} positions: shorten the prompts or lower max_new_tokens"
        )
