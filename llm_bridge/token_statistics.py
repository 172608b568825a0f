"""Per-token statistics of a policy from its logits: log-probability, entropies, what forecasts need.

The log-probability and the entropies carry gradients. Rows are worked off in chunks and the backward
pass recomputes the softmax, so that beside the logits and their gradient no [tokens, vocabulary]
table is ever alive.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import torch

from entropy_theory import policy
from entropy_theory.forecast import StateStatistics, state_statistics

CHUNK_ELEMENTS = 2**22
"""Logits worked on at once."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class TokenStatistics:
    """Statistics of pi(. | s_t) at temperature 1, each [..., positions], nats."""

    log_prob: torch.Tensor
    """log pi(a_t | s_t); carries a gradient."""
    entropy: torch.Tensor
    """H(pi(. | s_t)) over the whole vocabulary; carries a gradient."""
    clamped_entropy: torch.Tensor | None
    """AEnt's clamped entropy, with a gradient that holds the kept tokens fixed; None unless asked."""
    state: StateStatistics
    """What the entropy forecast needs; without gradient."""


def from_logits(
    logits: torch.Tensor, token_ids: torch.Tensor, *, removed_fraction: float | None = None
) -> TokenStatistics:
    """Statistics of the tokens taken, in float32 (float64 for float64 logits).

    Args:
        logits: [..., positions, vocabulary], row t giving the distribution of token t.
        token_ids: integer [..., positions].
        removed_fraction: share of the vocabulary, by count, that the clamped entropy leaves out
            (`policy.kept_actions` says which); None: no clamped entropy.

    Raises:
        ValueError: NaN or +inf logits, or a fraction that `policy.kept_actions` refuses.
    """
    shape = token_ids.shape
    columns = _Statistics.apply(
        logits.reshape(-1, logits.shape[-1]), token_ids.reshape(-1), removed_fraction
    )
    log_prob, entropy, *rest = (column.reshape(shape) for column in columns)
    clamped_entropy, clamped_alignment = rest[3:] if removed_fraction is not None else (None, None)
    return TokenStatistics(
        log_prob=log_prob,
        entropy=entropy,
        clamped_entropy=clamped_entropy,
        state=StateStatistics(
            log_prob=log_prob.detach(),
            entropy=entropy.detach(),
            sum_squared_prob=rest[0],
            sum_squared_prob_log_prob=rest[1],
            sum_squared_prob_squared_log_prob=rest[2],
            clamped_alignment=clamped_alignment,
        ),
    )


def working_precision(logits: torch.Tensor) -> torch.Tensor:
    """``logits`` in float32, or as they are if they are wider."""
    return logits if logits.dtype == torch.float64 else logits.float()


class _Statistics(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, logits: torch.Tensor, token_ids: torch.Tensor, removed_fraction: float | None
    ) -> Any:
        parts, kept = [], []
        for rows, ids in _chunks(logits, token_ids):
            wide = working_precision(rows)
            state = state_statistics(policy.log_softmax(wide), ids)
            columns = [
                state.log_prob,
                policy.entropy(wide),
                state.sum_squared_prob,
                state.sum_squared_prob_log_prob,
                state.sum_squared_prob_squared_log_prob,
            ]
            if removed_fraction is not None:
                least, last = _least_kept(wide, removed_fraction)
                clamped = wide.masked_fill(~_is_kept(wide, least, last), -math.inf)
                tilts = policy.entropy_gradient(wide) * policy.entropy_gradient(clamped)
                columns += [policy.entropy(clamped), tilts.sum(-1)]
                kept.append((least, last))
            parts.append(torch.stack(columns))
        found = torch.cat(parts, dim=1).unbind()
        clamping = [torch.cat(column) for column in zip(*kept, strict=True)]
        ctx.save_for_backward(logits, token_ids, found[1], *clamping)
        ctx.mark_non_differentiable(*found[2:5], *found[6:])
        return found

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        logits, token_ids, entropy, *clamping = ctx.saved_tensors
        by_log_prob, by_entropy = gradients[:2]
        result = torch.empty_like(logits)
        start = 0
        for rows, ids in _chunks(logits, token_ids):
            cut = slice(start, start + len(rows))
            wide = working_precision(rows)
            log_prob = policy.log_softmax(wide)
            prob = log_prob.exp()
            # d log pi(a) / dz = e_a - pi;  dH / dz = -pi (log pi + H), 0 where pi is 0.
            tilt = torch.where(prob > 0, log_prob, 0.0) + entropy[cut, None]
            change = -prob * (by_log_prob[cut, None] + by_entropy[cut, None] * tilt)
            change.scatter_add_(1, ids[:, None], by_log_prob[cut, None])
            if clamping:
                kept = _is_kept(wide, *(column[cut] for column in clamping))
                clamped = wide.masked_fill(~kept, -math.inf)
                change += gradients[5][cut, None] * policy.entropy_gradient(clamped)
            result[cut] = change.to(result.dtype)
            start = cut.stop
        return result, None, None


def _least_kept(
    logits: torch.Tensor, removed_fraction: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """The smallest logit that `policy.kept_actions` keeps, and the last index kept at that value.

    [tokens] each: a selection, where ranking a vocabulary of 150,000 would sort it twice.
    """
    size = logits.shape[-1]
    # The one place that says how many are kept, and which fractions are valid.
    count = int(policy.kept_actions(logits.new_zeros(size), removed_fraction).sum())
    least = logits.kthvalue(size - count + 1, dim=-1).values
    ties = logits == least[:, None]
    places = count - (logits > least[:, None]).sum(-1)
    last = torch.full_like(places, size - 1)
    # Few rows, if any, have more logits at this value than places for them.
    crowded = ties.sum(-1) > places
    ties, places = ties[crowded], places[crowded, None]
    last[crowded] = (ties & (ties.cumsum(-1) == places)).int().argmax(-1)
    return least, last


def _is_kept(logits: torch.Tensor, least: torch.Tensor, last: torch.Tensor) -> torch.Tensor:
    index = torch.arange(logits.shape[-1], device=logits.device)
    above = logits > least[:, None]
    return above | ((logits == least[:, None]) & (index <= last[:, None]))


def _chunks(logits: torch.Tensor, token_ids: torch.Tensor) -> Any:
    size = max(1, CHUNK_ELEMENTS // logits.shape[-1])
    return zip(logits.split(size), token_ids.split(size), strict=True)
