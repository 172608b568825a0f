"""Draws completions from pi^T, with the log-probability and entropy of each token."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import json
import sys
from collections.abc import Iterator
from typing import Any

import rich.console
import rich.progress
import torch
import transformers

from entropy_theory.support import results
from llm_bridge.data import models, tasks
from llm_bridge.objective.batches import stacked
from llm_bridge.running import devices, faults
from llm_bridge.sampling import samplers
from llm_bridge.sampling.drawing_options import Drawing, SampleConfig
from llm_bridge.sampling.scorer import Scorer


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class SampledCompletions:
    """Completions and their tokens; rows are sequences, all samples of a prompt, then the next.

    Attributes:
        prompts: [sequences], each repeated for each of its samples.
        completions: [sequences], text without special tokens.
        prompt_ids: [sequences, prompt positions] integers, padded on the left.
        prompt_mask: [sequences, prompt positions], False on padding.
        token_ids: [sequences, positions] integers, padded on the right.
        mask: [sequences, positions], True up to and with the token that ended the completion.
        log_prob: [sequences, positions], nats, under pi at T = 1; 0 outside the mask.
        sampling_log_prob: the same under pi^T, from which the tokens were drawn.
        entropy: [sequences, positions], nats, of pi at T = 1 over the whole vocabulary; 0 outside
            the mask.
        temperature: T, at which they were drawn.
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
        """Return the number of tokens of each completion, the one that ended it included: [sequences]."""
        return self.mask.sum(-1)

    def mean_entropy(self) -> float:
        """Return the entropy in nats per token: the mean over each sequence, then over sequences."""
        return (self.entropy.sum(-1) / self.lengths()).mean().item()


def sample(
    model: Any, tokenizer: Any, prompts: list[str], *, progress: bool = False,
    shared: dict[Any, Any] | None = None, **options: Any,
) -> SampledCompletions:
    """Draw completions from pi^T = softmax(logits / T), token by token.

    Completions end at the model's end tokens (`models.end_token_ids`). Its other generation settings are
    ignored; they and torch's global random state are left as they were. The sampler vllm seeds Python's
    and NumPy's random numbers too.

    Args:
        prompts: texts, tokenized as the tokenizer does by itself, special tokens included.
        progress: whether to show a progress bar.
        shared: keeps an engine or a graph between calls with one model and options. Its "length" is
            the positions of the longest prompt and its completion, its "capacity" the rows of the
            largest batch.
        options: of `Drawing`: ``num_samples``, ``temperature`` and so on.

    Raises:
        ValueError: no prompts, a prompt without room, or an unusable sampler. Prompts of unequal
            lengths for a model that counts positions from padding on. Also as `Drawing` and
            `models.end_token_ids`.
        OSError: memory runs out, or the GPU is lost.
    """
    how = Drawing(**options)
    if not prompts:
        raise ValueError("no prompts to sample from: give at least one")
    stop_ids = models.stop_token_ids(model, tokenizer, how.stop)
    check_room(model, tokenizer, prompts, how.max_new_tokens)
    chosen = samplers.choose(how.named_sampler, model)
    config = models.plain_generation(tokenizer, stop_ids)
    config.max_new_tokens, config.top_p, config.top_k = how.max_new_tokens, how.top_p, how.top_k
    encoded = tokenizer(prompts, return_tensors="pt", padding=True, padding_side="left")
    at_once = len(prompts) * how.num_samples if chosen.engine else how.batch_size
    kept = shared if shared is not None else {}
    length = max(kept.get("length", 0), encoded.input_ids.shape[1] + how.max_new_tokens)
    capacity = max(kept.get("capacity", 0), largest_batch(len(prompts), how.num_samples, at_once))
    parts = []
    with (
        faults.device_errors_named(faults.sampling_settings(at_once, how.max_new_tokens)),
        torch.random.fork_rng([model.device] if model.device.type == "cuda" else []), torch.no_grad(),
        _generating(model, config),
    ):
        torch.manual_seed(how.seed)
        _check_padding(model, encoded)
        for rows, copies in rich.progress.track(
            list(_batches(len(prompts), how.num_samples, at_once)), description="sampling",
            console=rich.console.Console(stderr=True), disable=not progress,
        ):
            ids, mask = _cut(encoded, rows, model.device)
            batch = samplers.PromptBatch(
                ids=ids, mask=mask, copies=copies, temperature=how.temperature, top_p=how.top_p,
                top_k=how.top_k, max_new_tokens=how.max_new_tokens, stop_ids=stop_ids,
                pad_id=tokenizer.pad_token_id, length=length, capacity=capacity, seed=how.seed)
            parts.append(_sample_batch(model, tokenizer, chosen, batch, kept, how.batch_size) | {
                "prompts": [prompt for prompt in prompts[rows] for _ in range(copies)]})
    return _join(parts, tokenizer, how.temperature)


