"""Per-token statistics of a policy: log-probability, entropies, and what forecasts need.

`from_logits` computes them from logits, `head.per_token_statistics` from hidden states, without logits.
The log-probability and the entropies carry gradients. The backward pass recomputes the softmax, so that
no [tokens, vocabulary] table is alive except the logits and their gradient.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch

from entropy_theory.forecast import StateStatistics
from llm_bridge.array_types import PerToken, TokenIds, TokenLogits
from llm_bridge.head import row_statistics
from llm_bridge.head.row_statistics import CLAMPED_COLUMNS, COLUMNS, Clamp, row_tangent

CHUNK_ELEMENTS = 2**22
"""The number of logits that are processed at once."""
DIFFERENTIABLE = ("log_prob", "entropy", "clamped_entropy")


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TokenStatistics:
    """Statistics of pi(. | s_t), each [..., positions], nats; the first three carry gradients."""

    log_prob: PerToken
    """log pi(a_t | s_t); carries a gradient."""
    entropy: PerToken
    """H(pi(. | s_t)) over the whole vocabulary; carries a gradient."""
    clamped_entropy: PerToken | None
    """AEnt's clamped entropy, with a gradient that holds the kept tokens fixed; None unless asked."""
    sum_squared_prob: PerToken
    r""":math:`\sum_a \pi_a^2`."""
    sum_squared_prob_log_prob: PerToken
    r""":math:`\sum_a \pi_a^2 \log \pi_a`."""
    sum_squared_prob_squared_log_prob: PerToken
    r""":math:`\sum_a \pi_a^2 (\log \pi_a)^2`."""
    log_prob_variance: PerToken
    """Var_pi(log pi), the varentropy."""
    clamped_alignment: PerToken | None = None
    """Inner product of the gradients of both entropies by the logits; None unless asked."""

    def map(self, function: Callable[[PerToken], PerToken]) -> TokenStatistics:
        """Return the record whose columns are ``function`` of these."""
        columns = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return dataclasses.replace(self, **{
            name: function(column) for name, column in columns.items() if column is not None})

    @property
    def state(self) -> StateStatistics:
        """Return the statistics that the entropy forecast needs, without gradients."""
        names = [field.name for field in dataclasses.fields(StateStatistics)]
        columns = {name: getattr(self, name) for name in names}
        return StateStatistics(
            **{name: None if c is None else c.detach() for name, c in columns.items()}
        )


def from_logits(
    logits: TokenLogits, token_ids: TokenIds, *, removed_fraction: float | None = None
) -> TokenStatistics:
    """Compute the statistics of the tokens taken, in float32 (float64 for float64 logits).

    Args:
        logits: [..., positions, vocabulary], row t giving the distribution of token t.
        token_ids: integer [..., positions].
        removed_fraction: share of the vocabulary, by count, that the clamped entropy leaves out
            (see `policy.kept_actions`). None: no clamped entropy.

    Raises:
        ValueError: NaN or +inf logits, or a fraction that `policy.kept_actions` refuses.
    """
    columns = _Statistics.apply(
        logits.reshape(-1, logits.shape[-1]), token_ids.reshape(-1), removed_fraction
    )
    return from_columns([column.reshape(token_ids.shape) for column in columns])


def from_columns(columns: list[PerToken]) -> TokenStatistics:
    """Make the record from its columns: ``COLUMNS`` and, if given, ``CLAMPED_COLUMNS``, in order."""
    found: dict[str, Any] = dict(zip(COLUMNS + CLAMPED_COLUMNS, columns, strict=False))
    found.setdefault("clamped_entropy", None)
    return TokenStatistics(**found)


