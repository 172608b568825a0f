"""ms-swift's loss, ``GRPOTrainer._compute_loss_and_metrics``, called as TRL's is, and its advantages."""

from __future__ import annotations

import types
from functools import cache, partial
from typing import Any

import torch

from llm_bridge.conformance.batches import Batch
from llm_bridge.conformance.comparison import Case, Options
from llm_bridge.conformance.engines.trl import LONGEST, Accelerator
from llm_bridge.conformance.stand_ins import imported

STAND_INS = ("dacite", "einops", "json_repair", "modelscope", "msgspec", "trl.experimental.ppo")
DEFAULTS = {
    "loss_type": "grpo", "epsilon_low": 0.2, "epsilon_high": 0.2, "beta": 0.0, "delta": None,
    "importance_sampling_level": "token", "top_entropy_quantile": 1.0, "log_entropy": False,
    "rollout_importance_sampling_mode": None, "rollout_importance_sampling_threshold": 2.0,
    "off_policy_sequence_mask_delta": None, "tau_pos": 1.0, "tau_neg": 1.05, "real_tau": 0.5,
    "fipo_gamma": 2 ** (-1 / 32), "fipo_clip_range": 0.2, "fipo_clip_high_only": True,
    "fipo_safety_threshold": 4.0}


@cache
def _trainer() -> Any:
    return imported("swift.rlhf_trainers.grpo_trainer", STAND_INS).GRPOTrainer


def grpo_loss(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Call ms-swift's loss of the type ``function``."""
    args = types.SimpleNamespace(**{**DEFAULTS, "loss_type": function, **options})
    made = object.__new__(_trainer())
    made.__dict__.update(
        vars(args), args=args, accelerator=Accelerator(), max_completion_length=LONGEST,
        model=types.SimpleNamespace(training=True), compute_entropy=args.top_entropy_quantile < 1,
        overlong_filter=False, kl_in_reward=False, log_rollout_offpolicy_metrics=False,
        disable_rollout_importance_sampling=False, _has_teacher=False, sdar_loss_coef=0,
        chord_sft_iterator=None, num_generations=6, model_accepts_loss_kwargs=True,
        _get_per_token_logps_and_entropies=lambda *_, **__: (batch.log_prob, batch.entropy))
    rows = types.SimpleNamespace(
        completion_mask=batch.mask, truncated_mask=torch.zeros(len(batch.mask), dtype=torch.bool),
        ref_per_token_logps=batch.reference_log_prob, advantages=batch.advantage,
        old_per_token_logps=batch.old_log_prob, rollout_per_token_logps=batch.sampling_log_prob,
        num_items_in_batch=batch.mask.sum(), teacher_per_token_logps=None)
    return made._compute_loss_and_metrics(made.model, {}, rows)[0]


def advantages(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Call ``compute_advantages``."""
    module = imported("swift.rl_core.advantage", STAND_INS)
    found, _ = module.compute_advantages(
        batch.reward[:, None], torch.ones(1), len(batch.group) // len(batch.group.unique()), **options)
    return found[:, None].expand(batch.mask.shape)


loss = partial(Case, call=grpo_loss)
estimator = partial(Case, function="compute_advantages", call=advantages, of_advantages=True)
CLIPS = {"clip_low": 0.15, "clip_high": 0.28}
ASYMMETRIC = {"epsilon_low": 0.15, "epsilon_high": 0.28}
SEQUENCE = {"importance_sampling_level": "sequence", "epsilon_low": 3e-4, "epsilon_high": 4e-4}
CORRECTIONS: tuple[tuple[str, Options, str], ...] = (
    ("token_truncate", {"kind": "token-truncate", "high": 1.1}, ""),
    ("token_mask", {"kind": "token-mask", "high": 1.1}, ""),
    ("sequence_truncate", {"kind": "sequence-truncate", "high": 1.1}, "geometric-sequence-weight"),
    ("sequence_mask", {"kind": "token", "reject": "geometric", "reject_low": 0.0, "reject_high": 1.1},
     ""),
)
"""ms-swift's modes of its correction for the sampler, the rule's options, and how they differ."""
MEANS: dict[str, Options] = {
    "grpo": {"normalization": "sequence-mean"}, "dapo": {"normalization": "token-mean"},
    "bnpo": {"normalization": "token-mean"},
    "dr_grpo": {"normalization": "dr-grpo", "max_length": LONGEST}}

CASES = (
    *(loss(function=name, options=ASYMMETRIC, rule={"name": "grpo", **CLIPS, **mean})
      for name, mean in MEANS.items()),
    loss(function="grpo", options={"delta": 1.5}, rule={"name": "grpo", "dual_clip": 1.5}),
    loss(function="grpo", options=SEQUENCE, drawn={"drift": 1e-3}, rule={"name": "gspo"}),
    loss(function="dapo", options={"beta": 0.3}, drawn={"drift": 0.1},
         rule={"name": "reference-kl", "estimator": "k3", "coefficient": 0.3,
               "base": {"name": "grpo", **MEANS["dapo"]}}),
    loss(function="cispo", options={"epsilon_high": 1.5}, rule={"name": "cispo", "clip_high": 0.5}),
    loss(function="sapo", rule={"name": "sapo"}),
    loss(function="grpo", options={**SEQUENCE, "importance_sampling_level": "sequence_token"},
         drawn={"drift": 1e-3}, rule={"name": "gspo"}),
    loss(function="dapo", options={"top_entropy_quantile": 0.25},
         rule={"name": "top-entropy", "share": 0.25, "base": {"name": "grpo", **MEANS["dapo"]}}),
    loss(function="fipo", options={"fipo_gamma": 2 ** (-1 / 2), "fipo_safety_threshold": 1.1},
         rule={"name": "fipo", "half_life": 2.0, "safe_ratio": 1.1,
               "base": {"name": "grpo", **MEANS["dapo"]}}),
    loss(function="dapo", options={"off_policy_sequence_mask_delta": 0.05},
         rule={"name": "sampler-correction", "kind": "none", "off_policy_threshold": 0.05,
               "base": {"name": "grpo", **MEANS["dapo"]}}),
    *(loss(function="dapo", departure=departure, options={
        "rollout_importance_sampling_mode": mode, "rollout_importance_sampling_threshold": 1.1},
        rule={"name": "sampler-correction", **own, "base": {"name": "grpo", **MEANS["dapo"]}})
      for mode, own, departure in CORRECTIONS),
    estimator(options={"advantage_estimator": "rloo", "scale_rewards": "none"},
              rule={"name": "reinforce", "estimator": "leave-one-out"}),
    estimator(options={"scale_rewards": "none"}, rule={"name": "grpo", "estimator": "group-centered"}),
    estimator(rule={"name": "grpo", "std_ddof": 1}, departure="constant-beside-deviation"),
)

WITHOUT_RULE = {
    "loss real": "a classification loss over a group's answers",
}
"""ms-swift's losses that no rule is, with the reason."""
