"""AReaL's losses (``areal.utils.functional``)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

import torch

from llm_bridge.conformance.batches import Batch
from llm_bridge.conformance.comparison import Case
from llm_bridge.conformance.stand_ins import imported

STAND_INS = (
    "aiofiles", "einops", "flask", "lark", "modelscope", "numba", "openai", "pybase64", "swanlab",
    "tabulate", "tenacity", "tensorboardX", "trackio", "uvloop")


@cache
def _functional() -> Any:
    return imported("areal.utils.functional.functional", STAND_INS)


def actor_loss(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Call ``ppo_actor_loss_fn``."""
    loss, _ = _functional().ppo_actor_loss_fn(
        logprobs=batch.log_prob, proximal_logprobs=batch.old_log_prob,
        old_logprobs=batch.sampling_log_prob, advantages=batch.advantage, loss_mask=batch.mask,
        **{"eps_clip": 0.2, **options})
    return loss


def sapo_loss(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Call ``sapo_loss_fn``."""
    loss, _ = _functional().sapo_loss_fn(
        logprobs=batch.log_prob, old_logprobs=batch.old_log_prob, advantages=batch.advantage,
        loss_mask=batch.mask, tau_pos=1.0, tau_neg=1.05)
    return loss


def corrected(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Call ``ppo_actor_loss_fn`` with AReaL's correction for the sampler."""
    _functional()
    from areal.api.cli_args import RejectionSamplingConfig

    return actor_loss(batch, function, {"rejection_sampling": RejectionSamplingConfig(**options)})


def second_moment(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Call ``ppo_actor_loss_fn`` on advantages that are 0 where AReaL's mask of M2PO is."""
    actor = imported("areal.trainer.ppo.actor", STAND_INS)
    kept = actor._apply_m2po_masking(
        batch.sampling_log_prob, batch.old_log_prob, batch.mask, **options)
    return actor_loss(replace(batch, advantage=torch.where(kept, batch.advantage, 0.0)), "", {})


def rule(name: str, **options: Any) -> dict[str, Any]:
    """Return the table of a rule that averages over tokens."""
    return {"name": name, "normalization": "token-mean", **options}


loss = partial(Case, function="ppo_actor_loss_fn", call=actor_loss)
ASYMMETRIC = {"eps_clip": 0.15, "eps_clip_higher": 0.28}
CORRECTIONS = (
    ({"level": "token", "action": "clamp", "upper": 1.2}, {"kind": "token-truncate", "high": 1.2},
     "float32-ratio"),
    ({"level": "token", "action": "mask", "lower": 0.8, "upper": 1.2},
     {"kind": "token-mask", "low": 0.8, "high": 1.2}, "float32-ratio"),
    ({"level": "sequence", "action": "clamp", "agg": "sum", "upper": 1.2},
     {"kind": "sequence-truncate", "high": 1.2}, "geometric-sequence-weight"),
)
"""AReaL's options of its correction for the sampler, the rule's, and how they differ."""
CLIPS = {"clip_low": 0.15, "clip_high": 0.28}

CASES = (
    loss(options=ASYMMETRIC, rule=rule("grpo", **CLIPS)),
    loss(options={"c_clip": 3.0, **ASYMMETRIC}, rule=rule("grpo", dual_clip=3.0, **CLIPS)),
    loss(options={"importance_sampling_level": "sequence", "eps_clip": 3e-4, "eps_clip_higher": 4e-4},
         drawn={"drift": 1e-3}, rule=rule("gspo")),
    Case(function="sapo_loss_fn", call=sapo_loss, rule=rule("sapo")),
    *(loss(call=corrected, options={"metric": "ratio", **options}, departure=departure,
           rule={"name": "sampler-correction", "base": rule("grpo"), **own})
      for options, own, departure in CORRECTIONS),
    Case(function="_apply_m2po_masking", call=second_moment, options={"m2_threshold": 0.02},
         rule={"name": "m2po", "threshold": 0.02, "base": rule("grpo")}),
)
