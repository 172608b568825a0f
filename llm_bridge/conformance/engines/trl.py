"""TRL's loss, ``GRPOTrainer._compute_loss``, called with a trainer that has its options and no model."""

from __future__ import annotations

import dataclasses
import types
from collections import defaultdict
from functools import cache, partial
from typing import Any

import torch

from llm_bridge.conformance.batches import Batch
from llm_bridge.conformance.comparison import Case, Options
from llm_bridge.conformance.stand_ins import imported

LONGEST = 9
"""max_completion_length, longer than any answer."""


class Accelerator:
    """One process."""

    num_processes = 1
    sync_gradients = True

    @staticmethod
    def gather(column: Any) -> Any:
        """Return what the only process has."""
        return column

    gather_for_metrics = gather

    @staticmethod
    def reduce(column: Any, reduction: str) -> Any:
        """Return what the only process has."""
        return column

    @staticmethod
    def pad_across_processes(column: Any, dim: int, pad_index: float) -> Any:
        """Return what the only process has."""
        return column


@cache
def _trainers() -> Any:
    return imported("trl.trainer.grpo_trainer", ())


def trainer(kind: Any, config: Any, batch: Batch, options: dict[str, Any]) -> Any:
    """Make a trainer of ``kind`` that has the options, and what its ``__init__`` would make of them."""
    defaults = {each.name: each.default for each in dataclasses.fields(config)}
    args = types.SimpleNamespace(**{**defaults, "steps_per_generation": 1, "delta": None, **options})
    high = args.epsilon if args.epsilon_high is None else args.epsilon_high
    made = object.__new__(kind)
    made.__dict__.update(
        vars(args), args=args, epsilon_low=args.epsilon, epsilon_high=high, accelerator=Accelerator(),
        max_completion_length=LONGEST, aux_loss_enabled=False,
        _metrics=defaultdict(partial(defaultdict, list)),
        current_gradient_accumulation_steps=1, model=types.SimpleNamespace(training=True),
        _entropy_bonus_enabled=args.entropy_coef != 0,
        vllm_importance_sampling_correction=args.use_vllm,
        _get_per_token_logps_and_entropies=lambda *_, **__: (batch.log_prob, batch.entropy, None))
    return made


def inputs(batch: Batch) -> dict[str, torch.Tensor]:
    """Return what a trainer hands to its loss."""
    tokens = torch.zeros(batch.mask.shape, dtype=torch.long)
    return {
        "prompt_ids": tokens[:, :1], "prompt_mask": tokens[:, :1] + 1, "completion_ids": tokens,
        "completion_mask": batch.mask.double(), "advantages": batch.advantage.sum(1)
        / batch.mask.sum(1).clamp(min=1), "old_per_token_logps": batch.old_log_prob,
        "ref_per_token_logps": batch.reference_log_prob, "num_items_in_batch": batch.mask.sum(),
        "sampling_per_token_logps": batch.sampling_log_prob}


def grpo_loss(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Call TRL's loss of the type ``function``."""
    module = _trainers()
    made = trainer(module.GRPOTrainer, module.GRPOConfig, batch, {"loss_type": function, **options})
    shown = inputs(batch)
    if made.use_vllm:
        shown["importance_sampling_ratio"] = (batch.old_log_prob - batch.sampling_log_prob).exp()
    return type(made)._compute_loss(made, made.model, shown)


def gmpo_loss(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Call the loss of ``trl.experimental.gmpo``."""
    module = imported("trl.experimental.gmpo.gmpo_trainer", ())
    made = trainer(module.GMPOTrainer, module.GMPOConfig, batch, options)
    return type(made)._compute_loss(made, made.model, inputs(batch))


def in_micro_batches(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Average the losses of two micro-batches of as many rows, as gradient accumulation does."""
    half = len(batch.mask) // 2
    parts = (batch.rows(slice(0, half)), batch.rows(slice(half, None)))
    return torch.stack([grpo_loss(part, function, options) for part in parts]).mean()


loss = partial(Case, call=grpo_loss)
CLIPS = {"clip_low": 0.15, "clip_high": 0.28}
ASYMMETRIC = {"epsilon": 0.15, "epsilon_high": 0.28}
MEANS: dict[str, Options] = {
    "grpo": {"normalization": "sequence-mean"}, "dapo": {"normalization": "token-mean"},
    "bnpo": {"normalization": "token-mean"},
    "dr_grpo": {"normalization": "dr-grpo", "max_length": LONGEST}}
SEQUENCE = {"importance_sampling_level": "sequence", "epsilon": 3e-4, "epsilon_high": 4e-4}
KL = {"name": "reference-kl", "coefficient": 0.3}

CASES = (
    *(loss(function=name, options=ASYMMETRIC, rule={"name": "grpo", **CLIPS, **mean})
      for name, mean in MEANS.items()),
    loss(function="grpo", options={"epsilon": 0.2, "delta": 1.5},
         rule={"name": "grpo", "dual_clip": 1.5}),
    *(loss(function=name, options=SEQUENCE, drawn={"drift": 1e-3}, rule={"name": "gspo", **MEANS[name]})
      for name in ("grpo", "dapo")),
    *(loss(function="dapo", options={"beta": 0.3, "use_bias_correction_kl": corrected},
           rule={**KL, "estimator": estimator, "base": {"name": "grpo", **MEANS["dapo"]}})
      for corrected, estimator in ((False, "k3"), (True, "k3-corrected"))),
    loss(function="dapo", options={"entropy_coef": 0.2},
         rule={"name": "entropy-bonus", "coefficient": 0.2, "normalization": "token-mean",
               "base": {"name": "grpo", **MEANS["dapo"]}}),
    loss(function="luspo", options=SEQUENCE, drawn={"drift": 1e-3},
         rule={"name": "gspo", "normalization": "dr-grpo", "max_length": 1}),
    loss(function="cispo", options={"epsilon_high": 1.5}, rule={"name": "cispo", "clip_high": 0.5}),
    loss(function="sapo", rule={"name": "sapo"}),
    loss(function="vespo", rule={"name": "vespo"}),
    loss(function="vespo", options={"use_vllm": True}, rule={"name": "vespo", "anchor": "sampling"}),
    loss(function="dapo", options={"top_entropy_quantile": 0.25},
         rule={"name": "top-entropy", "share": 0.25, "base": {"name": "grpo", **MEANS["dapo"]}}),
    loss(function="dapo", options={"off_policy_mask_threshold": 0.05},
         rule={"name": "sampler-correction", "kind": "none", "off_policy_threshold": 0.05,
               "base": {"name": "grpo", **MEANS["dapo"]}}),
    loss(function="dapo", options={"use_vllm": True, "beta": 0.3, "use_bias_correction_kl": False},
         rule={**KL, "estimator": "k3", "base": {
             "name": "sampler-correction", "kind": "token", "base": {"name": "grpo", **MEANS["dapo"]}}}),
    Case(function="gmpo", call=gmpo_loss, rule={"name": "gmpo"}),
    loss(function="grpo", drawn={"masked_rows": 3}, rule={"name": "grpo"},
         departure="masked-rows-in-mean"),
    Case(function="bnpo", call=in_micro_batches, rule={"name": "grpo", **MEANS["bnpo"]},
         departure="mean-of-micro-batches"),
)