@contextlib.contextmanager
def _generating(model: Any, config: Any) -> Iterator[None]:
    """Have a model in evaluation mode generate as ``config`` says, and leave it as it was."""
    own_config, was_training = model.generation_config, model.training
    # generate fills what a config leaves unset from the model's own.
    model.generation_config = config
    model.eval()
    try:
        yield
    finally:
        model.generation_config = own_config
        model.train(was_training)


def sample_command(config: SampleConfig) -> list[dict[str, Any]]:
    """Draw completions as ``config`` asks, and write them out.

    Returns:
        For each completion its prompt, reward, log-probability and length, JSON-like.
    """
    if config.output is not None:
        results.check_writable(config.output)
    task = tasks.load(
        config.task, split=config.split, size=config.num_prompts, seed=config.seed,
        reward=config.reward, max_new_tokens=config.max_new_tokens,
    )
    transformers.utils.logging.disable_progress_bar()
    model, tokenizer = models.load(
        config.model, dtype=config.dtype, device=devices.of_rank(config.device))
    if config.chat_template:
        task = tasks.with_chat_template(task, tokenizer)
    how = config.drawing(max_new_tokens=task.max_new_tokens, stop=task.stop)
    drawn = sample(model, tokenizer, list(task.prompts), progress=True, **dataclasses.asdict(how))
    answers = [answer for answer in task.answers for _ in range(config.num_samples)]
    columns = zip(
        drawn.prompts, drawn.completions, answers, task.judge(drawn.prompts, drawn.completions, answers),
        drawn.log_prob.sum(-1).tolist(), drawn.lengths().tolist(), strict=True,
    )
    names = ("prompt", "completion", "answer", "reward", "log_prob", "length")
    found = [dict(zip(names, row, strict=True)) for row in columns]
    text = "\n".join(json.dumps(record) for record in found)
    if config.output is None:
        print(text)
        return found
    results.write_text(config.output, text + "\n")
    results.write_json(
        config.output.with_suffix(".provenance.json"),
        results.provenance(
            config=config, seed=config.seed, device=devices.product(config.device),
            packages=("torch", "transformers", "reasoning-gym"),
        ),
    )
    print(f"{len(found)} completions in {config.output}", file=sys.stderr)
    return found


