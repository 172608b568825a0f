"""A fused head: per-token statistics from hidden states and the LM head's weight.

Logits are worked out for a few tokens at a time, turned into a handful of numbers and forgotten; the
backward pass works them out again. Memory does not grow with tokens x vocabulary. One pass gives
log-probability, entropy, AEnt's clamped entropy with its exact threshold, and the statistics for
the entropy forecast. All are at one temperature, in float32 whatever the model's dtype (float64 for
float64).

Departures from what others ship: entropy keeps its digits at collapse (`row_statistics`), gradients of
the weight are summed over chunks in float32, and log-probabilities never come from rounded logits.
On a GPU with Triton the rows are done by `kernels.row_statistics`, else by torch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch.autograd import forward_ad

from llm_bridge.array_types import HeadBias, HeadWeight, Hidden, TokenColumns, TokenIds, TokenMask
from llm_bridge.head.row_statistics import CLAMPED_COLUMNS, COLUMNS, Clamp, row_tangent
from llm_bridge.head.token_statistics import TokenStatistics, from_columns, on_device, rows_on

CHUNK_ELEMENTS = {"cpu": 2**22, "cuda": 2**27}
"""The number of logits of a chunk: 16 MiB on a CPU, 512 MiB on a GPU, where products of fewer rows would
wait for the weight to be read."""
PRODUCT_ELEMENTS = 2**24
"""The number of elements of a weight's gradient that are computed at once, before they are added
up. They take 64 MiB. The whole gradient of a vocabulary of 151,936 with 3,584 features takes 2
GiB."""
LEAST_ROWS = 16
"""The least number of rows of a chunk, for vocabularies above 262,144: fewer would wait on a CPU too."""


class LogitMap(NamedTuple):
    """A model's map from its head's product x to logits: cap tanh(scale x / cap), or scale x.

    Granite and Cohere scale; Gemma 2 and later cap.
    """

    scale: float = 1.0
    cap: float | None = None

    def at(self, temperature: float) -> tuple[float, float | None]:
        """Return (divisor, bound): logits / T are bound tanh(x / divisor), or x / divisor."""
        if self.cap is None:
            return temperature / self.scale, None
        return self.cap / self.scale, self.cap / temperature


PLAIN = LogitMap()
"""The map of a model whose logits are its head's product."""


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
            (see `policy.kept_actions`). At 0 it is the entropy.
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
    mask: TokenMask | None = None,
    logit_map: LogitMap = PLAIN,
) -> TokenColumns:
    """Compute the statistics of `per_token_statistics` as one tensor [..., positions, columns].

    The columns are ``COLUMNS`` and, with a fraction, ``CLAMPED_COLUMNS``; without one no threshold is
    searched. Where ``mask`` is False nothing is computed, and all columns are 0. Under autocast hidden
    and weight are rounded to its dtype; all else stays in float32. ``logit_map`` comes before the
    temperature.
    """
    _check(hidden, weight, token_ids, temperature, bias)
    kind = hidden.device.type
    if torch.is_autocast_enabled(kind) and hidden.dtype != torch.float64:
        # The weight is rounded inside, twice: between the passes its rounded copy would be kept.
        hidden = hidden.to(torch.get_autocast_dtype(kind))
    elif hidden.dtype != weight.dtype:
        raise ValueError(
            f"hidden is {hidden.dtype} and weight {weight.dtype}: put both into one dtype, or use "
            "autocast"
        )
    # What is kept is not the whole sequence, of which hidden may be the last positions.
    hidden = hidden.contiguous()
    divisor, bound = logit_map.at(temperature)
    if torch.compiler.is_compiling():
        return _columns(hidden, weight, bias, token_ids, mask, divisor, bound, removed_fraction)[0]
    # An operator has a backward pass, and no forward-mode derivative.
    (hidden, by_hidden), (weight, by_weight) = map(forward_ad.unpack_dual, (hidden, weight))
    bias, by_bias = (None, None) if bias is None else forward_ad.unpack_dual(bias)
    found, *clamp = _columns(hidden, weight, bias, token_ids, mask, divisor, bound, removed_fraction)
    changes = (by_hidden, by_weight, by_bias)
    if all(change is None for change in changes):
        return found
    return forward_ad.make_dual(found, _tangent(
        found, changes, hidden, weight, bias, token_ids, mask, Clamp(*clamp), divisor, bound))


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


