"""Turns an update rule into a loss: the one bridge between the theory's rules and autograd.

A rule moves the policy by sum_i weight_i (score_i grad log pi(a_i | s_i) + sum_k term_ik grad k_i).
The loss below has minus that as its gradient. Nothing else in this package computes a policy loss.
"""

from __future__ import annotations

import torch

from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import UpdateRule
from llm_bridge.trainer.batches import map_columns


def policy_loss(
    batch: TokenBatch, rule: UpdateRule, *, correction: torch.Tensor | None = None
) -> torch.Tensor:
    """Return minus the rule's objective, linearized, whose gradient is minus the rule's step.

    Sums, not means: ``weight`` alone normalizes, so the losses of micro-batches cut from one
    prepared batch add up to the loss of the whole.

    Args:
        batch: torch columns [sequences, positions]; ``log_prob`` and the columns that state terms
            name carry gradients, everything else is a constant. Prepared, unless it is whole.
        rule: gives each token's score and state terms.
        correction: [sequences, positions], a further constant factor on every token (how a
            sampler that is not quite the policy is corrected for); None is 1.

    Returns:
        Scalar, nats.

    Raises:
        ValueError: as `UpdateRule.prepare`; a state term whose column the batch lacks, or whose
            column carries no gradient although ``log_prob`` does.
    """
    constants = detached(batch)
    weight = constants.weight if correction is None else constants.weight * correction.detach()
    objective = _weighted_sum(weight * rule.scores(constants), batch.log_prob, batch.mask)
    for name, term in rule.state_terms(constants).items():
        column = getattr(batch, name, None)
        if column is None:
            raise ValueError(
                f"update rule '{rule.name}' moves '{name}', which this TokenBatch has no "
                "differentiable column for"
            )
        if batch.log_prob.requires_grad and not column.requires_grad:
            raise ValueError(
                f"update rule '{rule.name}' moves '{name}', but that column carries no gradient, so "
                "its coefficient would do nothing: compute it from the logits with gradients on"
            )
        objective = objective + _weighted_sum(weight * term, column, batch.mask)
    return -objective


def detached(batch: TokenBatch) -> TokenBatch:
    """Return ``batch`` with every column out of its gradient graph."""
    return map_columns(torch.Tensor.detach, batch)


def _weighted_sum(
    coefficients: torch.Tensor, values: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    # An action that is never taken has log-probability -inf and coefficient 0.
    counts = mask & (coefficients != 0)
    return torch.where(counts, coefficients * torch.where(counts, values, 0.0), 0.0).sum()


def clamped_fraction(rule: UpdateRule) -> float | None:
    """The share of the vocabulary that the rule's clamped entropy leaves out; None if it has none."""
    return rule.removed_fraction if "clamped_entropy" in rule.moved_state_functions else None