def _batches(prompts: int, num_samples: int, batch_size: int) -> Iterator[tuple[slice, int]]:
    """Yield (prompts, samples of each) with at most ``batch_size`` samples, in the order of the rows."""
    together = max(1, batch_size // num_samples)
    for start in range(0, prompts, together):
        for done in range(0, num_samples, batch_size):
            yield slice(start, start + together), min(batch_size, num_samples - done)


def largest_batch(prompts: int, num_samples: int, batch_size: int) -> int:
    """Return the number of rows of the largest batch, the first."""
    rows, copies = next(_batches(prompts, num_samples, batch_size))
    return len(range(prompts)[rows]) * copies


def _cut(encoded: Any, rows: slice, device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """Return some prompts' ids and mask, no wider than the longest of them."""
    width = int(encoded.attention_mask[rows].sum(-1).max())
    ids, mask = (encoded[name][rows, -width:].to(device) for name in ("input_ids", "attention_mask"))
    return ids, mask


def _sample_batch(
    model: Any, tokenizer: Any, chosen: samplers.Sampler, batch: samplers.PromptBatch,
    kept: dict[Any, Any], batch_size: int,
) -> dict[str, Any]:
    tokens = chosen.draw(model, batch, kept)
    prompt_ids, prompt_mask = batch.rows()
    token_ids = tokens.ids
    is_stop = torch.isin(token_ids, torch.tensor(batch.stop_ids, device=token_ids.device))
    mask = (is_stop.cumsum(-1) - is_stop.long()) == 0
    # The sequence that is longest ends the batch.
    mask = mask[:, : int(mask.sum(-1).max())]
    token_ids = token_ids[:, : mask.shape[1]].masked_fill(~mask, batch.pad_id)
    if tokens.entropy is None:
        drawn_log_prob = tokens.log_prob
        scorer = kept.setdefault("scorer", Scorer(model))
        tokens = scorer.score(
            (prompt_ids, prompt_mask), token_ids, mask, batch.temperature, batch_size)
        if drawn_log_prob is not None:
            _check_same_model(drawn_log_prob[:, : mask.shape[1]], tokens, mask, model)
    records = {
        name: torch.where(mask, getattr(tokens, name)[:, : mask.shape[1]].float(), 0.0).cpu()
        for name in ("log_prob", "sampling_log_prob", "entropy")
    }
    texts = [row[keep].tolist() for row, keep in zip(token_ids, mask, strict=True)]
    return {
        "completions": tokenizer.batch_decode(texts, skip_special_tokens=True),
        "prompt_ids": prompt_ids.cpu(),
        "prompt_mask": prompt_mask.bool().cpu(),
        "token_ids": token_ids.cpu(),
        "mask": mask.cpu(),
        **records,
    }


SAME_MODEL = 0.1
"""The mean difference of log-probabilities, nats, above which two engines hold different weights; kernels
in bfloat16 differ by some 0.01."""


def _check_same_model(
    drawn: torch.Tensor, scored: samplers.Tokens, mask: torch.Tensor, model: Any
) -> None:
    assert scored.log_prob is not None
    difference = (drawn - scored.log_prob)[mask].abs().mean().item()
    if not difference <= SAME_MODEL:
        raise ValueError(
            f"vLLM's log-probabilities are {difference:.2g} nats per token off those of the model in "
            f"memory: save the model, and load it from that folder, not '{model.name_or_path}'"
        )


def _join(parts: list[dict[str, Any]], tokenizer: Any, temperature: float) -> SampledCompletions:
    """Stack batches, padded to the widest: prompts on the left, everything else on the right."""
    joined: dict[str, Any] = {}
    for name in parts[0]:
        columns = [part[name] for part in parts]
        if isinstance(columns[0], list):
            joined[name] = [item for column in columns for item in column]
            continue
        joined[name] = stacked(name, columns, pad_token=tokenizer.pad_token_id)
    return SampledCompletions(**joined, temperature=temperature)


def _check_padding(model: Any, encoded: Any) -> None:
    """Raise ValueError for a model that answers a padded prompt otherwise than the prompt alone."""
    lengths = encoded.attention_mask.sum(-1)
    # The others are told their tokens' positions.
    if "position_ids" in inspect.signature(model.forward).parameters or lengths.min() == lengths.max():
        return
    shortest = int(lengths.argmin())
    row = {name: encoded[name][shortest : shortest + 1].to(model.device)
           for name in ("input_ids", "attention_mask")}
    alone = {name: column[:, -int(lengths[shortest]) :] for name, column in row.items()}
    padded, whole = (model(**columns).logits[0, -1].float().log_softmax(-1) for columns in (row, alone))
    difference = (padded - whole).square().mean().sqrt().item()
    if difference > faults.rounding(model, "no"):
        raise ValueError(
            f"{type(model).__name__} counts positions from the padding on: beside a longer prompt its "
            f"log-probabilities are {difference:.2g} nats off. Sample prompts of one length at a time")


def check_room(model: Any, tokenizer: Any, prompts: list[str], max_new_tokens: int) -> None:
    """Raise ValueError for an empty prompt, or one too long for ``max_new_tokens`` more tokens.

    Beyond its last trained position a model would answer nonsense, or fail with an unclear error.
    """
    lengths = [len(ids) for ids in tokenizer(prompts).input_ids]
    if min(lengths) == 0:
        raise ValueError("an empty prompt has no tokens for this tokenizer: give some text")
    check_positions(model, max(lengths), max_new_tokens)


def check_positions(model: Any, longest: int, max_new_tokens: int) -> None:
    """Raise ValueError for a prompt of ``longest`` tokens that is too long for the model, as above."""
    limit = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if limit is not None and longest + max_new_tokens > limit:
        raise ValueError(
            f"a prompt of {longest} tokens and {max_new_tokens} new ones exceed the model's "
            f"{limit} positions: shorten the prompts or lower max_new_tokens"
        )
