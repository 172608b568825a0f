"""Options of slime: flags of ``train.py`` (slime/utils/arguments.py, backends/megatron_utils/loss.py)."""

from __future__ import annotations

from llm_bridge.translation.engine import Choice, Engine, Loss, Term

_CLIP = {"clip_low": "eps_clip", "clip_high": "eps_clip_high", "dual_clip": "eps_clip_c"}
_GROUPED = ("grpo", "gspo", "cispo")
SLIME = Engine(
    name="slime", version="of 2026-08-21", style="flags",
    defaults={
        "eps_clip": 0.2, "eps_clip_high": None, "eps_clip_c": None, "advantage_estimator": "grpo",
        "disable_grpo_std_normalization": False, "disable_rewards_normalization": False,
        "normalize_advantages": False, "calculate_per_token_loss": False, "use_kl_loss": False,
        "kl_loss_coef": 0.0, "kl_loss_type": "k1", "use_unbiased_kl": False, "kl_coef": 0.0,
        "entropy_coef": 0.0, "use_tis": False, "tis_clip": 2.0, "tis_clip_low": 0.0, "use_opsm": False,
        "opsm_delta": 1e-4, "use_rollout_logprobs": False, "rollout_temperature": 1.0,
        "rollout_top_p": 1.0, "rollout_top_k": -1, "n_samples_per_prompt": 1,
        "rollout_max_response_len": None, "lr": 1e-6, "hf_checkpoint": None,
    },
    settings={
        "model": "hf_checkpoint", "temperature": "rollout_temperature", "top_p": "rollout_top_p",
        "top_k": "rollout_top_k", "samples_per_prompt": "n_samples_per_prompt",
        "max_new_tokens": "rollout_max_response_len", "learning_rate": "lr",
    },
    fallback={"eps_clip_high": "eps_clip"},
    only={"use_opsm": (False,)},
    loss=Choice(by=("advantage_estimator", "use_rollout_logprobs"), of={
        ("grpo", False): Loss(rule="grpo", options=_CLIP),
        ("gspo", False): Loss(rule="gspo", options=_CLIP),
        ("cispo", False): Loss(rule="cispo", fixed={"anchor": "old"},
                               options={"clip_low": "eps_clip", "clip_high": "eps_clip_high"}),
        ("reinforce_plus_plus_baseline", False): Loss(rule="grpo", options=_CLIP),
    }),
    estimator=Choice(
        by=("advantage_estimator", "disable_rewards_normalization", "disable_grpo_std_normalization",
            "normalize_advantages"),
        of={**{(name, False, False, False): ("group-normalized", 1) for name in _GROUPED},
            **{(name, False, True, False): ("group-centered", 0) for name in _GROUPED},
            **{(name, True, False, False): ("reward", 0) for name in _GROUPED},
            ("reinforce_plus_plus_baseline", False, False, True): ("reinforce++-baseline", 0)}),
    normalization=Choice(by=("calculate_per_token_loss",), of={
        (False,): ("sequence-mean", None), (True,): ("token-mean", None)}),
    terms=(
        Term(rule="sampler-correction", on={"use_tis": True},
             options={"low": "tis_clip_low", "high": "tis_clip"},
             fixed={"kind": "token-truncate", "reject": "none", "off_policy_threshold": None,
                    "above": "old"}),
        Term(rule="reference-kl", on={"use_kl_loss": True}, positive="kl_loss_coef",
             options={"coefficient": "kl_loss_coef"}, fixed={"placement": "loss"},
             chosen=(("estimator", Choice(by=("kl_loss_type", "use_unbiased_kl"), of={
                 ("k3", False): "k3", ("low_var_kl", False): "k3", ("k2", False): "k2",
                 ("k3", True): "k3-corrected", ("low_var_kl", True): "k3-corrected"})),)),
        Term(rule="entropy-bonus", positive="entropy_coef", options={"coefficient": "entropy_coef"},
             shares_normalization=True),
    ),
)
