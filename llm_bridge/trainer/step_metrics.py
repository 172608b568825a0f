"""What a log says of an optimizer step, computed from all its rows."""

from __future__ import annotations

from typing import Any

import torch

from entropy_theory import advantages, forecast
from entropy_theory.token_batch import (
    TokenBatch,
    masked_sum,
    mean_entropy,
    mean_over_sequences,
    sequence_weight,
)
from entropy_theory.update_rules import UpdateRule
from entropy_theory.update_rules.selection import token_covariance

ALWAYS = (
    "reward", "entropy", "entropy_token_mean", "forecast_entropy_change", "distinct_answers",
    "tempered_positive_share", "groups_without_signal", "clipped_fraction", "mean_length",
    "usable_fraction", "best_reward", "covariance",
)
"""The metrics that every record has; a metric is None where a step has no row to measure it on."""


def step_metrics(
    batch: TokenBatch, rule: UpdateRule, learning_rate: float
) -> dict[str, float | None]:
    """Compute what metrics.jsonl says of an optimizer step, from all its rows.

    Reward and entropies are those of the ordinary rows, under the policy that the step started from
    (that of its first forward pass, with several steps a generation). The rule's own metrics follow,
    such as the share of tokens that it selected. ``usable_fraction`` is the share of the completions
    that take part; where it is 0 the step's gradient is zero, and nothing else is known of it.
    ``best_reward`` is the mean over prompts of the best reward among a prompt's samples: for rewards 0
    and 1, pass@G. ``covariance`` is that of log-probability and group-normalized advantage over tokens
    (Cui et al., Eq. 10), whatever the rule's own advantages are.

    Args:
        batch: the rows, with prepared columns "answer" and, if the rule has one, "forecast".
    """
    entropy: Any = batch.entropy
    rows = batch.is_ordinary
    if not bool(batch.mask.any()):
        return dict.fromkeys(ALWAYS) | {"usable_fraction": 0.0}
    if not bool(rows.any()):
        # A small step of a generation may hold rows of the second batch only.
        return dict.fromkeys(ALWAYS) | {k: float(v) for k, v in rule.metrics(batch).items()}
    weight = sequence_weight(batch, rows)
    tokens = masked_sum(torch.ones_like(entropy), rows)
    change = None
    if "forecast" in batch.prepared:
        length = rows.sum(-1, keepdim=True).clamp(min=1)
        measure = torch.where(rows, weight / weight.sum() / length, 0.0)
        change = learning_rate * float(
            forecast.mean_entropy_forecast(batch.state, batch.prepared["forecast"], measure)
        )
    own = {name: float(value) for name, value in rule.metrics(batch).items()}
    present = rows.any(-1)
    ordinary = len(present) if batch.tempered is None else int((~batch.tempered[:, 0]).sum())
    covariance = token_covariance(batch, batch.log_prob, advantages.group_normalized(batch, rows))
    found = {
        "reward": float((weight * batch.reward[:, :1]).sum() / weight.sum()),
        "entropy": float(mean_entropy(batch)),
        "entropy_token_mean": float(masked_sum(entropy, rows) / tokens),
        "forecast_entropy_change": change,
        **_of_prompts(batch, present),
        "tempered_positive_share": None,
        "groups_without_signal": float(advantages.equal_reward_groups(batch, rows)),
        "clipped_fraction": None,
        "mean_length": float(rows.sum() / present.sum()),
        "usable_fraction": float(present.sum()) / ordinary,
        "covariance": float(masked_sum(batch.weight * covariance, rows) / masked_sum(batch.weight, rows)),
    }
    if batch.clamped_entropy is not None:
        found["clamped_entropy"] = float(mean_over_sequences(batch, "clamped_entropy"))
    if batch.reference_log_prob is not None:
        surplus = batch.log_prob - batch.reference_log_prob
        found["reference_kl"] = float(masked_sum(surplus, rows) / tokens)
    return {**found, **own}


def _of_prompts(batch: TokenBatch, present: torch.Tensor) -> dict[str, float | None]:
    """Return metrics of prompts and their samples, of the rows that have tokens."""
    group: Any = batch.group
    group, answer = group[present, 0], batch.prepared["answer"][present, 0]
    pairs = torch.unique(torch.stack([group, answer]), dim=1).shape[1]
    prompts, place = torch.unique(group, return_inverse=True)
    reward: Any = batch.reward.expand(batch.mask.shape)[present, 0]
    best = reward.new_full((len(prompts),), -torch.inf).scatter_reduce(0, place, reward, "amax")
    return {"distinct_answers": pairs / len(prompts), "best_reward": float(best.mean())}
