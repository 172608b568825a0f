"""Turns an update rule into a loss: the one bridge between the theory's rules and autograd.

A rule moves the policy by sum_i weight_i (score_i grad log pi(a_i | s_i) + sum_k term_ik grad k_i).
The loss below has minus that as its gradient. Nothing else in this package computes a policy loss.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import UpdateRule
from llm_bridge.array_types import Loss, TokenTensor
from llm_bridge.objective.batches import map_columns


@dataclass(frozen=True, kw_only=True, slots=True)
class Objective:
    """The objective of a rule on a batch, linearized at the policy being trained."""

    scores: TokenTensor
    """The scores, constants of the gradient: [sequences, positions]."""
    state_terms: dict[str, TokenTensor]
    """Coefficients of state functions, [sequences, positions] each, constants of the gradient."""
    by_token: TokenTensor
    """The objective of every token before weights, score x log pi + sum_k term_k x k, nats: [sequences,
    positions]; 0 outside the mask."""


def objective(batch: TokenBatch, rule: UpdateRule) -> Objective:
    """Compute the rule's objective, token by token.

    Args:
        batch: torch columns [sequences, positions]; ``log_prob`` and the columns that state terms
            name carry gradients, everything else is a constant. It is prepared, unless it is whole.
        rule: the rule that gives each token's score and state terms.

    Raises:
        ValueError: as `UpdateRule.prepare`; a state term whose column the batch lacks, or whose
            column carries no gradient although ``log_prob`` does.
    """
    constants = detached(batch)
    scores, state_terms = rule.scores(constants), rule.state_terms(constants)
    # An action that is never taken has log-probability -inf and weight 0.
    counts = batch.mask & (constants.weight != 0)
    by_token = _product(scores, batch.log_prob, counts)
    state_functions = {"entropy": batch.entropy, "clamped_entropy": batch.clamped_entropy}
    for name, term in state_terms.items():
        column = state_functions.get(name)
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
        by_token = by_token + _product(term, column, counts)
    return Objective(scores=scores, state_terms=state_terms, by_token=by_token)


def weighted_loss(
    found: Objective, batch: TokenBatch, correction: TokenTensor | None = None
) -> Loss:
    """Minus the sum over tokens of weight x objective: a scalar, nats.

    It is a sum, not a mean: ``weight`` alone normalizes, so the losses of micro-batches cut from one
    prepared batch add up to the loss of the whole.

    Args:
        found: the result of `objective`.
        batch: the batch of that objective, which holds the weights.
        correction: [sequences, positions], a further constant factor on every token, which corrects
            for a sampler that differs from the policy. None is 1.
    """
    weight = batch.weight if correction is None else batch.weight * correction.detach()
    return -torch.where(batch.mask, weight * found.by_token, 0.0).sum()


def policy_loss(
    batch: TokenBatch, rule: UpdateRule, *, correction: TokenTensor | None = None
) -> Loss:
    """Minus the rule's objective, linearized: its gradient is minus the rule's step.

    Arguments, value and errors are those of `objective` and `weighted_loss`.
    """
    return weighted_loss(objective(batch, rule), batch, correction)


def detached(batch: TokenBatch) -> TokenBatch:
    """Return ``batch`` with every column out of its gradient graph."""
    return map_columns(torch.Tensor.detach, batch)


def clamped_fraction(rule: UpdateRule) -> float | None:
    """The share of the vocabulary that the rule's clamped entropy leaves out; None if it has none."""
    return rule.needs.removed_fraction if "clamped_entropy" in rule.needs.moves else None


def _product(coefficient: torch.Tensor, values: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """Multiply coefficient and values where both count; elsewhere even infinities have no gradient."""
    counts = counts & (coefficient != 0)
    return torch.where(counts, coefficient * torch.where(counts, values, 0.0), 0.0)
