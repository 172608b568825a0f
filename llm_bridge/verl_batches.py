"""Batches of verl and SkyRL as update rules read them, and the objective of a micro-batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import UpdateRule
from llm_bridge.head.token_statistics import from_logits
from llm_bridge.objective.batches import prefix_states
from llm_bridge.objective.loss import clamped_fraction, detached, objective
from llm_bridge.verl_rules import PREFIX, WORKER

OF_ANSWERS = ("groups_without_signal", "right_answer_spread", "prompt_shortfall", "tempered_sequences",
              "tempered_positive_share")
"""The metrics of rules that are statistics of sequences and not of tokens."""


def token_batch(
    old_log_prob: torch.Tensor, log_prob: torch.Tensor, advantages: torch.Tensor,
    response_mask: torch.Tensor, *, coefficient: float | None = None, step: int = 0, seed: int,
    **further: Any,
) -> TokenBatch:
    """Return verl's columns [sequences, positions] as update rules read them.

    The run's seed is ``actor.data_loader_seed``, the only one that verl shows to a worker. Further
    columns have the names of a TokenBatch's. Without ``reward`` that of a sequence is not known, and its
    place is taken by the advantage, for rules that read none.
    """
    mask, tempered = response_mask.bool(), further.get("tempered")
    tokens = mask.sum() if tempered is None else torch.where(
        tempered, (mask & tempered).sum(), (mask & ~tempered).sum())
    weight = mask.to(log_prob.dtype) / tokens.clamp(min=1)
    advantages = advantages.expand(log_prob.shape).to(log_prob.dtype)
    return TokenBatch(
        log_prob=log_prob, old_log_prob=old_log_prob.detach(), advantage=advantages,
        mask=mask, weight=weight, step=step, seed=seed,
        coefficient=None if coefficient is None else torch.full_like(weight, coefficient),
        **{"reward": advantages, **further},
    )


def sequence_ids(old_log_prob: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Return an id of each sequence, [sequences, 1]: the same in any order, on any rank, in any cut.

    It comes from the old log-probabilities.
    """
    bits = old_log_prob.detach().double().contiguous().view(torch.int64)
    return prefix_states(bits, mask)[:, -1:]


def prepared_columns(batch: TokenBatch, rule: UpdateRule) -> Mapping[str, torch.Tensor]:
    """Return the rule's whole-batch columns, of the policy that sampled or, if asked, the current."""
    constants = detached(batch)
    if not rule.needs.every_step:
        constants = constants.replace(log_prob=constants.old_log_prob)
    return rule.prepare(constants).prepared


def objective_and_metrics(
    batch: TokenBatch, rule: UpdateRule
) -> tuple[torch.Tensor, dict[str, float]]:
    """Return a micro-batch's objective by token, for an engine to sum up, and what a log should show.

    Its gradient is the rule's, its value the score: what the losses of engines show. A micro-batch
    without a token, as dynamic micro-batches and rejected samples leave, has objective 0 and metrics 0.

    Returns:
        [sequences, positions], 0 outside the mask, nats; and metrics by name.
    """
    seen, empty = detached(batch), not bool(batch.mask.any())
    if empty:
        seen = seen.replace(mask=torch.ones_like(batch.mask))
    if not batch.prepared:
        prepared = rule.prepare(seen).prepared
        batch, seen = batch.with_prepared(**prepared), seen.with_prepared(**prepared)
    found = objective(batch, rule)
    counts = batch.mask & (found.scores != 0)
    # The value of score x log pi is made that of the score.
    shift = found.scores * (1 - torch.where(counts, batch.log_prob.detach(), 1.0))
    change = torch.where(batch.mask, seen.old_log_prob - seen.log_prob, 0.0)
    shown = {"ppo_kl": change.sum() / batch.mask.sum().clamp(min=1), **rule.metrics(seen)}
    return found.by_token + shift, {
        name: 0.0 if empty else float(value) for name, value in shown.items()
        if not is_of_answers(name)}


def is_of_answers(metric: str) -> bool:
    """Whether a metric compares sequences, so that micro-batches' values do not add up to the
    batch's."""
    return metric.rpartition(".")[2] in OF_ANSWERS


def shown_clamped_entropy(model_output: Any, data: Any, rule: UpdateRule) -> torch.Tensor:
    """Return the clamped entropy of a micro-batch's response tokens, [sequences, positions].

    Raises ValueError where verl's engine has called nobody with its logits.
    """
    from verl.workers.utils.padding import no_padding_2_padding

    if "clamped_entropy" not in model_output:
        raise ValueError(
            f"'{PREFIX}{rule.name}' needs the clamped entropy, but verl's engine passed no "
            f"logits: set actor_rollout_ref.model.use_fused_kernels=false and {WORKER}"
        )
    return no_padding_2_padding(model_output["clamped_entropy"], data)


def clamped_entropy_of(logits: torch.Tensor, data: Any, rule: UpdateRule) -> torch.Tensor:
    """Return the clamped entropy, [1, tokens], of logits [1, tokens, vocabulary] that verl hands over."""
    from verl.utils import tensordict_utils

    if not tensordict_utils.get(data, key="use_remove_padding", default=True):
        # verl's log-probabilities then write their gradient over the logits.
        logits = logits.clone()
    ids = torch.zeros(logits.shape[:-1], dtype=torch.int64, device=logits.device)
    found = from_logits(logits, ids, removed_fraction=clamped_fraction(rule)).clamped_entropy
    assert found is not None
    return found


def of_all_ranks(own: Any, group: Any) -> tuple[list[Any], int]:
    """Return what every rank of a group brought, in order of the ranks, and the number of this rank.

    Args:
        own: what this rank brings, an object that can be pickled.
        group: process group; None for one rank.
    """
    if group is None or torch.distributed.get_world_size(group) == 1:
        return [own], 0
    world = [None] * torch.distributed.get_world_size(group)
    torch.distributed.all_gather_object(world, own, group=group)
    return world, torch.distributed.get_rank(group)
