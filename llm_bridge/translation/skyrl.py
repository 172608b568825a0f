"""SkyRL's options: ``trainer.algorithm`` (skyrl/backends/skyrl_train/utils/ppo_utils.py)."""

from __future__ import annotations

import math
from typing import Any

from llm_bridge.translation.engine import Choice, Engine, Loss, Options, Term

A, S = "trainer.algorithm.", "generator.sampling_params."
_CLIP = {"clip_low": A + "eps_clip_low", "clip_high": A + "eps_clip_high"}
_O = A + "off_policy_correction."
_WHOLE = {"cov_log_prob": "current", "at_least_one": True}


_REJECTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "none": ({_O + "sequence_mask_metric": None}, ""),
    "token": ({_O + "sequence_mask_metric": None}, "token_mask_is_threshold"),
    "geometric": ({_O + "sequence_mask_metric": "geometric"}, "geo_mask"),
    "sequence": ({_O + "sequence_mask_metric": "product"}, "product_mask"),
}
"""For each way to reject, the option's value and the first part of both bounds' names."""


def _contradiction(options: Options) -> str:
    bounds = [options[f"{_O}token_mask_is_threshold_{side}"] for side in ("low", "high")]
    metric = options[_O + "sequence_mask_metric"]
    if (None in bounds) != (bounds == [None, None]):
        return "token_mask_is_threshold_low and _high are read together: set both"
    level = options[_O + "tis_ratio_type"]
    if None not in bounds and (metric is not None or level == "sequence"):
        return ("token_mask_is_threshold leaves a sequence's ratio to the tokens kept, as no rule does: "
                "set sequence_mask_metric=null and tis_ratio_type=token")
    loss = options[A + "policy_loss_type"]
    corrected = level is not None or metric is not None or None not in bounds
    if corrected and loss in ("clip_cov", "kl_cov"):
        return f"{A}policy_loss_type={loss} does not go with off_policy_correction: leave that out"
    return ""


def _corrected(level: str | None, reject: str) -> Term:
    on, bound = _REJECTIONS[reject]
    sides = {f"reject_{side}": f"{_O}{bound}_{side}" for side in ("low", "high")} if bound else {}
    highest = {"high": f"{_O}{level}_tis_ratio_clip_high"} if level else {}
    return Term(
        rule="sampler-correction", on={_O + "tis_ratio_type": level, **on}, options={**highest, **sides},
        positive=sides["reject_high"] if reject == "token" else "",
        absent=_O + "token_mask_is_threshold_high" if reject == "none" else "",
        fixed={"kind": f"{level}-truncate" if level else "none", "low": 0.0, "reject": reject,
               "off_policy_threshold": None, "above": "old"})


