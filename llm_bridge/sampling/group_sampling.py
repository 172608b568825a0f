"""Samples whole groups: what samples have in common is read once, and finished ones are dropped.

It draws from the same distribution as Hugging Face generate, in less time. That function reads a
prompt again for every sample, keeps a row until the last of the batch has ended, and prepares each
token's inputs anew. Samples that begin alike, as those of a collapsed policy do, are one row here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
import transformers
from torch.nn.utils.rnn import pad_sequence

from llm_bridge.data.models import cache_argument
from llm_bridge.data.private_names import keeps_a_state


def sample_groups(
    model: Any, prompts: Sequence[Sequence[int]], *, stop_ids: Sequence[int], max_new_tokens: int,
    temperature: float = 1.0, log_prob: list[list[float]] | None = None,
) -> list[list[int]] | None:
    """Draw one completion for each prompt from softmax(logits / temperature), token by token.

    Args:
        model: a causal language model, not wrapped by data parallelism.
        prompts: token ids; equal ones that follow one another are one group.
        stop_ids: tokens that end a completion, and are its last.
        max_new_tokens: largest number of tokens of a completion.
        temperature: finite and above 0.
        log_prob: a list to which the log-probabilities of each completion's tokens are added.

    Returns:
        Token ids of each completion; None for a model that keeps no cache of keys and values, from
        which nothing was drawn.
    """
    if keeps_a_state(model):
        return None
    device = model.device
    distinct = [(ids, len(list(same))) for ids, same in itertools.groupby(map(tuple, prompts))]
    tokens, mask = (
        pad_sequence(list(map(torch.tensor, rows)), batch_first=True, padding_side="left").to(device)
        for rows in ([ids for ids, _ in distinct], [[1] * len(ids) for ids, _ in distinct]))
    cache = transformers.DynamicCache(config=model.config)
    with torch.no_grad():
        logits = _next_logits(model, tokens, mask, cache)
        if cache.get_seq_length() != tokens.shape[1]:
            return None
        owner = torch.repeat_interleave(torch.tensor([count for _, count in distinct], device=device))
        found = torch.zeros(len(owner), max_new_tokens, dtype=torch.long, device=device)
        likely = torch.zeros(found.shape, device=device)
        length = torch.full((len(owner),), max_new_tokens, device=device)
        row = torch.arange(len(owner), device=device)  # of each completion still alive
        stops = torch.tensor(list(stop_ids), device=device)
        for place in range(max_new_tokens):
            prob = (logits.float() / temperature).softmax(-1)[owner]
            drawn = torch.multinomial(prob, num_samples=1)
            found[row, place] = drawn[:, 0]
            if log_prob is not None:
                likely[row, place] = prob.gather(1, drawn)[:, 0].log()
            ends = torch.isin(drawn[:, 0], stops)
            length[row[ends]] = place + 1
            row, owner, drawn = row[~ends], owner[~ends], drawn[~ends, 0]
            if not len(row) or place + 1 == max_new_tokens:
                break
            # Equal prefixes are one row from here on.
            prefix, owner = torch.unique(owner * prob.shape[1] + drawn, return_inverse=True)
            parent, drawn = prefix // prob.shape[1], prefix % prob.shape[1]
            if len(parent) != len(mask) or bool((parent.diff() != 1).any()):
                cache.batch_select_indices(parent)
            mask = torch.cat([mask[parent], mask.new_ones(len(parent), 1)], dim=1)
            logits = _next_logits(model, drawn[:, None], mask, cache)
    if log_prob is not None:
        log_prob += _cut(likely, length)
    return _cut(found, length)


def _cut(rows: torch.Tensor, length: torch.Tensor) -> list[list[Any]]:
    return [row[:count] for row, count in zip(rows.tolist(), length.tolist(), strict=True)]


def _next_logits(
    model: Any, tokens: torch.Tensor, mask: torch.Tensor, cache: transformers.Cache
) -> torch.Tensor:
    """Return logits [rows, vocabulary] of the token after ``tokens``, which are added to the cache."""
    positions = (mask.cumsum(-1) - 1).clamp(min=0)[:, -tokens.shape[1] :]
    output = model(
        input_ids=tokens, attention_mask=mask, position_ids=positions, use_cache=True,
        logits_to_keep=1, **cache_argument(model, cache),
    )
    return output.logits[:, -1]
