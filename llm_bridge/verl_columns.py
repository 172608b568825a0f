"""Columns that a rule computes from verl's batches before they are cut.

- `add_batch_columns` adds a batch's columns: reward, prompt, target and kind of its sequences, and
  prepared columns that compare answers to a prompt, which verl's mini-batches may separate.
- `add_columns` adds a mini-batch's, of all ranks: the other columns that rules prepare.

Columns travel with verl's batch: those of a `TokenBatch`, [sequences, 1], under COLUMN, and prepared
ones, [sequences, positions], under PREPARED.
"""

from __future__ import annotations

import functools
import hashlib
import logging
from typing import Any

import torch

from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import UpdateRule
from entropy_theory.update_rules.bonus import tells_prompts_apart
from llm_bridge.objective.loss import clamped_fraction
from llm_bridge.trainer.columns import OFFSET, target_offsets
from llm_bridge.verl_batches import (
    is_of_answers,
    of_all_ranks,
    prepared_columns,
    sequence_ids,
    token_batch,
)
from llm_bridge.verl_rules import (
    COEFFICIENT,
    PREFIX,
    STEP,
    TEMPERATURE,
    TEMPERED,
    TRAINER,
    check_actor,
    compares_answers,
    known_coefficient,
    known_step,
    needs_whole_batch,
    rule_of,
)

COLUMN, PREPARED = PREFIX + "column/", PREFIX + "prepared/"
KINDS = PREFIX + "tokens_of_kind"
"""The key, in a mini-batch, of the numbers of ordinary and of tempered tokens on all ranks."""


def add_batch_columns(
    data: Any, config: Any, *, step: int | None, group: Any = None
) -> dict[str, float]:
    """Add what a rule reads of whole sequences to a batch, before it is cut into mini-batches.

    Args:
        data: this rank's part of a batch of verl's trainer.
        config: the actor's configuration.
        step: as `add_columns`.
        group: data-parallel process group; None for one rank.

    Returns:
        Metrics of the batch of all ranks, which no part of it has; nats or shares.

    Raises:
        ValueError: a trainer that does not put rewards, prompts or a second batch into the batch, where
            the rule reads them; a target offset that is not a number.
    """
    rule, present = rule_of(config.policy_loss), names_of(data)
    if {"rm_scores", "uid"}.issubset(present):
        scores = data.select("rm_scores").to_padded_tensor()["rm_scores"]
        data[COLUMN + "reward"] = scores.double().sum(1, keepdim=True)
        ids = [_id_of(uid) for uid in listed(data["uid"])]
        data[COLUMN + "group"] = torch.tensor(ids, device=scores.device)[:, None]
    elif compares_answers(rule) or rule.controller() is not None:
        raise ValueError(
            f"'{PREFIX}{rule.name}' reads rewards and prompts, which verl's trainer did not put into "
            "this batch: set trainer.use_v1=true")
    if TEMPERED in present:
        for name in (TEMPERATURE, TEMPERED):
            data[COLUMN + name] = data[name].reshape(-1, 1)
    elif rule.controller() is not None:
        raise ValueError(
            f"'{PREFIX}{rule.name}' learns from a second batch, and this one has none: set {TRAINER}")
    if OFFSET in present:
        examples = [{OFFSET: offset, "prompt": uid}
                    for offset, uid in zip(listed(data[OFFSET]), listed(data["uid"]), strict=True)]
        offsets = target_offsets(examples, rule)
        if offsets is not None:
            data[COLUMN + OFFSET] = offsets.to(data["advantages"].device)[:, None]
    if not compares_answers(rule):
        return {}
    batch, own = _of_all_ranks(data, rule, config, step=known_step(rule, step), group=group)
    if not bool(batch.mask.any()):
        return {}
    prepared = prepared_columns(batch, rule)
    _keep(data, {name: column for name, column in prepared.items() if _compares(name, rule)}, own)
    return _metrics(batch.with_prepared(**prepared), rule)


def add_columns(
    data: Any, config: Any, *, step: int | None, coefficient: float | None = None, group: Any = None,
    on_policy: bool = False,
) -> dict[str, float]:
    """Show the mini-batch of all ranks to the rule before it is cut, and add the columns it
    computes.

    Args:
        data: this rank's part of a mini-batch, which may have columns of its batch (`add_batch_columns`).
        config: the actor's configuration.
        step: number of optimizer steps that the run has taken before this one; None if not known.
        coefficient: what the rule's controller chose for the batch; None if it has none.
        group: data-parallel process group; None for one rank.
        on_policy: whether the samples of the mini-batch are used for this step only.

    Returns:
        As `add_batch_columns`, of a rule with a second batch.

    Raises:
        ValueError: as `check_actor`, an unknown step or coefficient where the rule reads it, and a rule
            that compares answers where the batch's columns are missing.
    """
    rule = rule_of(config.policy_loss)
    check_actor(config, rule)
    counted = known_step(rule, step)
    coefficient = known_coefficient(rule, coefficient)
    own_mask = data.select("response_mask").to_padded_tensor()["response_mask"]
    tokens = sum(of_all_ranks(int(own_mask.bool().sum()), group)[0])
    for warning in rule.warnings(on_policy=on_policy, tokens=tokens):
        _warn_once(warning)
    from verl.utils import tensordict_utils

    if step is not None:
        tensordict_utils.assign_non_tensor(data, **{STEP: step})
    if coefficient is not None:
        tensordict_utils.assign_non_tensor(data, **{COEFFICIENT: coefficient})
    if clamped_fraction(rule) is not None:
        tensordict_utils.assign_non_tensor(data, distillation_use_topk=True)
    if not needs_whole_batch(rule):
        return {}
    present = names_of(data)
    if compares_answers(rule) and not any(_compares(name, rule) for name in present):
        raise ValueError(
            f"'{PREFIX}{rule.name}' compares the answers of a prompt, and a mini-batch may hold "
            "only some of them: train by train_mini_batch")
    if "sequence" in rule.needs.reads:
        padded = data.select("old_log_probs").to_padded_tensor()["old_log_probs"]
        data[COLUMN + "sequence"] = sequence_ids(padded, own_mask)
    batch, own = _of_all_ranks(data, rule, config, step=counted, group=group)
    if batch.tempered is not None:
        kinds = int(batch.is_ordinary.sum()), int(batch.is_tempered.sum())
        tensordict_utils.assign_non_tensor(data, **{KINDS: kinds})
    if not tokens:
        return {}
    prepared = prepared_columns(batch, rule)
    new = {name: column for name, column in prepared.items() if PREPARED + name not in present}
    _keep(data, new, own)
    return {} if rule.controller() is None else _metrics(batch.with_prepared(**prepared), rule)


