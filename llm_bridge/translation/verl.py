"""verl's options: ``ppo_trainer.yaml`` and Hydra overrides (verl/trainer/ppo/core_algos.py)."""

from __future__ import annotations

import math

from llm_bridge.translation.engine import Choice, Engine, Loss, Options, Term

A, G, R = "actor_rollout_ref.actor.", "algorithm.", "actor_rollout_ref.rollout."
_P, _C = A + "policy_loss.", G + "rollout_correction."
_CLIP = {"clip_low": A + "clip_ratio_low", "clip_high": A + "clip_ratio_high"}
_WHOLE = {"cov_log_prob": "current", "at_least_one": True}
"""Clip-Cov and KL-Cov select by the policy being trained, at least one token."""
_BY_SEQUENCE = {"normalization": "sequence-mean", "max_length": None}
"""SAPO and GMPO count each sequence the same, whatever the aggregation, which KL and entropy go by."""


def _corrected(level: str, bound: str) -> Term:
    low, high = (f"{_C}rollout_is_threshold[{place}]" for place in (0, 1))
    masks = bound == "mask"
    return Term(
        rule="sampler-correction", on={_C + "rollout_is": level}, positive=low if masks else "",
        absent="" if masks else low, options={**({"low": low} if masks else {}), "high": high},
        fixed={"kind": f"{level}-{bound}", **({} if masks else {"low": 0.0}), "reject": "none",
               "off_policy_threshold": None, "above": "old"})


def _contradiction(options: Options) -> str:
    mode = options[_P + "loss_mode"]
    penalized = options[A + "entropy_coeff"] or (
        options[A + "use_kl_loss"] and options[A + "kl_loss_coef"])
    aggregation = options[A + "loss_agg_mode"]
    if mode in ("sapo", "geo_mean") and penalized and aggregation.startswith("seq-mean-token-sum"):
        return (f"loss_agg_mode={aggregation} is for the penalty alone where loss_mode={mode}, which no "
                "rule does: set loss_agg_mode to token-mean or seq-mean-token-mean")
    if mode == "geo_mean" and options[_C + "rollout_is"]:
        return ("loss_mode=geo_mean weighs a sequence by the geometric mean of its weights, as no rule "
                "does: set rollout_correction.rollout_is=null")
    return ""


