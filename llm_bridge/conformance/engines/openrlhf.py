"""OpenRLHF's loss and KL estimators (``openrlhf.models``), and its advantages."""

from __future__ import annotations

import types
from functools import cache, partial
from typing import Any

import torch

from llm_bridge.conformance.batches import Batch
from llm_bridge.conformance.comparison import Case, mean_share
from llm_bridge.conformance.stand_ins import imported

STAND_INS = ("flash_attn", "deepspeed", "vllm", "bitsandbytes", "peft")


@cache
def _losses() -> Any:
    return imported("openrlhf.models.loss", STAND_INS)


def policy_loss(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Call ``PolicyLoss``."""
    loss = _losses().PolicyLoss(**options)
    return loss(batch.log_prob, batch.old_log_prob, batch.advantage, action_mask=batch.mask.double(),
                rollout_log_probs=batch.sampling_log_prob)[0]


def share(batch: Batch, options: dict[str, Any]) -> torch.Tensor:
    """Return OpenRLHF's weights of tokens in its mean over sequences, with 1e-8 beside a length."""
    return mean_share(lambda column: _losses().aggregate_loss(
        column, batch.mask.double(), token_level_loss=False), batch)


def kl(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Add an estimator of the reference KL to the loss, averaged over tokens."""
    utils = imported("openrlhf.models.utils", STAND_INS)
    found = utils.compute_approx_kl(
        batch.log_prob, batch.reference_log_prob, log_probs_old=batch.old_log_prob, **options)
    return policy_loss(batch, function, {}) + (found * batch.mask).sum() / batch.mask.sum()


def advantages(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Call the experience maker's ``compute_advantages_and_returns`` on one experience."""
    maker = imported("openrlhf.trainer.ppo_utils.experience_maker", STAND_INS)
    size = len(batch.group) // len(batch.group.unique())
    spaces = types.SimpleNamespace
    args = spaces(
        algo=spaces(advantage=spaces(estimator=function, gamma=1.0, no_std_norm=False)),
        rollout=spaces(n_samples_per_prompt=size), reward=spaces(
            clip_range=None, overlong_buffer_len=None, stop_properly_penalty_coef=None))
    made = object.__new__(maker.RemoteExperienceMaker)
    made.strategy, made.advantage_estimator = spaces(args=args), function
    made.kl_ctl = spaces(value=0.0)
    one = spaces(
        rewards=batch.reward, index=list(range(len(batch.reward))), action_mask=batch.mask.long(),
        kl=torch.zeros(batch.mask.shape), info={}, values=None)
    return made.compute_advantages_and_returns([one])[0].advantages


def rule(name: str, **options: Any) -> dict[str, Any]:
    """Return the table of a rule that averages over tokens."""
    return {"name": name, "normalization": "token-mean", **options}


loss = partial(Case, function="PolicyLoss", call=policy_loss)
ASYMMETRIC = {"clip_eps_low": 0.15, "clip_eps_high": 0.28}
CLIPS = {"clip_low": 0.15, "clip_high": 0.28}
GSPO = {"policy_loss_type": "gspo", "clip_eps_low": 3e-4, "clip_eps_high": 4e-4}
estimator = partial(Case, call=advantages, of_advantages=True)
CORRECTIONS = (
    ({"level": "token", "threshold": [0.8, 1.2]}, {"kind": "token-mask", "low": 0.8, "high": 1.2}),
    ({"level": "token", "mode": "clip", "threshold": [0.8, 1.2]},
     {"kind": "token-truncate", "low": 0.8, "high": 1.2}),
    ({"level": "seq", "threshold": [0.95, 1.1]},
     {"kind": "token", "reject": "geometric", "reject_low": 0.95, "reject_high": 1.1}),
)
"""OpenRLHF's options of its correction for the sampler, and the rule's: IcePop, TIS, seq-mask-tis."""

CASES = (
    loss(options=ASYMMETRIC, rule=rule("grpo", **CLIPS)),
    loss(options={"dual_clip": 3.0, **ASYMMETRIC}, rule=rule("grpo", dual_clip=3.0, **CLIPS)),
    loss(options={"token_level_loss": False, **ASYMMETRIC}, share=share, rule=rule("grpo", **CLIPS)),
    loss(options={"token_level_loss": False, **ASYMMETRIC}, rule={"name": "grpo", **CLIPS},
         departure="constant-beside-count"),
    loss(drawn={"farthest": 25.0}, rule=rule("grpo"), departure="log-ratio-clamp"),
    loss(options=GSPO, drawn={"drift": 1e-3}, share=share, rule=rule("gspo")),
    *(loss(options={f"is_correction_{key}": value for key, value in options.items()},
           rule={"name": "sampler-correction", "base": rule("grpo"), **own})
      for options, own in CORRECTIONS),
    loss(options={**GSPO, "is_correction_level": "token"}, drawn={"drift": 1e-3, "mismatch": 1e-3},
         share=share, rule=rule("gspo"), departure="openrlhf-gspo-of-sampler"),
    *(Case(function="compute_approx_kl", call=kl, options={"kl_estimator": name},
           rule={"name": "reference-kl", "estimator": name, "coefficient": 1.0, "base": rule("grpo")},
           drawn={"drift": 0.1}, departure="float32-kl") for name in ("k2", "k3")),
    Case(function="compute_approx_kl", call=kl, options={"kl_estimator": "k3"}, departure="k3-clamp",
         rule={"name": "reference-kl", "estimator": "k3", "coefficient": 1.0, "base": rule("grpo")}),
    estimator(function="rloo", rule={"name": "reinforce", "estimator": "leave-one-out"}),
    estimator(function="dr_grpo", rule={"name": "grpo", "estimator": "group-centered"}),
    estimator(function="group_norm", rule={"name": "grpo", "std_ddof": 1},
              departure="constant-beside-deviation"),
    estimator(function="reinforce", rule={"name": "reinforce", "estimator": "reinforce++"},
              departure="means-over-tokens"),
    estimator(function="reinforce_baseline", departure="means-over-tokens",
              rule={"name": "reinforce", "estimator": "reinforce++-baseline"}),
)

WITHOUT_RULE = {
    "advantages gae": "needs a value model",
    "advantages flash_reinforce": "its baseline is the mean over all prompts",
    "loss PolicyLoss, gating binary_kl or tv": "rejects by a divergence from the sampler",
}
"""OpenRLHF's losses and estimators that no rule is, with the reason."""
