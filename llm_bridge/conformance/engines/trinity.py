"""Trinity-RFT's policy losses, KL functions and group advantages (``trinity.algorithm``)."""

from __future__ import annotations

import types
from functools import partial
from typing import Any

import torch

from llm_bridge.conformance.batches import Batch
from llm_bridge.conformance.comparison import Case, mean_share
from llm_bridge.conformance.stand_ins import imported


def policy_loss(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Call a registered policy loss with its defaults and ``options``."""
    kind = imported("trinity.algorithm.policy_loss_fn", ()).POLICY_LOSS_FN.get(function)
    loss = kind(**{**kind.default_args(), **options})
    return loss(batch.log_prob, old_logprob=batch.old_log_prob, action_mask=batch.mask.double(),
                advantages=batch.advantage)[0]


def share(batch: Batch, options: dict[str, Any]) -> torch.Tensor:
    """Return Trinity's weights of tokens in its means, which have 1e-8 beside a number of tokens."""
    utils = imported("trinity.algorithm.utils", ())
    mode = options.get("loss_agg_mode", "token-mean")
    return mean_share(lambda column: utils.aggregate_loss(column, batch.mask.double(), mode), batch)


def by_sequence(batch: Batch, options: dict[str, Any]) -> torch.Tensor:
    """Return the weights of Trinity's mean over sequences, the default of its GSPO."""
    return share(batch, {"loss_agg_mode": "seq-mean-token-mean"})


def aggregated(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Aggregate minus log-probability times advantage."""
    utils = imported("trinity.algorithm.utils", ())
    return utils.aggregate_loss(-batch.advantage * batch.log_prob, batch.mask.double(), **options)


def kl(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Add a KL function's loss to the loss opmd with tau 0."""
    kind = imported("trinity.algorithm.kl_fn", ()).KL_FN.get(function)
    found, _ = kind(kl_coef=0.3).calculate_kl_loss(
        batch.log_prob, batch.reference_log_prob, response_mask=batch.mask.double(),
        loss_agg_mode="token-mean", old_logprob=batch.old_log_prob)
    return policy_loss(batch, "opmd", {"tau": 0.0}) + found


def advantages(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Call a group advantage on the answers of each prompt."""
    kind = imported("trinity.algorithm.advantage_fn", ()).ADVANTAGE_FN.get(function)
    made = kind(**options)
    found = torch.zeros(batch.mask.shape)
    for prompt in batch.group.unique():
        rows = (batch.group == prompt).nonzero()[:, 0].tolist()
        answers = [types.SimpleNamespace(reward=float(batch.reward[row]), row=row,
                                         logprobs=batch.old_log_prob[row][batch.mask[row]],
                                         action_mask=batch.mask[row].double()) for row in rows]
        for answer in made.calculate_group_advantage(str(int(prompt)), answers)[0]:
            found[answer.row] = answer.advantages
    return found


def rule(name: str, **options: Any) -> dict[str, Any]:
    """Return the table of a rule that averages over tokens."""
    return {"name": name, "normalization": "token-mean", **options}


loss = partial(Case, call=policy_loss, share=share)
estimator = partial(Case, call=advantages, of_advantages=True)
ASYMMETRIC = {"clip_range_low": 0.15, "clip_range_high": 0.28}
CLIPS = {"clip_low": 0.15, "clip_high": 0.28}
UNCLIPPED = rule("grpo", clip_low=1e9, clip_high=1e9)

CASES = (
    loss(function="ppo", options=ASYMMETRIC, rule=rule("grpo", dual_clip=3.0, **CLIPS)),
    loss(function="ppo", options={"fallback_to_policy_gradient": True}, rule=rule("reinforce")),
    loss(function="gspo", drawn={"drift": 1e-3}, share=by_sequence, rule=rule("gspo")),
    loss(function="importance_sampling", rule=UNCLIPPED),
    loss(function="cispo", rule=rule("cispo", clip_high=0.28)),
    loss(function="topr", rule=rule("topr", level="token")),
    loss(function="sapo", rule=rule("sapo"), departure="trinity-sapo-gate"),
    loss(function="ppo", drawn={"mismatch": 0.0},
         options={"enable_sequence_masking": True, "delta_sequence_masking": 0.05},
         rule={"name": "sampler-correction", "kind": "none", "off_policy_threshold": 0.05,
               "base": rule("grpo", dual_clip=3.0)}),
    loss(function="rec", options={"regularizer": "k2", "regularizer_coef": 0.15},
         rule={"name": "dro", "beta": 0.3, "base": rule("reinforce")}),
    loss(function="opmd", options={"tau": 0.0}, rule=rule("reinforce")),
    loss(function="rec", options={"clip_mode": "one-side", "weight": "importance_sampling"},
         rule=rule("grpo")),
    loss(function="rec", rule=rule("reinforce")),
    Case(function="aggregate_loss", call=aggregated, options={"loss_agg_mode": "seq-mean-token-mean"},
         rule={"name": "reinforce"}, departure="constant-beside-count"),
    *(Case(function=name, call=kl, share=share, drawn={"drift": 0.05}, rule={
        "name": "reference-kl", "estimator": own, "coefficient": 0.3, "base": rule("reinforce")})
      for name, own in (("k2", "k2"), ("k3", "k3"), ("abs", "abs"), ("corrected_k3", "k3-corrected"))),
    estimator(function="grpo", rule={"name": "grpo", "std_ddof": 1},
              departure="constant-beside-deviation"),
    estimator(function="grpo", options={"rank_penalty": 0.25, "epsilon": 0.0},
              rule={"name": "unlikeliness", "base": {"name": "grpo", "std_ddof": 1}},
              departure="trinity-rank-penalty"),
    estimator(function="reinforce", rule={"name": "reinforce"},
              departure="float32-advantages"),
    estimator(function="opmd", rule={"name": "grpo", "estimator": "group-centered"},
              departure="float32-advantages"),
)

WITHOUT_RULE = {
    "loss dpo": "learns from preferences",
    "loss sft": "learns from examples, without rewards",
    "loss mix": "PPO's loss and that of examples, each on rows of its own",
    "loss mix_chord": "PPO's loss and that of examples, each on rows of its own",
    "loss sft_is": "learns from examples, without rewards",
    "loss sft_phi": "learns from examples, without rewards",
    "loss sppo": "the advantage itself where the ratio is within a band, else 0",
}
"""What Trinity registers as policy losses and no rule is, with the reason."""


def registered() -> frozenset[str]:
    """Return the names of all policy losses that Trinity registers."""
    losses = imported("trinity.algorithm.policy_loss_fn", ()).POLICY_LOSS_FN
    return frozenset(f"loss {name}" for name in {**losses._default_mapping, **losses._modules})
