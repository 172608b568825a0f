"""A training forward pass that reads each prompt once for all the samples drawn from it.

GRPO's rows repeat every prompt as often as it was sampled, and a plain forward pass reads each copy.
Here the distinct prompts are read first; their keys and values, with their gradients, then stand as
the past of every sample. What comes out differs from the plain pass by rounding. (TRL reads the copies;
packing a group into one row under a mask of its own costs attention over all its samples.)
"""

from __future__ import annotations

from typing import Any

import torch
import transformers
from transformers.cache_utils import DynamicLayer

from llm_bridge.data.private_names import keeps_a_state

LARGEST_DIFFERENCE = {torch.float64: 1e-8, torch.float32: 1e-3}
"""The largest mean difference of log-probs between the two ways: rounding is far below it, and a wrong
position, mask or past changes them by tenths."""
LARGEST_DIFFERENCE_IN_16_BITS = 0.05


def distinct(
    prompt_ids: torch.Tensor, prompt_mask: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Find the rows that hold the distinct prompts, and which of them each row has.

    Args:
        prompt_ids, prompt_mask: [rows, positions], padded on the left.

    Returns:
        ``first`` [prompts] and ``owner`` [rows]: row i has the prompt of row ``first[owner[i]]``.
    """
    keys = torch.cat([prompt_ids * prompt_mask, prompt_mask.to(prompt_ids.dtype)], dim=1)
    values, owner = torch.unique(keys, dim=0, return_inverse=True)
    rows = torch.arange(len(keys), device=keys.device)
    first = rows.new_full((len(values),), len(keys))
    return first.scatter_reduce(0, owner, rows, "amin"), owner


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
            f"the model was to keep the keys and values of its prompts' {length} positions, and its "
            f"layers kept those of {found}: completions would be read without their prompts. Turn "
            "gradient_checkpointing off, or whatever else keeps the model from filling its cache "
            "while it trains"
        )


def agree(plain: torch.Tensor, shared: torch.Tensor, dtype: torch.dtype) -> bool:
    """Whether log-probs of the two ways differ by rounding alone.

    Args:
        plain, shared: [sequences, positions].
        dtype: of the model's parameters.
    """
    largest = LARGEST_DIFFERENCE.get(dtype, LARGEST_DIFFERENCE_IN_16_BITS)
    return bool((plain - shared).abs().mean() <= largest)