SKYRL = Engine(
    name="skyrl", version="0.3", style="overrides",
    defaults={
        A + "advantage_estimator": "grpo", A + "grpo_norm_by_std": True,
        A + "policy_loss_type": "regular",
        A + "loss_reduction": "token_mean", A + "max_seq_len": None, A + "eps_clip_low": 0.2,
        A + "eps_clip_high": 0.2, A + "clip_ratio_c": 3.0, A + "use_kl_loss": True,
        A + "kl_loss_coef": 0.001, A + "kl_estimator_type": "k3", A + "use_kl_in_reward": False,
        A + "kl_ctrl.type": "fixed", A + "use_entropy_loss": False, A + "entropy_loss_coef": 0.01,
        A + "advantage_batch_normalize": False, A + "clip_cov.clip_ratio": 2e-4,
        A + "clip_cov.clip_cov_lb": 1.0, A + "clip_cov.clip_cov_ub": 5.0, A + "kl_cov.kl_cov_frac": 0.2,
        A + "kl_cov.ppo_kl_coef": 1.0, A + "sapo.tau_pos": 1.0, A + "sapo.tau_neg": 1.05,
        A + "cispo.cispo_eps_clip_low": 0.0, A + "cispo.cispo_eps_clip_high": 5.0,
        A + "dppo.dppo_type": "binary_tv", A + "dppo.delta_low": 0.2, A + "dppo.delta_high": 0.2,
        _O + "tis_ratio_type": None, _O + "token_tis_ratio_clip_high": 2.0,
        _O + "sequence_tis_ratio_clip_high": 5.0, _O + "sequence_mask_metric": None,
        _O + "outlier_token_is_threshold_low": None, _O + "outlier_token_is_threshold_high": None,
        _O + "token_mask_is_threshold_low": None, _O + "token_mask_is_threshold_high": None,
        _O + "geo_mask_low": 0.99, _O + "geo_mask_high": 1.01,
        _O + "product_mask_low": 0.5, _O + "product_mask_high": 2.0,
        A + "zero_variance_filter": False,
        S + "temperature": 1.0, S + "top_p": 1.0, S + "top_k": -1, S + "min_p": 0.0,
        S + "max_generate_length": 1024, "generator.n_samples_per_prompt": 5,
        "trainer.policy.optimizer_config.lr": 1e-6, "trainer.policy.model.path": None,
    },
    settings={
        "model": "trainer.policy.model.path", "temperature": S + "temperature", "top_p": S + "top_p",
        "top_k": S + "top_k", "min_p": S + "min_p",
        "samples_per_prompt": "generator.n_samples_per_prompt",
        "max_new_tokens": S + "max_generate_length",
        "learning_rate": "trainer.policy.optimizer_config.lr",
    },
    only={A + "zero_variance_filter": (False,), _O + "tis_ratio_type": (None, "token", "sequence"),
          _O + "sequence_mask_metric": (None, "geometric", "product"),
          **{f"{_O}outlier_token_is_threshold_{side}": (None,) for side in ("low", "high")}},
    contradiction=_contradiction,
    loss=Choice(by=(A + "policy_loss_type",), of={
        ("regular",): Loss(rule="grpo", options=_CLIP),
        ("dual_clip",): Loss(rule="grpo", options={**_CLIP, "dual_clip": A + "clip_ratio_c"}),
        ("gspo",): Loss(rule="gspo", options=_CLIP),
        ("cispo",): Loss(rule="cispo", fixed={"anchor": "old"},
                         options={"clip_low": A + "cispo.cispo_eps_clip_low",
                                  "clip_high": A + "cispo.cispo_eps_clip_high"}),
        ("sapo",): Loss(rule="sapo", fixed={"anchor": "old"},
                        options={"tau_positive": A + "sapo.tau_pos", "tau_negative": A + "sapo.tau_neg"}),
        # Its ratio is over what was sampled from, and is not truncated.
        ("dppo",): Loss(
            rule="dppo", fixed={"anchor": "sampling", "truncation": math.inf, "two_sided": False},
            options={"delta_low": A + "dppo.delta_low", "delta_high": A + "dppo.delta_high"},
            chosen=(("kind", Choice(by=(A + "dppo.dppo_type",), of={
                ("binary_tv",): "total-variation", ("binary_kl",): "kl"})),)),
        ("clip_cov",): Loss(
            rule="clip-cov", fixed=_WHOLE, base=Loss(rule="grpo", options=_CLIP),
            options={"ratio": A + "clip_cov.clip_ratio", "lower": A + "clip_cov.clip_cov_lb",
                     "upper": A + "clip_cov.clip_cov_ub"}),
        ("kl_cov",): Loss(
            rule="kl-cov", fixed=_WHOLE,
            base=Loss(rule="grpo", fixed={"clip_low": math.inf, "clip_high": math.inf}),
            options={"ratio": A + "kl_cov.kl_cov_frac", "coefficient": A + "kl_cov.ppo_kl_coef"}),
    }),
    estimator=Choice(by=(
        A + "advantage_estimator", A + "grpo_norm_by_std", A + "advantage_batch_normalize"),
                     of={("grpo", True, False): ("group-normalized", 1),
                         ("grpo", False, False): ("group-centered", 0),
                         **{(name, scaled, False): (ours, 0) for scaled in (True, False)
                            for name, ours in (("rloo", "leave-one-out"), ("maxrl", "max-likelihood"))}}),
    normalization=Choice(by=(A + "loss_reduction",), of={
        ("token_mean",): ("token-mean", None), ("sequence_mean",): ("sequence-mean", None),
        ("seq_mean_token_sum_norm",): ("dr-grpo", A + "max_seq_len")}),
    terms=(
        *(_corrected(level, reject) for level in (None, "token", "sequence") for reject in _REJECTIONS
          if level or reject != "none"),
        Term(rule="reference-kl", on={A + "use_kl_in_reward": True, A + "kl_ctrl.type": "fixed"},
             positive=A + "kl_loss_coef", options={"coefficient": A + "kl_loss_coef"},
             fixed={"placement": "reward"},
             chosen=(("estimator", Choice(by=(A + "kl_estimator_type",), of={("k1",): "k1"})),)),
        # Averaged in each sequence, then over sequences, whatever the loss's reduction.
        Term(rule="reference-kl", on={A + "use_kl_loss": True}, positive=A + "kl_loss_coef",
             options={"coefficient": A + "kl_loss_coef"},
             fixed={"placement": "loss", "normalization": "sequence-mean"},
             chosen=(("estimator", Choice(by=(A + "kl_estimator_type",),
                                          of={("k3",): "k3", ("k2",): "k2"})),)),
        Term(rule="entropy-bonus", on={A + "use_entropy_loss": True}, positive=A + "entropy_loss_coef",
             options={"coefficient": A + "entropy_loss_coef"}, fixed={"normalization": "token-mean"}),
    ),
)