def carried(data: Any, like: torch.Tensor) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    """Return the columns of a TokenBatch and the prepared ones that a micro-batch carries.

    Args:
        data: the micro-batch.
        like: [sequences, positions], gives shape, device and the dtype of rewards.
    """
    fields, prepared = {}, {}
    for name in names_of(data):
        if name.startswith(COLUMN):
            column = data[name].to(like.device).expand(like.shape)
            fields[name.removeprefix(COLUMN)] = (
                column.to(like.dtype) if column.is_floating_point() else column)
        elif name.startswith(PREPARED):
            prepared[name.removeprefix(PREPARED)] = _to_width(data[name], like.shape[1]).to(like.device)
    return fields, prepared


def ordinary(data: Any) -> torch.Tensor:
    """Return the mask of the ordinary rows' response tokens, [sequences, positions]."""
    mask = data.select("response_mask").to_padded_tensor()["response_mask"].bool()
    tempered = COLUMN + TEMPERED
    return mask & ~data[tempered].to(mask.device) if tempered in names_of(data) else mask


def names_of(data: Any) -> list[str]:
    """Return the names of what a batch of verl holds; iterating over it would give rows."""
    return [str(name) for name in data.keys()]  # noqa: SIM118


def listed(values: Any) -> list[Any]:
    """Return what a batch of verl holds of each sequence, in whichever of its containers."""
    return list(values.tolist() if hasattr(values, "tolist") else values)


def _of_all_ranks(
    data: Any, rule: UpdateRule, config: Any, *, step: int, group: Any
) -> tuple[TokenBatch, tuple[slice, int]]:
    """Return the rows of all ranks as the rule reads them, which are this rank's, and their width.

    Raises ValueError where the rule reads entropies and nobody has scored them.
    """
    names = ["old_log_probs", "advantages", "response_mask"]
    if tells_prompts_apart(rule):
        if "entropy" not in names_of(data):
            raise ValueError(
                f"prompt_gain of '{PREFIX}{rule.name}' reads the entropies that verl's trainer scores "
                "with the old log-probabilities, and this batch has none: set trainer.use_v1=true, and "
                "leave algorithm.rollout_correction.bypass_mode at false")
        names.append("entropy")
    padded = data.select(*names).to_padded_tensor()
    own = {name: padded[name].detach().cpu() for name in names}
    rows, positions = own["response_mask"].shape
    own |= {name: data[name].cpu() for name in names_of(data) if name.startswith(COLUMN)}
    world, rank = of_all_ranks(own, group)
    width = max(columns["response_mask"].shape[1] for columns in world)
    joined = {name: torch.cat([
        _to_width(columns[name], width) if name in names else columns[name].expand(-1, width)
        for columns in world]) for name in own}
    old_log_prob, advantages, mask = (joined.pop(name) for name in names[:3])
    further: dict[str, Any] = {
        name.removeprefix(COLUMN): column.double() if column.is_floating_point() else column
        for name, column in joined.items()}
    old = old_log_prob.double()
    batch = token_batch(
        old, old, advantages.double(), mask, step=step, seed=config.data_loader_seed, **further)
    start = sum(len(columns["response_mask"]) for columns in world[:rank])
    return batch, (slice(start, start + rows), positions)


def _keep(data: Any, prepared: dict[str, torch.Tensor], own: tuple[slice, int]) -> None:
    """Give a batch its rows of prepared columns, rounded as verl's own are."""
    like = data["advantages"]
    rows, positions = own
    for name, column in prepared.items():
        column = column[rows, :positions]
        if column.is_floating_point():
            column = column.to(like.dtype)
        data[PREPARED + name] = column.contiguous().to(like.device)


def _to_width(column: torch.Tensor, width: int) -> torch.Tensor:
    return torch.nn.functional.pad(column, (0, max(width - column.shape[1], 0)))[:, :width]


def _id_of(uid: Any) -> int:
    """Return a number of 63 bits for a prompt's name, the same on all ranks."""
    return int.from_bytes(hashlib.blake2b(str(uid).encode(), digest_size=8).digest()) >> 1


def _compares(column: str, rule: UpdateRule) -> bool:
    """Whether a prepared column compares answers: it is a surprise, or a prompt's coefficient."""
    return compares_answers(rule) and column.endswith(("diverse-bonus.gain", ".prompt"))


def _metrics(batch: TokenBatch, rule: UpdateRule) -> dict[str, float]:
    return {f"actor/{name}": float(value) for name, value in rule.metrics(batch).items()
            if is_of_answers(name) and not name.endswith("groups_without_signal")}


@functools.lru_cache(maxsize=64)
def _warn_once(warning: str) -> None:
    logging.getLogger(__name__).warning(warning)