def _check_ids(token_ids: torch.Tensor, size: int) -> None:
    if token_ids.numel() and not bool(((token_ids >= 0) & (token_ids < size)).all()):
        raise ValueError(
            f"token ids go from {int(token_ids.min())} to {int(token_ids.max())}, the weight has "
            f"{size} rows: is this another model's tokenizer?"
        )


@torch.library.custom_op("llm_bridge::head_columns", mutates_args=())
def _columns(
    hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, token_ids: torch.Tensor,
    mask: torch.Tensor | None, divisor: float, bound: float | None, removed_fraction: float | None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the columns [..., columns], and the clamp of each token, [...] each; empty without one."""
    # 0 where the mask leaves a token out.
    found, least, last = (tensor.zero_() for tensor in _empty_columns(
        hidden, weight, bias, token_ids, mask, divisor, bound, removed_fraction))
    rows, states = rows_on(hidden.device), hidden.flatten(0, -2)
    ids, columns = token_ids.flatten(), found.flatten(0, -2)
    # Autocast would round the logits.
    with on_device(hidden), torch.autocast(hidden.device.type, enabled=False):
        narrow = weight.to(hidden.dtype)
        for at in _chunks(ids, mask, len(weight)):
            _check_ids(ids[at], len(weight))
            logits = _logits(states[at], narrow, bias, divisor, bound)
            statistics, clamp = rows.row_statistics(logits, ids[at], removed_fraction)
            del logits  # or two chunks were alive at the next one
            columns[at] = statistics.T
            if clamp is not None:
                least.view(-1)[at], last.view(-1)[at] = clamp
    return found, least, last


@_columns.register_fake
def _empty_columns(
    hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, token_ids: torch.Tensor,
    mask: torch.Tensor | None, divisor: float, bound: float | None, removed_fraction: float | None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    shape = token_ids.shape
    count = len(COLUMNS) + len(CLAMPED_COLUMNS) * (removed_fraction is not None)
    clamped = shape if removed_fraction is not None else (0,)
    wide = _wide(hidden)
    return (
        hidden.new_empty(*shape, count, dtype=wide), hidden.new_empty(clamped, dtype=wide),
        token_ids.new_empty(clamped, dtype=torch.long),
    )


@torch.library.custom_op("llm_bridge::head_gradient", mutates_args=())
def _gradient(
    by_columns: torch.Tensor, hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None,
    token_ids: torch.Tensor, mask: torch.Tensor | None, least: torch.Tensor, last: torch.Tensor,
    divisor: float, bound: float | None, needs: Sequence[bool],
) -> list[torch.Tensor]:
    """Return the gradients by hidden, weight and bias, those that are needed."""
    clamped = by_columns.shape[-1] > len(COLUMNS)
    rows, states, factors = rows_on(hidden.device), hidden.flatten(0, -2), by_columns.flatten(0, -2)
    ids, clamp = token_ids.flatten(), Clamp(least.flatten(), last.flatten())
    needs_hidden, needs_weight, needs_bias = needs
    by_hidden = torch.zeros_like(hidden) if needs_hidden else None
    # Sums over chunks in the logits' precision: in bfloat16 later chunks would be rounded away.
    by_weight = torch.zeros_like(weight, dtype=_wide(hidden)) if needs_weight else None
    by_bias = weight.new_zeros(len(weight), dtype=_wide(hidden)) if needs_bias else None
    with on_device(hidden), torch.autocast(hidden.device.type, enabled=False):
        narrow = weight.to(hidden.dtype)
        for at in _chunks(ids, mask, len(weight)):
            logits = _logits(states[at], narrow, bias, divisor, bound)
            slope = _slope(logits, divisor, bound)
            change = rows.row_gradient(
                logits, ids[at], factors[at, 0], factors[at, 1],
                factors[at, len(COLUMNS)] if clamped else None,
                Clamp(*(column[at] for column in clamp)) if clamped else None,
            )
            change *= slope
            if by_bias is not None:
                by_bias += change.sum(0)
            change = change.to(hidden.dtype)
            if by_hidden is not None:
                by_hidden.flatten(0, -2)[at] = change @ narrow
            if by_weight is not None:
                _add_product(by_weight, change.T, states[at])
            del logits, change, slope
    found = [] if by_hidden is None else [by_hidden]
    found += [] if by_weight is None else [by_weight.to(weight.dtype)]
    return found + ([] if by_bias is None or bias is None else [by_bias.to(bias.dtype)])


@_gradient.register_fake
def _empty_gradient(
    by_columns: torch.Tensor, hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None,
    token_ids: torch.Tensor, mask: torch.Tensor | None, least: torch.Tensor, last: torch.Tensor,
    divisor: float, bound: float | None, needs: Sequence[bool],
) -> list[torch.Tensor]:
    return [torch.empty_like(tensor) for tensor, needed in zip((hidden, weight, bias), needs, strict=True)
            if tensor is not None and needed]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[torch.Tensor, ...]) -> None:
    *tensors, ctx.divisor, ctx.bound, _ = inputs
    ctx.save_for_backward(*tensors, *output[1:])
    ctx.mark_non_differentiable(*output[1:])


def _backward(ctx: Any, by_columns: torch.Tensor, *_: torch.Tensor) -> Any:
    needs = list(ctx.needs_input_grad[:3])
    found = iter(_gradient(by_columns, *ctx.saved_tensors, ctx.divisor, ctx.bound, needs))
    return *(next(found) if needed else None for needed in needs), None, None, None, None, None


_columns.register_autograd(_backward, setup_context=_keep)


@torch.no_grad()
def _tangent(
    found: torch.Tensor, changes: Sequence[torch.Tensor | None], hidden: torch.Tensor,
    weight: torch.Tensor, bias: torch.Tensor | None, token_ids: torch.Tensor,
    mask: torch.Tensor | None, clamp: Clamp, divisor: float, bound: float | None,
) -> torch.Tensor:
    """Return the derivatives of the columns along changes of hidden, weight and bias; 0 for constants."""
    moved = torch.zeros_like(found)
    by_hidden, by_weight, by_bias = changes
    states, ids, columns = hidden.flatten(0, -2), token_ids.flatten(), moved.flatten(0, -2)
    clamped = found.shape[-1] > len(COLUMNS)
    places = [0, 1, *([len(COLUMNS)] if clamped else [])]
    with on_device(hidden), torch.autocast(hidden.device.type, enabled=False):
        narrow = weight.to(hidden.dtype)
        for at in _chunks(ids, mask, len(weight)):
            logits = _logits(states[at], narrow, bias, divisor, bound)
            change = torch.zeros_like(logits)
            if by_hidden is not None:
                change += _logits(by_hidden.flatten(0, -2)[at], narrow)
            if by_weight is not None:
                change += _logits(states[at], by_weight.to(hidden.dtype))
            if by_bias is not None:
                change += by_bias
            change *= _slope(logits, divisor, bound)
            derivatives = row_tangent(
                logits, ids[at], change,
                Clamp(*(column.flatten()[at] for column in clamp)) if clamped else None)
            for place, derivative in zip(places, derivatives, strict=True):
                columns[at, place] = derivative
            del logits, change
    return moved


def _wide(tensor: torch.Tensor) -> torch.dtype:
    """Return the dtype of the logits."""
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def _logits(
    hidden: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, divisor: float = 1.0,
    bound: float | None = None,
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
    if divisor != 1.0:
        logits /= divisor
    if bound is not None:
        logits.tanh_().mul_(bound)
    return logits


def _slope(logits: torch.Tensor, divisor: float, bound: float | None) -> torch.Tensor | float:
    """Return the derivative of `_logits` by the product of hidden and weight."""
    if bound is None:
        return 1 / divisor
    return (logits / bound).square_().neg_().add_(1).mul_(bound / divisor)


def _add_product(total: torch.Tensor, left: torch.Tensor, right: torch.Tensor) -> None:
    """Add left @ right to ``total``, summed in the total's dtype."""
    if total.dtype == left.dtype:
        total.addmm_(left, right)
        return
    size = max(1, PRODUCT_ELEMENTS // total.shape[1])
    for start in range(0, len(total), size):
        cut = slice(start, start + size)
        if left.is_cuda:
            total[cut] += torch.mm(left[cut], right, out_dtype=total.dtype)
        else:
            total[cut].addmm_(left[cut].to(total.dtype), right.to(total.dtype))


def rows_of_chunk(device: str, vocabulary: int) -> int:
    """Return the number of tokens whose logits are in memory at once, on a "cpu" or on "cuda"."""
    return max(LEAST_ROWS, CHUNK_ELEMENTS["cuda" if device == "cuda" else "cpu"] // vocabulary)


def _chunks(
    token_ids: torch.Tensor, mask: torch.Tensor | None, vocabulary: int
) -> Iterator[slice | torch.Tensor]:
    """Return the places of each chunk's tokens, without those that the mask leaves out."""
    size = rows_of_chunk(token_ids.device.type, vocabulary)
    if mask is not None:
        yield from mask.flatten().nonzero()[:, 0].split(size)
        return
    for start in range(0, len(token_ids), size):
        yield slice(start, start + size)