def joined(
    parts: Sequence[TokenStatistics], places: Sequence[Any], width: int
) -> TokenStatistics:
    """Put rows together that were divided, their columns filled up with zeros to [rows, width].

    Args:
        parts: statistics [rows of the part, positions].
        places: the numbers of each part's rows in the whole; a slice, if there is one part, of all.
    """
    back = torch.argsort(torch.cat([*places])) if len(parts) > 1 else slice(None)

    def join(name: str) -> Any:
        columns = [getattr(part, name) for part in parts]
        return None if columns[0] is None else torch.cat([
            torch.nn.functional.pad(column, (0, width - column.shape[-1])) for column in columns])[back]

    return TokenStatistics(**{each.name: join(each.name) for each in dataclasses.fields(TokenStatistics)})


def working_precision(logits: torch.Tensor) -> torch.Tensor:
    """Return ``logits`` in float32, or as they are if they are wider."""
    return logits if logits.dtype == torch.float64 else logits.float()


class _Statistics(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: torch.Tensor, token_ids: torch.Tensor, removed_fraction: float | None
    ) -> Any:
        rows = rows_on(logits.device)
        parts, clamps = [], []
        for chunk, ids in _chunks(logits, token_ids):
            with on_device(logits):
                columns, clamp = rows.row_statistics(working_precision(chunk), ids, removed_fraction)
            parts.append(columns)
            clamps += [] if clamp is None else [clamp]
        kept = [torch.cat(column) for column in zip(*clamps, strict=True)]
        ctx.save_for_backward(logits, token_ids, *kept)
        ctx.save_for_forward(logits, token_ids, *kept)
        # Forward-mode derivatives refuse results that are views.
        columns = tuple(column.clone() for column in torch.cat(parts, dim=1))
        named = zip(COLUMNS + CLAMPED_COLUMNS, columns, strict=False)
        ctx.mark_non_differentiable(*(c for name, c in named if name not in DIFFERENTIABLE))
        return columns

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        logits, token_ids, *kept = ctx.saved_tensors
        rows = rows_on(logits.device)
        factors = [gradients[0], gradients[1]]
        if kept:
            factors += [gradients[len(COLUMNS)], *kept]
        result = torch.empty_like(logits)
        start = 0
        for chunk, ids, *factor in _chunks(logits, token_ids, *factors):
            clamping = (factor[2], Clamp(*factor[3:])) if kept else ()
            # A copy in the working precision, which the gradient overwrites.
            wide = chunk.to(working_precision(chunk).dtype, copy=True)
            with on_device(logits):
                gradient = rows.row_gradient(wide, ids, *factor[:2], *clamping)
            result[start : start + len(chunk)] = gradient.to(result.dtype)
            start += len(chunk)
        return result, None, None

    @staticmethod
    def jvp(ctx: Any, change: torch.Tensor, *_: None) -> Any:
        logits, token_ids, *kept = ctx.saved_tensors
        parts = [
            row_tangent(working_precision(chunk), ids, working_precision(moved),
                        Clamp(*clamp) if clamp else None)
            for chunk, ids, moved, *clamp in _chunks(logits, token_ids, change, *kept)
        ]
        columns = [torch.cat(column) for column in zip(*parts, strict=True)]
        rest = [None] * (len(COLUMNS) - 2)
        return (*columns[:2], *rest, *([columns[2], None] if kept else []))


def _chunks(logits: torch.Tensor, *columns: torch.Tensor) -> Any:
    size = max(1, CHUNK_ELEMENTS // logits.shape[-1])
    return zip(logits.split(size), *(column.split(size) for column in columns), strict=True)


def rows_on(device: torch.device) -> ModuleType:
    """Return the module whose `row_statistics` and `row_gradient` serve this device."""
    if device.type == "cuda" and has_triton():
        from llm_bridge.head import triton_rows

        return triton_rows
    return row_statistics


def on_device(tensor: torch.Tensor) -> contextlib.AbstractContextManager[Any]:
    """Make a tensor's GPU the current one: Triton and CUDA graphs run on that, wherever tensors are."""
    return torch.cuda.device(tensor.device) if tensor.is_cuda else contextlib.nullcontext()


@functools.cache
def has_triton() -> bool:
    """Whether Triton is installed."""
    try:
        import triton  # noqa: F401
    except ImportError:
        return False
    return True
