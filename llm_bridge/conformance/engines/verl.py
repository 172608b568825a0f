"""verl's policy losses and advantage estimators (``verl.trainer.ppo.core_algos``)."""

from __future__ import annotations

from functools import cache, partial
from itertools import pairwise
from typing import Any

import torch

from llm_bridge.conformance.batches import Batch
from llm_bridge.conformance.comparison import Case, mean_share
from llm_bridge.conformance.stand_ins import imported

OWN_OPTIONS = ("clip_cov", "kl_cov", "ppo_kl", "dro", "rollout_correction")
"""How those options begin that are of verl's PolicyLossConfig."""


@cache
def _core() -> Any:
    return imported("verl.trainer.ppo.core_algos", ())


def policy_loss(
    batch: Batch, function: str, options: dict[str, Any], *, cuts: tuple[int, ...] = (),
    weights: torch.Tensor | None = None,
) -> torch.Tensor:
    """Call a registered policy loss, told of the whole batch as verl's workers tell.

    Args:
        batch: the mini-batch.
        function: the name that the loss is registered under.
        options: of ActorConfig and PolicyLossConfig, and ``loss_agg_mode``.
        cuts: the rows at which micro-batches begin, whose losses are added.
        weights: verl's ``rollout_is_weights``.
    """
    from verl.workers.config import ActorConfig, PolicyLossConfig

    mode = options.pop("loss_agg_mode", "token-mean")
    own = {name: options.pop(name) for name in list(options) if name.startswith(OWN_OPTIONS)}
    config = ActorConfig(strategy="fsdp", rollout_n=1, ppo_micro_batch_size_per_gpu=1,
                         policy_loss=PolicyLossConfig(loss_mode=function, **own), **options)
    config.global_batch_info.update(
        dp_size=1, batch_num_tokens=int(batch.mask.sum()), global_batch_size=len(batch.mask),
        loss_scale_factor=None)
    loss = torch.zeros(())
    for first, end in pairwise((0, *cuts, len(batch.mask))):
        rows = slice(first, end)
        loss = loss + _core().get_policy_loss_fn(function)(
            old_log_prob=batch.old_log_prob[rows], log_prob=batch.log_prob[rows],
            advantages=batch.advantage[rows], response_mask=batch.mask[rows].double(),
            loss_agg_mode=mode, config=config,
            rollout_is_weights=None if weights is None else weights[rows])[0]
    return loss


