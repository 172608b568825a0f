"""A fused head: per-token statistics from hidden states and the LM head's weight.

Logits are worked out for a few tokens at a time, turned into a handful of numbers and forgotten; the
backward pass works them out again. Memory does not grow with tokens x vocabulary, and one pass gives
log-probability, entropy, AEnt's clamped entropy with its exact threshold, and what the entropy
forecast needs, all at one temperature, in float32 whatever the model's dtype (float64 for float64).

Departures from what others ship: entropy keeps its digits at collapse (`row_statistics`), gradients of
the weight are summed over chunks in float32, and log-probabilities never come from rounded logits.
On a GPU with Triton the rows are done by `kernels.row_statistics`, else by torch.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from llm_bridge.array_types import HeadBias, HeadWeight, Hidden, TokenColumns, TokenIds
from llm_bridge.head.row_kernels import rows_on
from llm_bridge.head.row_statistics import CLAMPED_COLUMNS, COLUMNS, Clamp, row_tangent
from llm_bridge.head.token_statistics import TokenStatistics, from_columns, mark_constants

CHUNK_ELEMENTS = {"cpu": 2**22, "cuda": 2**27}
"""The number of logits of a chunk: 16 MiB on a CPU, 512 MiB on a GPU, where products of fewer rows would
wait for the weight to be read."""
LEAST_ROWS = 16
"""The least number of rows of a chunk, for vocabularies above 262,144: fewer would wait on a CPU too."""


def per_token_statistics(
    hidden: Hidden,
    weight: HeadWeight,
    token_ids: TokenIds,
    temperature: float = 1.0,
    removed_fraction: float = 0.0,
    *,
    bias: HeadBias | None = None,
) -> TokenStatistics:
    """Compute statistics of the tokens taken under softmax((hidden weight^T + bias) / temperature).

    ``log_prob``, ``entropy`` and ``clamped_entropy`` carry gradients to hidden, weight and bias; all
    is at the given temperature.

    Args:
        hidden: [..., positions, features], the last hidden states.
        weight: [vocabulary, features], the LM head's weight.
        token_ids: integer [..., positions].
        temperature: above 0.
        removed_fraction: share of the vocabulary, by count, that the clamped entropy leaves out
            (`policy.kept_actions` says which); at 0 it is the entropy.
        bias: [vocabulary], the LM head's bias, if it has one.

    Returns:
        A record with a column [..., positions] for each statistic, nats.

    Raises:
        ValueError: shapes that do not fit, a temperature <= 0 or infinite, token ids outside the
            vocabulary, NaN or +inf logits, or a fraction that `policy.kept_actions` refuses.
    """
    columns = column_stack(
        hidden, weight, token_ids, temperature=temperature, removed_fraction=removed_fraction or None,
        bias=bias,
    )
    found = from_columns(list(columns.unbind(-1)))
    # With nothing removed the clamped entropy is the entropy.
    return found if removed_fraction else dataclasses.replace(found, clamped_entropy=found.entropy)


def column_stack(
    hidden: Hidden,
    weight: HeadWeight,
    token_ids: TokenIds,
    *,
    temperature: float = 1.0,
    removed_fraction: float | None = None,
    bias: HeadBias | None = None,
) -> TokenColumns:
    """Compute the statistics of `per_token_statistics` as one tensor [..., positions, columns].

    The columns are ``COLUMNS`` and, with a fraction, ``CLAMPED_COLUMNS``; without one no threshold is
    searched. Under autocast hidden and weight are rounded to its dtype; all else stays in float32.
    """
    _check(hidden, weight, token_ids, temperature, bias)
    shape = token_ids.shape
    kind = hidden.device.type
    narrow = None
    if torch.is_autocast_enabled(kind) and hidden.dtype != torch.float64:
        narrow = torch.get_autocast_dtype(kind)
    # Autocast would round the logits; its cast of both factors is done inside.
    with torch.autocast(kind, enabled=False):
        columns = _Head.apply(
            hidden.reshape(-1, hidden.shape[-1]), weight, bias, token_ids.reshape(-1), temperature,
            removed_fraction, narrow,
        )
    return torch.stack([column.reshape(shape) for column in columns], dim=-1)


def _check(
    hidden: torch.Tensor, weight: torch.Tensor, token_ids: torch.Tensor, temperature: float,
    bias: torch.Tensor | None,
) -> None:
    if weight.ndim != 2 or hidden.shape[-1] != weight.shape[-1]:
        raise ValueError(
            f"hidden {tuple(hidden.shape)} and weight {tuple(weight.shape)} do not fit: they are "
            "[..., positions, features] and [vocabulary, features]"
        )
    if hidden.shape[:-1] != token_ids.shape:
        raise ValueError(
            f"token_ids have shape {tuple(token_ids.shape)}, hidden has {tuple(hidden.shape)}: one "
            "token a position"
        )
    if bias is not None and bias.shape != weight.shape[:1]:
        raise ValueError(f"bias has shape {tuple(bias.shape)}, the vocabulary {weight.shape[0]}")
    if not 0 < temperature < float("inf"):
        raise ValueError(f"temperature must be above 0 and finite, got {temperature}")
    size = weight.shape[0]
    if token_ids.numel() and not bool(((token_ids >= 0) & (token_ids < size)).all()):
        raise ValueError(
            f"token ids go from {int(token_ids.min())} to {int(token_ids.max())}, the weight has "
            f"{size} rows: is this another model's tokenizer?"
        )


class _Head(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None,
        token_ids: torch.Tensor, temperature: float, removed_fraction: float | None,
        narrow: torch.dtype | None,
    ) -> Any:
        rows = rows_on(hidden.device)
        ctx.temperature, ctx.has_bias, ctx.narrow = temperature, bias is not None, narrow
        ctx.hidden_dtype = hidden.dtype
        hidden = hidden if narrow is None else hidden.to(narrow)
        given, weight = weight, weight if narrow is None else weight.to(narrow)
        parts, clamps = [], []
        for cut in _chunks(hidden, weight):
            logits = _logits(hidden[cut], weight, bias, temperature)
            columns, clamp = rows.row_statistics(logits, token_ids[cut], removed_fraction)
            del logits  # or two chunks were alive at the next one
            parts.append(columns)
            if clamp is not None:
                clamps.append(clamp)
        count = len(COLUMNS) + len(CLAMPED_COLUMNS) * (removed_fraction is not None)
        found = torch.cat(parts, dim=1) if parts else _wide(hidden).new_zeros(count, 0)
        kept = [torch.cat(column) for column in zip(*clamps, strict=True)]
        saved = (hidden, given, token_ids, *kept, *([] if bias is None else [bias]))
        ctx.save_for_backward(*saved)
        ctx.save_for_forward(*saved)
        # Forward-mode derivatives refuse results that are views.
        columns = tuple(column.clone() for column in found)
        mark_constants(ctx, columns)
        return columns

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        hidden, given, token_ids, *rest = ctx.saved_tensors
        weight = given if ctx.narrow is None else given.to(ctx.narrow)
        bias = rest.pop() if ctx.has_bias else None
        clamp = Clamp(*rest) if rest else None
        by_clamped = gradients[len(COLUMNS)] if clamp is not None else None
        rows = rows_on(hidden.device)
        needs_hidden, needs_weight, needs_bias = ctx.needs_input_grad[:3]
        by_hidden = torch.empty_like(hidden, dtype=ctx.hidden_dtype) if needs_hidden else None
        # Sums over chunks in the logits' precision: in bfloat16 later chunks would be rounded away.
        accumulated = _wide(hidden).dtype
        by_weight = torch.zeros_like(weight, dtype=accumulated) if needs_weight else None
        by_bias = weight.new_zeros(len(weight), dtype=accumulated) if needs_bias else None
        for cut in _chunks(hidden, weight):
            logits = _logits(hidden[cut], weight, bias, ctx.temperature)
            change = rows.row_gradient(
                logits, token_ids[cut], gradients[0][cut], gradients[1][cut],
                None if by_clamped is None else by_clamped[cut],
                None if clamp is None else Clamp(*(column[cut] for column in clamp)),
            )
            change /= ctx.temperature
            if by_bias is not None:
                by_bias += change.sum(0)
            change = change.to(hidden.dtype)
            if by_hidden is not None:
                by_hidden[cut] = change @ weight
            if by_weight is not None:
                _add_product(by_weight, change.T, hidden[cut])
            del logits, change
        return (
            by_hidden,
            None if by_weight is None else by_weight.to(given.dtype),
            by_bias if by_bias is None or bias is None else by_bias.to(bias.dtype),
            None, None, None, None,
        )


    @staticmethod
    def jvp(
        ctx: Any, by_hidden: torch.Tensor | None, by_weight: torch.Tensor | None,
        by_bias: torch.Tensor | None, *_: None,
    ) -> Any:
        hidden, given, token_ids, *rest = ctx.saved_tensors
        weight = given if ctx.narrow is None else given.to(ctx.narrow)
        bias = rest.pop() if ctx.has_bias else None
        clamp = Clamp(*rest) if rest else None
        parts = []
        for cut in _chunks(hidden, weight):
            logits = _logits(hidden[cut], weight, bias, ctx.temperature)
            change = torch.zeros_like(logits)
            if by_hidden is not None:
                change += _logits(by_hidden[cut].to(weight.dtype), weight, None, ctx.temperature)
            if by_weight is not None:
                change += _logits(hidden[cut], by_weight.to(weight.dtype), None, ctx.temperature)
            if by_bias is not None:
                change += by_bias / ctx.temperature
            parts.append(row_tangent(
                logits, token_ids[cut], change,
                None if clamp is None else Clamp(*(column[cut] for column in clamp))))
            del logits, change
        return _in_columns(parts, hidden, clamp)


def _in_columns(
    parts: list[list[torch.Tensor]], hidden: torch.Tensor, clamp: Clamp | None
) -> tuple[torch.Tensor | None, ...]:
    """Place the derivatives of chunks at the columns that have one; constants have none."""
    count = 2 if clamp is None else 3
    moved = ([torch.cat(column) for column in zip(*parts, strict=True)]
             if parts else list(_wide(hidden).new_zeros(count, 0)))
    rest = [None] * (len(COLUMNS) - 2)
    return (*moved[:2], *rest, *([] if clamp is None else [moved[2], None]))


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.new_empty(0, dtype=torch.float64 if tensor.dtype == torch.float64 else torch.float32)


def _logits(
    hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, temperature: float
) -> torch.Tensor:
    """Compute logits [rows, vocabulary] in float32 or float64, never rounded to half precision."""
    if hidden.dtype in (torch.float32, torch.float64):
        logits = hidden @ weight.T
    elif hidden.is_cuda:
        logits = torch.mm(hidden, weight.T, out_dtype=torch.float32)
    else:
        logits = hidden.new_empty(len(hidden), len(weight), dtype=torch.float32)
        size = max(1, CHUNK_ELEMENTS["cpu"] // weight.shape[-1])
        for start in range(0, len(weight), size):
            cut = slice(start, start + size)
            torch.mm(hidden.float(), weight[cut].float().T, out=logits[:, cut])
    if bias is not None:
        logits += bias.to(logits.dtype)
    if temperature != 1.0:
        logits /= temperature
    return logits


def _add_product(total: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> None:
    """Add left @ right to ``total``, summed in the total's dtype."""
    if total.dtype == left.dtype:
        total.addmm_(left, right)
    elif left.is_cuda:
        total += torch.mm(left, right, out_dtype=total.dtype)
    else:
        total.addmm_(left.to(total.dtype), right.to(total.dtype))


def _chunks(hidden: torch.Tensor, weight: torch.Tensor) -> list[slice]:
    elements = CHUNK_ELEMENTS["cuda" if hidden.is_cuda else "cpu"]
    size = max(LEAST_ROWS, elements // len(weight))
    return [slice(start, start + size) for start in range(0, len(hidden), size)]

