"""Per-token statistics of a policy from its logits: log-probability, entropy, what forecasts need.

The log-probability and the entropy carry gradients. Rows are worked off in chunks and the backward
pass recomputes the softmax, so that beside the logits and their gradient no [tokens, vocabulary]
table is ever alive.
"""

from __future__ import annotations

import dataclasses
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
    state: StateStatistics
    """What the entropy forecast needs; without gradient."""


def from_logits(logits: torch.Tensor, token_ids: torch.Tensor) -> TokenStatistics:
    """Statistics of the tokens taken, in float32 (float64 for float64 logits).

    Args:
        logits: [..., positions, vocabulary], row t giving the distribution of token t.
        token_ids: integer [..., positions].

    Raises:
        ValueError: NaN or +inf logits.
    """
    shape = token_ids.shape
    columns = _Statistics.apply(logits.reshape(-1, logits.shape[-1]), token_ids.reshape(-1))
    log_prob, entropy, *sums = (column.reshape(shape) for column in columns)
    return TokenStatistics(
        log_prob=log_prob,
        entropy=entropy,
        state=StateStatistics(
            log_prob=log_prob.detach(),
            entropy=entropy.detach(),
            sum_squared_prob=sums[0],
            sum_squared_prob_log_prob=sums[1],
            sum_squared_prob_squared_log_prob=sums[2],
        ),
    )


def working_precision(logits: torch.Tensor) -> torch.Tensor:
    """``logits`` in float32, or as they are if they are wider."""
    return logits if logits.dtype == torch.float64 else logits.float()


class _Statistics(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, token_ids: torch.Tensor) -> Any:
        parts = []
        for rows, ids in _chunks(logits, token_ids):
            wide = working_precision(rows)
            state = state_statistics(policy.log_softmax(wide), ids)
            parts.append(torch.stack([
                state.log_prob,
                policy.entropy(wide),
                state.sum_squared_prob,
                state.sum_squared_prob_log_prob,
                state.sum_squared_prob_squared_log_prob,
            ]))
        columns = torch.cat(parts, dim=1).unbind()
        ctx.save_for_backward(logits, token_ids, columns[1])
        ctx.mark_non_differentiable(*columns[2:])
        return columns

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        logits, token_ids, entropy = ctx.saved_tensors
        by_log_prob, by_entropy = gradients[:2]
        result = torch.empty_like(logits)
        start = 0
        for rows, ids in _chunks(logits, token_ids):
            cut = slice(start, start + len(rows))
            log_prob = policy.log_softmax(working_precision(rows))
            prob = log_prob.exp()
            # d log pi(a) / dz = e_a - pi;  dH / dz = -pi (log pi + H), 0 where pi is 0.
            tilt = torch.where(prob > 0, log_prob, 0.0) + entropy[cut, None]
            change = -prob * (by_log_prob[cut, None] + by_entropy[cut, None] * tilt)
            change.scatter_add_(1, ids[:, None], by_log_prob[cut, None])
            result[cut] = change.to(result.dtype)
            start = cut.stop
        return result, None


def _chunks(logits: torch.Tensor, token_ids: torch.Tensor) -> Any:
    size = max(1, CHUNK_ELEMENTS // logits.shape[-1])
    return zip(logits.split(size), token_ids.split(size), strict=True)
