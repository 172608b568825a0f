"""SkyRL's policy losses and advantage estimators (``skyrl.backends.skyrl_train.utils.ppo_utils``)."""

from __future__ import annotations

import dataclasses
import sys
import typing
from functools import cache, partial
from typing import Any

import torch

from llm_bridge.conformance.batches import Batch
from llm_bridge.conformance.comparison import Case
from llm_bridge.conformance.stand_ins import imported

NESTED = ("sapo", "cispo", "dppo", "clip_cov", "kl_cov", "off_policy_correction")
"""Tables of SkyRL's algorithm that have options of their own."""


@cache
def _utils() -> Any:
    if sys.version_info < (3, 12):
        # SkyRL trains on Python 3.12; all that its losses miss before it is one name for pydantic.
        import typing_extensions

        typing.TypedDict = typing_extensions.TypedDict
    return imported("skyrl.backends.skyrl_train.utils.ppo_utils", ())


def policy_loss(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Call a registered policy loss, with advantages that SkyRL's trainer has divided for its mean."""
    utils = _utils()
    from skyrl.train.config import AlgorithmConfig

    reduction = options.pop("loss_reduction", "token_mean")
    own = {name: options.pop(name) for name in NESTED if name in options}
    config = AlgorithmConfig(policy_loss_type=function, use_kl_loss=False, **options)
    for table, values in own.items():
        for name, value in values.items():
            setattr(getattr(config, table), name, value)
    mask = batch.mask.double()
    advantages = batch.advantage if reduction is None else (
        utils.apply_loss_reduction_to_advantages_minibatch(
            batch.advantage, mask, reduction, micro_batch_size=1, max_seq_len=9))
    loss, _ = utils.PolicyLossRegistry.get(function)(
        batch.log_prob, batch.old_log_prob, advantages, config=config, loss_mask=mask,
        rollout_logprobs=batch.sampling_log_prob)
    return loss


def kl(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Add an estimator of the reference KL, averaged over tokens, to the loss importance_sampling."""
    found = _utils().compute_approx_kl(
        batch.log_prob, batch.reference_log_prob, batch.mask.double(), options["kl_estimator_type"])
    return policy_loss(batch, "importance_sampling", {}) + found.sum() / batch.mask.sum()


def advantages(batch: Batch, function: str, options: dict[str, Any]) -> torch.Tensor:
    """Call a registered estimator of advantages."""
    return _utils().AdvantageEstimatorRegistry.get(function)(
        token_level_rewards=batch.per_token_reward, response_mask=batch.mask.double(),
        index=batch.group.numpy(), gamma=1.0, **options)[0]


def whole_share(batch: Batch, options: dict[str, Any]) -> torch.Tensor:
    """Return a weight of 1 a token: the advantages were not divided."""
    return batch.mask.double()


def rule(name: str, **options: Any) -> dict[str, Any]:
    """Return the table of a rule that averages over tokens."""
    return {"name": name, "normalization": "token-mean", **options}


loss = partial(Case, call=policy_loss)
in_float32 = partial(Case, call=policy_loss, departure="float32-ratio")
estimator = partial(Case, call=advantages, of_advantages=True)
ASYMMETRIC = {"eps_clip_low": 0.15, "eps_clip_high": 0.28}
CLIPS = {"clip_low": 0.15, "clip_high": 0.28}
UNCLIPPED = rule("grpo", clip_low=1e9, clip_high=1e9)
CORRECTIONS = (
    ({"tis_ratio_type": "token", "token_tis_ratio_clip_high": 1.2},
     {"kind": "token-truncate", "high": 1.2}),
    ({"tis_ratio_type": "sequence", "sequence_tis_ratio_clip_high": 1.2},
     {"kind": "sequence-truncate", "high": 1.2}),
    ({"token_mask_is_threshold_low": 0.9, "token_mask_is_threshold_high": 1.2},
     {"kind": "none", "reject": "token", "reject_low": 0.9, "reject_high": 1.2}),
    ({"sequence_mask_metric": "geometric", "geo_mask_low": 0.95, "geo_mask_high": 1.1},
     {"kind": "none", "reject": "geometric", "reject_low": 0.95, "reject_high": 1.1}),
    ({"sequence_mask_metric": "product", "product_mask_low": 0.8, "product_mask_high": 1.5},
     {"kind": "none", "reject": "sequence", "reject_low": 0.8, "reject_high": 1.5}),
    ({"tis_ratio_type": "token", "token_tis_ratio_clip_high": 1.1,
      "token_mask_is_threshold_low": 0.9, "token_mask_is_threshold_high": 1.2},
     {"kind": "token-truncate", "high": 1.1, "reject": "token", "reject_low": 0.9, "reject_high": 1.2}),
    ({"tis_ratio_type": "sequence", "sequence_tis_ratio_clip_high": 1.2,
      "sequence_mask_metric": "geometric", "geo_mask_low": 0.95, "geo_mask_high": 1.1},
     {"kind": "sequence-truncate", "high": 1.2, "reject": "geometric", "reject_low": 0.95,
      "reject_high": 1.1}),
)
"""SkyRL's options of its correction for the sampler, and the rule's."""
CORRECTED = frozenset(f"correction {name}" for options, _ in CORRECTIONS for name in options)
UNDER_BOTH = CORRECTIONS[-1]


def kl_rule(estimator: str) -> dict[str, Any]:
    """Return the table of the unclipped ratio with a reference KL."""
    return {"name": "reference-kl", "estimator": estimator, "coefficient": 1.0, "base": UNCLIPPED}


CASES = (
    in_float32(function="regular", options=ASYMMETRIC, rule=rule("grpo", **CLIPS)),
    in_float32(function="dual_clip", options=ASYMMETRIC, rule=rule("grpo", dual_clip=3.0, **CLIPS)),
    loss(function="importance_sampling", rule=UNCLIPPED),
    loss(function="gspo", options={"eps_clip_low": 3e-4, "eps_clip_high": 4e-4}, drawn={"drift": 1e-3},
         rule=rule("gspo")),
    loss(function="gspo", drawn={"drift": 1e-3},
         options={"eps_clip_low": 3e-4, "eps_clip_high": 4e-4, "loss_reduction": "sequence_mean"},
         rule={"name": "gspo"}),
    loss(function="importance_sampling", options={"loss_reduction": "seq_mean_token_sum_norm"},
         rule={**UNCLIPPED, "normalization": "dr-grpo", "max_length": 9}),
    loss(function="sapo", options={"loss_reduction": "sequence_mean"}, rule={"name": "sapo"}),
    in_float32(function="cispo", rule=rule("cispo", clip_high=0.5),
               options={"cispo": {"cispo_eps_clip_low": 1.0, "cispo_eps_clip_high": 0.5}}),
    loss(function="cispo", rule=rule("cispo", clip_high=5.0), departure="skyrl-cispo-floor"),
    *(in_float32(function="dppo", rule=rule(
        "dppo", kind=kind, delta_low=0.05, delta_high=0.1, truncation=1e9, anchor="sampling"), options={
            "dppo": {"dppo_type": name, "delta_low": 0.05, "delta_high": 0.1}})
      for name, kind in (("binary_tv", "total-variation"), ("binary_kl", "kl"))),
    in_float32(function="rollout_is", rule={
        "name": "sampler-correction", "kind": "token-mask", "low": 0.8, "high": 1.2, "above": "current",
        "base": rule("reinforce")}),
    *(in_float32(function="regular", options={"off_policy_correction": options},
                 rule={"name": "sampler-correction", "base": rule("grpo"), **own})
      for options, own in CORRECTIONS),
    *(in_float32(function=function, options={"off_policy_correction": UNDER_BOTH[0], **options},
                 drawn=drawn, rule={"name": "sampler-correction", "base": base, **UNDER_BOTH[1]})
      for function, options, drawn, base in (
          ("dual_clip", {}, {}, rule("grpo", dual_clip=3.0)),
          ("sapo", {}, {}, rule("sapo")),
          ("gspo", {"eps_clip_low": 3e-4, "eps_clip_high": 4e-4}, {"drift": 1e-3}, rule("gspo")),
          ("cispo", {"cispo": {"cispo_eps_clip_low": 1.0, "cispo_eps_clip_high": 0.5}}, {},
           rule("cispo", clip_high=0.5)),
          ("dppo", {}, {}, rule("dppo", truncation=1e9, anchor="sampling")))),
    loss(function="clip_cov", share=whole_share, options={"loss_reduction": None, "clip_cov": {
        "clip_ratio": 1.0, "clip_cov_lb": 0.3, "clip_cov_ub": 2.0}},
        rule={"name": "clip-cov", "cov_log_prob": "current", "ratio": 1.0, "lower": 0.3, "upper": 2.0,
              "base": rule("grpo")}),
    loss(function="clip_cov", options={"clip_cov": {
        "clip_ratio": 1.0, "clip_cov_lb": 0.3, "clip_cov_ub": 2.0}},
        rule={"name": "clip-cov", "cov_log_prob": "current", "ratio": 1.0, "lower": 0.3, "upper": 2.0,
              "base": rule("grpo")}, departure="covariance-of-divided-advantages"),
    loss(function="kl_cov", share=whole_share, options={"loss_reduction": None, "kl_cov": {
        "kl_cov_frac": 0.2, "ppo_kl_coef": 0.5}},
        rule={"name": "kl-cov", "cov_log_prob": "current", "ratio": 0.2, "coefficient": 0.5}),
    loss(function="kl_cov", options={"kl_cov": {"kl_cov_frac": 0.2, "ppo_kl_coef": 0.5}},
         rule={"name": "kl-cov", "cov_log_prob": "current", "ratio": 0.2, "coefficient": 0.5},
         departure="covariance-of-divided-advantages"),
    *(Case(function="compute_approx_kl", call=kl, options={"kl_estimator_type": name},
           drawn={"drift": 0.1}, rule=kl_rule(name)) for name in ("abs", "k2", "k3")),
    Case(function="compute_approx_kl", call=kl, options={"kl_estimator_type": "k3"},
         rule=kl_rule("k3"), departure="k3-clamp"),
    estimator(function="grpo", options={"epsilon": 0.0}, rule={"name": "grpo", "std_ddof": 1}),
    estimator(function="grpo", rule={"name": "grpo", "std_ddof": 1},
              departure="constant-beside-deviation"),
    estimator(function="grpo", options={"grpo_norm_by_std": False},
              rule={"name": "grpo", "estimator": "group-centered"}),
    estimator(function="maxrl", options={"epsilon": 0.0},
              rule={"name": "reinforce", "estimator": "max-likelihood"}),
    estimator(function="rloo", rule={"name": "reinforce", "estimator": "leave-one-out"}),
    estimator(function="reinforce++", rule={"name": "reinforce", "estimator": "reinforce++"},
              drawn={"holes": 0.0}, departure="means-over-tokens"),
    estimator(function="reinforce++", rule={"name": "reinforce", "estimator": "reinforce++"},
              departure="return-stops-at-holes"),
)

WITHOUT_RULE = {
    "advantages gae": "needs a value model",
    "correction outlier_token_is_threshold_low": "drops a sequence by its token of least ratio",
    "correction outlier_token_is_threshold_high": "drops a sequence by its token of largest ratio",
    "loss cross_entropy": "learns from examples, without rewards",
}
"""What SkyRL has and no rule is, with the reason."""


def registered() -> frozenset[str]:
    """Return the names of all policy losses, estimators and options of corrections that SkyRL has."""
    utils = _utils()
    from skyrl.train.config import OffPolicyCorrectionConfig

    return frozenset(
        [f"loss {name}" for name in utils.PolicyLossRegistry.list_available()]
        + [f"advantages {name}" for name in utils.AdvantageEstimatorRegistry.list_available()]
        + [f"correction {option.name}" for option in dataclasses.fields(OffPolicyCorrectionConfig)])