def corrected(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Call ``vanilla`` with verl's weights of the sampler, or on what verl's rejection leaves."""
    helper = imported("verl.trainer.ppo.rollout_corr_helper", ())
    change, mask = batch.old_log_prob - batch.sampling_log_prob, batch.mask.double()
    if "rollout_rs" in options:
        weights = helper.compute_rollout_rejection_mask(change, mask, **options)[0]
    else:
        weights = helper.compute_rollout_correction_weights(change, mask, **options)[0]
    return policy_loss(batch, "vanilla", {}, weights=weights)


def bypassed(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Call ``bypass_mode``, for which the old policy is the sampler."""
    from verl.trainer.config.algorithm import RolloutCorrectionConfig

    return policy_loss(batch, function, {"rollout_correction": RolloutCorrectionConfig(**options)})


def aggregated(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Aggregate minus log-probability times advantage, as every policy loss of verl is."""
    return getattr(_core(), function)(
        -batch.advantage * batch.log_prob, batch.mask.double(), **options)


def share(batch: Batch, options: dict[str, Any]) -> torch.Tensor:
    """Return verl's weights of tokens in SAPO's mean, which has 1e-8 beside a length."""
    mode = options.get("loss_agg_mode", "seq-mean-token-mean")
    return mean_share(lambda column: _core().agg_loss(column, batch.mask.double(), mode), batch)


def kl(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Add an estimator of the reference KL to the loss ``gpg``, as verl's ``ppo_loss`` does."""
    found = _core().kl_penalty(batch.log_prob, batch.reference_log_prob, options["kl_loss_type"])
    return policy_loss(batch, "gpg", {}) + _core().agg_loss(found, batch.mask.double(), "token-mean")


def advantages(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Call a registered estimator of advantages, as ``compute_advantage`` of verl's trainer does."""
    from verl.trainer.config import AlgoConfig

    config = AlgoConfig(norm_adv_by_std_in_grpo=options.get("norm_adv_by_std_in_grpo", True))
    if function != "grpo":
        options.pop("norm_adv_by_std_in_grpo", None)
    return _core().get_adv_estimator_fn(function)(
        token_level_rewards=batch.per_token_reward, response_mask=batch.mask.double(),
        index=batch.group.numpy(), config=config, **options)[0]


TOKENS = {"normalization": "token-mean"}
NEAR = {"drift": 0.1}
"""Log-ratios at which no engine clamps k3 at 10."""
ASYMMETRIC = {"clip_ratio_low": 0.15, "clip_ratio_high": 0.28}
CLIPS = {"clip_low": 0.15, "clip_high": 0.28}
loss = partial(Case, call=policy_loss)
estimator = partial(Case, call=advantages, of_advantages=True)


def rule(name: str, **options: Any) -> dict[str, Any]:
    """Return the table of a rule that averages over tokens."""
    return {"name": name, **TOKENS, **options}


def with_kl(estimator: str) -> dict[str, Any]:
    """Return the table of REINFORCE with a reference KL."""
    return {"name": "reference-kl", "estimator": estimator, "coefficient": 1.0, "base": rule("reinforce")}


def cov_rule(name: str, **options: Any) -> dict[str, Any]:
    """Return the table of a rule by covariance as the authors' code takes it."""
    return {"name": name, "cov_log_prob": "current", **options}


SAMPLER = {"name": "sampler-correction", "base": rule("grpo", dual_clip=3.0)}
GROUPS = {"name": "grpo", "std_ddof": 1}
REJECTIONS = {"token_k1": "token", "seq_sum_k1": "sequence", "seq_mean_k1": "geometric"}
"""verl's ways to reject by a ratio, and the rule's."""
CORRECTED = frozenset(f"correction {mode}" for mode in REJECTIONS)

CASES = (
    loss(function="vanilla", options=ASYMMETRIC, rule=rule("grpo", dual_clip=3.0, **CLIPS)),
    loss(function="vanilla", options={"clip_ratio_c": 1e30, **ASYMMETRIC},
         rule=rule("clip-higher", clip_low=0.15)),
    loss(function="vanilla", options={"clip_ratio": 0.5}, rule=rule("grpo", clip_low=0.5, clip_high=0.5,
         dual_clip=3.0), departure="verl-clip-ratio-unread"),
    loss(function="vanilla", options={"clip_ratio_c": 1e30}, drawn={"farthest": 25.0}, rule=rule("grpo"),
         departure="log-ratio-clamp"),
    loss(function="gspo", options={"clip_ratio_low": 3e-4, "clip_ratio_high": 4e-4},
         drawn={"drift": 1e-3}, rule=rule("gspo")),
    loss(function="gpg", rule=rule("reinforce")),
    loss(function="clip_cov", options={"clip_cov_ratio": 1.0, "clip_cov_lb": 0.3, "clip_cov_ub": 2.0},
         rule=cov_rule("clip-cov", ratio=1.0, lower=0.3, upper=2.0, base=rule("grpo"))),
    loss(function="kl_cov", options={"kl_cov_ratio": 0.2, "ppo_kl_coef": 0.5},
         rule=cov_rule("kl-cov", ratio=0.2, coefficient=0.5)),
    loss(function="cispo", options=ASYMMETRIC, rule=rule("cispo", **CLIPS)),
    loss(function="sapo", share=share, rule=rule("sapo")),
    loss(function="sapo", options={"loss_agg_mode": "token-mean"}, rule=rule("sapo"),
         departure="verl-sapo-mean-unread"),
    *(loss(function=name, options={"clip_ratio_low": 0.05, "clip_ratio_high": 0.1},
           rule=rule("dppo", kind=kind, delta_low=0.05, delta_high=0.1, truncation=3.0))
      for name, kind in (("dppo_tv", "total-variation"), ("dppo_kl", "kl"))),
    loss(function="dppo_tv", rule=rule("dppo"), departure="verl-dppo-truncation"),
    loss(function="geo_mean", options=ASYMMETRIC, rule={"name": "gmpo", **CLIPS},
         departure="constant-beside-count"),
    Case(function="geo_mean", call=partial(policy_loss, cuts=(5,)), rule={"name": "gmpo",
         "clip_low": 0.2, "clip_high": 0.2}, departure="verl-geo-mean-of-micro-batches"),
    Case(function="vanilla", call=partial(policy_loss, cuts=(5, 11)), rule=rule("grpo", dual_clip=3.0)),
    loss(function="dro", options={"dro_beta": 0.3}, rule={"name": "dro", "beta": 0.3,
         "base": rule("reinforce")}),
    Case(function="bypass_mode", call=bypassed, drawn={"mismatch": 0.0},
         rule=rule("grpo", dual_clip=3.0)),
    Case(function="bypass_mode", call=bypassed, drawn={"mismatch": 0.0},
         options={"loss_type": "reinforce", "rollout_is": "token", "rollout_is_threshold": 1.2},
         rule={"name": "sampler-correction", "above": "current", "high": 1.2,
               "base": rule("reinforce")}),
    *(Case(function="compute_rollout_correction_weights", call=corrected,
           options={"rollout_is": level, "rollout_is_threshold": bounds},
           rule={**SAMPLER, "kind": f"{level}-{kind}", **limits})
      for level in ("token", "sequence") for bounds, kind, limits in (
          (1.2, "truncate", {"high": 1.2}), ("0.8_1.3", "mask", {"low": 0.8, "high": 1.3}))),
    *(Case(function="compute_rollout_rejection_mask", call=corrected,
           options={"rollout_rs": mode, "rollout_rs_threshold": "0.9_1.25"},
           rule={**SAMPLER, "kind": "none", "reject": level, "reject_low": 1 / 1.25,
                 "reject_high": 1 / 0.9})
      for mode, level in REJECTIONS.items()),
    Case(function="compute_rollout_rejection_mask", call=corrected,
         options={"rollout_rs": "token_k1", "rollout_rs_threshold": "0.9_1.25"},
         rule={**SAMPLER, "kind": "none", "reject": "token", "reject_low": 0.9, "reject_high": 1.25},
         departure="verl-rejection-bounds"),
    *(Case(function="kl_penalty", call=kl, options={"kl_loss_type": name}, rule=with_kl(own),
           drawn=NEAR)
      for name, own in (("mse", "k2"), ("low_var_kl", "k3"), ("abs", "abs"), ("k1+", "k1+"),
                        ("abs+", "abs+"), ("k3+", "k3+"))),
    Case(function="kl_penalty", call=kl, options={"kl_loss_type": "k3"}, rule=with_kl("k3"),
         departure="k3-clamp"),
    *(Case(function="agg_loss", call=aggregated, options=options,
           rule={"name": "reinforce", "normalization": normalization}, departure=departure)
      for options, normalization, departure in (
          ({"loss_agg_mode": "token-mean"}, "token-mean", ""),
          ({"loss_agg_mode": "seq-mean-token-mean"}, "sequence-mean", "constant-beside-count"))),
    estimator(function="grpo", options={"epsilon": 0.0}, rule=GROUPS),
    estimator(function="grpo", rule=GROUPS,
              departure="constant-beside-deviation"),
    estimator(function="grpo", options={"norm_adv_by_std_in_grpo": False},
              rule={"name": "grpo", "estimator": "group-centered"}),
    estimator(function="grpo", drawn={"masked_rows": 3}, options={"epsilon": 0.0},
              rule=GROUPS, departure="masked-rows-in-baseline"),
    estimator(function="grpo_vectorized", options={"epsilon": 0.0}, rule=GROUPS,
              departure="float32-advantages"),
    estimator(function="grpo_vectorized",
              options={"norm_adv_by_std_in_grpo": False, "epsilon": 0.0},
              rule={"name": "grpo", "estimator": "group-centered"},
              departure="verl-vectorized-deviation-unread"),
    estimator(function="rloo", rule={"name": "reinforce", "estimator": "leave-one-out"}),
    estimator(function="rloo_vectorized", rule={"name": "reinforce", "estimator": "leave-one-out"}),
    estimator(function="opo", rule={"name": "grpo", "estimator": "opo"}),
    estimator(function="gpg", rule={"name": "reinforce", "estimator": "gpg"},
              departure="verl-gpg-count"),
    estimator(function="grpo_passk", options={"epsilon": 0.0},
              rule={**GROUPS, "estimator": "best-over-second"}),
    estimator(function="reinforce_plus_plus", rule={"name": "reinforce", "estimator": "reinforce++"},
              departure="means-over-tokens"),
    estimator(function="reinforce_plus_plus_baseline",
              rule={"name": "reinforce", "estimator": "reinforce++-baseline"},
              departure="means-over-tokens"),
)

WITHOUT_RULE = {
    "advantages gae": "needs a value model: advantages.generalized, before verl normalizes it",
    "advantages gdpo": "normalizes several rewards apart, and a batch has one: advantages.decoupled",
    "advantages remax": "its baseline is the reward of a greedy answer: advantages.above_greedy",
    "advantages optimal_token_baseline": "reads the sum of squared probabilities: "
                                         "advantages.optimal_token_baseline",
    "advantages tir_optimal_token_baseline": "as optimal_token_baseline",
    **{f"correction {level}_k{k}": "rejects by an estimated divergence from the sampler, not by a ratio"
       for level in ("token", "seq_sum", "seq_mean", "seq_max") for k in (2, 3)},
}
"""What verl has and no rule is, with the reason."""


def registered() -> frozenset[str]:
    """Return the names of all policy losses, estimators and rejections that verl has."""
    helper = imported("verl.trainer.ppo.rollout_corr_helper", ())
    return frozenset(
        [f"loss {name}" for name in _core().POLICY_LOSS_REGISTRY if "/" not in name]
        + [f"advantages {name}" for name in _core().ADV_ESTIMATOR_REGISTRY]
        + [f"correction {name}" for name in helper.SUPPORTED_ROLLOUT_RS_OPTIONS])
