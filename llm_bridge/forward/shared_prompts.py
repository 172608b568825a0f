"""A training forward pass that reads each prompt once for all the samples drawn from it.

GRPO's rows repeat every prompt as often as it was sampled, and a plain forward pass reads each copy.
Here the distinct prompts are read first; their keys and values, with their gradients, then stand as
the past of every sample. The result differs from the plain pass by rounding. (TRL reads the copies;
packing a group into one row under a mask of its own costs attention over all its samples.)
"""

from __future__ import annotations

import copy
from typing import Any

import torch
import transformers
from transformers.cache_utils import DynamicLayer

from llm_bridge.data.private_names import keeps_a_state

LARGEST_DIFFERENCE = {torch.float64: 1e-8, torch.float32: 1e-3}
"""The largest mean difference of log-probs between the two ways: rounding is far below it, and a wrong
position, mask or past changes them by tenths."""
LARGEST_DIFFERENCE_IN_16_BITS = 0.05
Places = torch.Tensor | slice
"""Rows by their numbers, or all of them."""
LEAST_SPARED = 1 / 8
"""The share of a batch's positions that a call more has to spare: a small model's layers take half as
long to call as to compute."""


def distinct(
    prompt_ids: torch.Tensor, prompt_mask: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Find the rows that hold the distinct prompts, and which of them each row has.

    Args:
        prompt_ids, prompt_mask: [rows, positions], padded on the left, or those of whole rows.

    Returns:
        ``first`` [prompts] and ``owner`` [rows]: row i has the prompt of row ``first[owner[i]]``.
    """
    keys = torch.cat([prompt_ids * prompt_mask, prompt_mask.to(prompt_ids.dtype)], dim=1)
    values, owner = torch.unique(keys, dim=0, return_inverse=True)
    rows = torch.arange(len(keys), device=keys.device)
    first = rows.new_full((len(values),), len(keys))
    return first.scatter_reduce(0, owner, rows, "amin"), owner


def past_of(prompts: transformers.DynamicCache, owner: torch.Tensor) -> transformers.DynamicCache:
    """Return the past of rows whose prompts are ``owner`` [rows] of those that were read."""
    past = copy.copy(prompts)
    past.layers = [copy.copy(layer) for layer in prompts.layers]
    for layer in past.layers:
        assert isinstance(layer, DynamicLayer), "caches that keep a state are not taken"
        if layer.keys is not None and layer.values is not None and layer.get_seq_length():
            # The layer's own selection, an index, has a backward pass of several times the cost.
            layer.keys = layer.keys.index_select(0, owner)
            layer.values = layer.values.index_select(0, owner)
    return past


def parts_by_length(mask: torch.Tensor, *, cuts: bool) -> list[tuple[Places, int]]:
    """Divide completions into short and long ones, where that spares many positions of padding.

    Args:
        mask: of the completions' tokens, [rows, positions], padded on the right.
        cuts: whether rows may be read in two calls.

    Returns:
        For each part its rows and its width, at least 2.
    """
    numbers = torch.arange(1, mask.shape[1] + 1, device=mask.device)
    length, places = (mask.long() * numbers).amax(1).sort()
    read = (length - 1).clamp(min=1)  # nothing follows the last token
    rows, longest = len(read), int(read[-1])
    count = torch.arange(1, rows, device=mask.device)
    if cuts and rows > 1:
        positions, best = (count * read[:-1] + (rows - count) * longest).min(0)
        if positions < (1 - LEAST_SPARED) * rows * longest:
            short, long = places.split([int(best) + 1, rows - int(best) - 1])
            return [(short, int(read[best]) + 1), (long, longest + 1)]
    return [(slice(None), longest + 1)]


def obstacle(model: Any) -> str | None:
    """Why a model cannot read its prompts once; None where nothing speaks against it."""
    if any(getattr(module, "gradient_checkpointing", False) for module in model.modules()):
        return "gradient checkpointing keeps no keys and values"
    if keeps_a_state(model):
        return "its past is a state, not keys and values"
    peft_config = getattr(model, "active_peft_config", None)
    if getattr(peft_config, "is_prompt_learning", False):
        return "its adapter takes the place of the past"
    layers = transformers.DynamicCache(config=model.config).layers
    if any(type(layer) is not DynamicLayer for layer in layers):
        return "not all of its layers attend to everything before"
    return None


class NoPastError(RuntimeError):
    """A model kept no past of its prompts: its completions would be read without them."""


def check_past(past: transformers.DynamicCache, length: int) -> None:
    """Raise NoPastError unless each layer's keys and values are those of ``length`` positions."""
    found = [past.get_seq_length(layer) for layer in range(len(past.layers))]
    if found != [length] * len(found):
        raise NoPastError(
            f"the model's layers keep the keys and values of {found} positions of its prompts, "
            f"not of {length}, so completions would be read without their prompts. Turn "
            "gradient_checkpointing off, or any other option that keeps the model from filling "
            "its cache while it trains"
        )


def agree(plain: torch.Tensor, shared: torch.Tensor, dtype: torch.dtype) -> bool:
    """Whether log-probs of the two ways differ by rounding alone.

    Args:
        plain, shared: [sequences, positions].
        dtype: of the model's parameters.
    """
    largest = LARGEST_DIFFERENCE.get(dtype, LARGEST_DIFFERENCE_IN_16_BITS)
    return bool((plain - shared).abs().mean() <= largest)
