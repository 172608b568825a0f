"""One forward pass of an optimizer step: its loss, and what records and audits read of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from entropy_theory import forecast
from entropy_theory.forecast import StateStatistics
from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import UpdateRule
from llm_bridge.head.token_statistics import TokenStatistics
from llm_bridge.objective import loss


@dataclass(frozen=True, kw_only=True, slots=True)
class MicroBatch:
    """The rows and results of one forward pass of the current optimizer step, without gradients."""

    inputs: dict[str, Any]
    """The rows as TRL's batch dictionary has them."""
    batch: TokenBatch
    statistics: StateStatistics
    scores: torch.Tensor
    state_terms: dict[str, torch.Tensor]


def loss_of(
    batch: TokenBatch, rule: UpdateRule, inputs: dict[str, Any], statistics: TokenStatistics,
) -> tuple[torch.Tensor, MicroBatch]:
    """Return the loss of a micro-batch, and what is kept of it.

    Args:
        batch: the prepared batch of the rows in ``inputs``; it is not prepared where no row of the
            generation can be used, which makes the loss's gradient zero.
        rule: the update rule.
        inputs: the columns of the rows, ``correction`` among them where there is one.
        statistics: the statistics of the forward pass.
    """
    if bool(inputs["usable_tokens"]):
        found = loss.objective(batch, rule)
        scores, state_terms = found.scores, found.state_terms
        value = loss.weighted_loss(found, batch, inputs.get("correction"))
    else:
        # Gradient 0, not none at all: other ranks average theirs with it.
        nothing = torch.ones_like(statistics.log_prob, dtype=torch.bool)
        value = statistics.log_prob.masked_fill(nothing, 0.0).sum()
        scores, state_terms = torch.zeros_like(statistics.log_prob), {}
    return value, MicroBatch(
        inputs=inputs, batch=loss.detached(batch), statistics=statistics.state,
        scores=scores.detach(), state_terms=state_terms,
    )


def router_share(trainer: Any) -> float:
    """Factor of a micro-batch's load-balancing loss. As in TRL that loss is a mean over the tokens
    of a micro-batch, averaged over the micro-batches of a step."""
    return trainer.router_aux_loss_coef / trainer.current_gradient_accumulation_steps


def contributions(part: MicroBatch) -> torch.Tensor | None:
    """Return forecast (i) of each token, nats per unit learning rate; None for a term without one."""
    if not set(part.state_terms) <= {"entropy", "clamped_entropy"}:
        return None
    found = forecast.token_contributions(
        part.batch, part.scores, part.state_terms, part.statistics
    )
    correction = part.inputs.get("correction")
    return found if correction is None else found * correction