VERL = Engine(
    name="verl", version="0.9.1", style="overrides",
    defaults={
        A + "clip_ratio": 0.2, A + "clip_ratio_low": 0.2, A + "clip_ratio_high": 0.2,
        A + "clip_ratio_c": 3.0, A + "loss_agg_mode": "token-mean", A + "loss_scale_factor": None,
        A + "entropy_coeff": 0, A + "use_kl_loss": False, A + "kl_loss_coef": 0.001,
        A + "kl_loss_type": "low_var_kl", A + "tau_pos": 1.0, A + "tau_neg": 1.05, A + "optim.lr": 1e-6,
        _P + "loss_mode": "vanilla", _P + "clip_cov_ratio": 2e-4, _P + "clip_cov_lb": 1.0,
        _P + "clip_cov_ub": 5.0, _P + "kl_cov_ratio": 2e-4, _P + "ppo_kl_coef": 0.1,
        _P + "dro_beta": None,
        G + "adv_estimator": "gae", G + "norm_adv_by_std_in_grpo": True, G + "gamma": 1.0, G + "lam": 1.0,
        G + "use_kl_in_reward": False, G + "kl_penalty": "kl", G + "kl_ctrl.type": "fixed",
        G + "kl_ctrl.kl_coef": 0.001, G + "kl_ctrl.horizon": 10000, G + "kl_ctrl.target_kl": 0.1,
        R + "temperature": 1.0, R + "top_p": 1.0, R + "top_k": -1, R + "n": 1,
        _C + "rollout_is": None, _C + "rollout_is_threshold": 2.0,
        _C + "rollout_rs": None, _C + "rollout_rs_threshold": None,
        _C + "bypass_mode": False,
        _C + "rollout_is_batch_normalize": False,
        "data.max_response_length": 512, "actor_rollout_ref.model.path": None,
    },
    settings={
        "model": "actor_rollout_ref.model.path", "temperature": R + "temperature", "top_p": R + "top_p",
        "top_k": R + "top_k", "samples_per_prompt": R + "n",
        "max_new_tokens": "data.max_response_length", "learning_rate": A + "optim.lr",
    },
    fallback={A + "clip_ratio_low": A + "clip_ratio", A + "clip_ratio_high": A + "clip_ratio",
              A + "loss_scale_factor": "data.max_response_length"},
    # What rollout_rs rejects leaves the means over tokens too.
    only={_C + "rollout_rs": (None,), _C + "bypass_mode": (False,), _C + "rollout_is": (
        None, "token", "sequence"), _C + "rollout_is_batch_normalize": (False,)},
    joined={_C + "rollout_is_threshold": "_"},
    never={A + "clip_ratio_c": 1e9},  # log ratios are clamped at 20, and e^20 is below
    contradiction=_contradiction,
    loss=Choice(by=(_P + "loss_mode",), of={
        ("vanilla",): Loss(rule="grpo", options={**_CLIP, "dual_clip": A + "clip_ratio_c"}),
        ("gspo",): Loss(rule="gspo", options=_CLIP),
        ("cispo",): Loss(rule="cispo", options=_CLIP, fixed={"anchor": "old"}),
        ("sapo",): Loss(rule="sapo", fixed={"anchor": "old", **_BY_SEQUENCE},
                        options={"tau_positive": A + "tau_pos", "tau_negative": A + "tau_neg"}),
        ("geo_mean",): Loss(rule="gmpo", options=_CLIP, fixed={"anchor": "old", **_BY_SEQUENCE}),
        **{(f"dppo_{short}",): Loss(
            rule="dppo", fixed={"kind": kind, "anchor": "old", "two_sided": False},
            options={"delta_low": A + "clip_ratio_low", "delta_high": A + "clip_ratio_high",
                     "truncation": A + "clip_ratio_c"})
           for short, kind in (("tv", "total-variation"), ("kl", "kl"))},
        ("gpg",): Loss(rule="reinforce"),
        ("dro",): Loss(rule="dro", options={"beta": _P + "dro_beta"}, fixed={"anchor": "old"},
                       base=Loss(rule="reinforce")),
        ("clip_cov",): Loss(
            rule="clip-cov", fixed=_WHOLE, base=Loss(rule="grpo", options=_CLIP),
            options={"ratio": _P + "clip_cov_ratio", "lower": _P + "clip_cov_lb",
                     "upper": _P + "clip_cov_ub"}),
        ("kl_cov",): Loss(
            rule="kl-cov", fixed=_WHOLE,
            base=Loss(rule="grpo", fixed={"clip_low": math.inf, "clip_high": math.inf}),
            options={"ratio": _P + "kl_cov_ratio", "coefficient": _P + "ppo_kl_coef"}),
    }),
    estimator=Choice(by=(G + "adv_estimator", G + "norm_adv_by_std_in_grpo"), of={
        ("grpo", True): ("group-normalized", 1), ("grpo", False): ("group-centered", 0),
        # verl's trainer does not hand the second option to the vectorized form.
        **{("grpo_vectorized", scaled): ("group-normalized", 1) for scaled in (True, False)},
        # These divide by no deviation of a group, whatever the second option.
        **{(name, scaled): (ours, 0) for scaled in (True, False) for name, ours in (
            ("rloo", "leave-one-out"), ("rloo_vectorized", "leave-one-out"), ("opo", "opo"),
            ("gpg", "gpg"))},
    }),
    normalization=Choice(by=(A + "loss_agg_mode",), of={
        ("token-mean",): ("token-mean", None), ("seq-mean-token-mean",): ("sequence-mean", None),
        ("seq-mean-token-sum",): ("dr-grpo", 1),
        ("seq-mean-token-sum-norm",): ("dr-grpo", A + "loss_scale_factor"),
    }),
    terms=(
        *(_corrected(level, bound) for level in ("token", "sequence") for bound in ("truncate", "mask")),
        Term(rule="reference-kl", on={G + "use_kl_in_reward": True, G + "kl_ctrl.type": "fixed"},
             positive=G + "kl_ctrl.kl_coef", options={"coefficient": G + "kl_ctrl.kl_coef"},
             fixed={"placement": "reward"},
             chosen=(("estimator", Choice(by=(G + "kl_penalty",), of={("kl",): "k1", ("k1",): "k1"})),)),
        Term(rule="reference-kl", on={A + "use_kl_loss": True}, positive=A + "kl_loss_coef",
             options={"coefficient": A + "kl_loss_coef"}, fixed={"placement": "loss"},
             shares_normalization=True,
             chosen=(("estimator", Choice(by=(A + "kl_loss_type",), of={
                 ("low_var_kl",): "k3", ("k3",): "k3", ("mse",): "k2", ("k2",): "k2",
                 # With a plus the gradient is that of k2, whatever the value.
                 **{(name + "+",): "k2" for name in ("kl", "k1", "abs", "low_var_kl", "k3", "mse", "k2")},
             })),)),
        Term(rule="entropy-bonus", positive=A + "entropy_coeff",
             options={"coefficient": A + "entropy_coeff"}, shares_normalization=True),
    ),
)
