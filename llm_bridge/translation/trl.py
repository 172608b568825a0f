"""TRL's options: a `GRPOConfig` (trl/trainer/grpo_trainer.py, ``_compute_loss``)."""

from __future__ import annotations

from llm_bridge.translation.engine import Choice, Engine, Linear, Loss, Options, Term

_CLIP = {"clip_low": "epsilon", "clip_high": "epsilon_high", "dual_clip": "delta"}
_NORMALIZATIONS = {
    "grpo": ("sequence-mean", None), "dapo": ("token-mean", None), "bnpo": ("token-mean", None),
    "dr_grpo": ("dr-grpo", "max_completion_length"), "luspo": ("dr-grpo", 1),
    "cispo": ("token-mean", None), "sapo": ("sequence-mean", None), "vespo": ("token-mean", None),
}
OWN_LOSSES = ("cispo", "sapo", "vespo")
"""Values of ``loss_type`` that are losses of their own, and not another normalization of GRPO's."""


def _contradiction(options: Options) -> str:
    delta, high = options["delta"], options["epsilon_high"]
    if delta is not None and delta < 1 + high:
        return (f"delta={delta} is below the upper clip 1 + {high}, where TRL clips rising tokens by it "
                "too: raise it, or lower epsilon_high")
    by_sequence = options["importance_sampling_level"] == "sequence"
    if by_sequence and options["beta"] and options["use_bias_correction_kl"]:
        return ("use_bias_correction_kl with importance_sampling_level=sequence weighs each token's KL "
                "by the ratio of its sequence, which no rule does: set use_bias_correction_kl=False")
    corrected = options["use_vllm"] and options["vllm_importance_sampling_correction"]
    by_token = corrected and options["vllm_importance_sampling_mode"].startswith("token")
    if by_sequence and (by_token or options["top_entropy_quantile"] < 1):
        return ("importance_sampling_level=sequence spreads a token's weight over its sequence, which no "
                "rule does: set top_entropy_quantile=1.0 and a sampling mode of sequences")
    if options["loss_type"] == "vespo" and corrected:
        return (
            "loss_type=vespo limits vLLM's ratio of each token before it multiplies them, which no rule "
            "does: set vllm_importance_sampling_correction=False, or give the rule vespo with anchor "
            "'sampling'")
    quantile = options["top_entropy_quantile"]
    if quantile < 1 and (options["entropy_coef"] or options["use_adaptive_entropy"]):
        return (
            f"top_entropy_quantile={quantile} beside an entropy bonus gives the bonus to the selected "
            "tokens alone, which no rule does: set entropy_coef=0 and use_adaptive_entropy=False, or "
            "top_entropy_quantile=1.0")
    return ""


TRL = Engine(
    name="trl", version="1.16", style="json",
    defaults={
        "loss_type": "dapo", "epsilon": 0.2, "epsilon_high": None, "delta": None,
        "importance_sampling_level": "token", "scale_rewards": "group", "beta": 0.0,
        "use_bias_correction_kl": True, "entropy_coef": 0.0, "top_entropy_quantile": 1.0,
        "use_adaptive_entropy": False, "entropy_target": 0.2, "entropy_coef_delta": 0.005,
        "entropy_coef_min": 0.0, "entropy_coef_max": 1.0, "off_policy_mask_threshold": None,
        "sapo_temperature_neg": 1.05, "sapo_temperature_pos": 1.0, "vespo_k_pos": 2.0,
        "vespo_lambda_pos": 3.0, "vespo_k_neg": 3.0, "vespo_lambda_neg": 2.0, "use_vllm": False,
        "vllm_importance_sampling_correction": True, "vllm_importance_sampling_mode": "sequence_mask",
        "vllm_importance_sampling_clip_max": 3.0, "vllm_importance_sampling_clip_min": None,
        "temperature": 1.0, "top_p": 1.0, "top_k": 0, "min_p": None, "num_generations": 8,
        "max_completion_length": 512, "learning_rate": 1e-6, "model_name_or_path": None,
    },
    settings={
        "model": "model_name_or_path", "temperature": "temperature", "top_p": "top_p", "top_k": "top_k",
        "min_p": "min_p", "samples_per_prompt": "num_generations",
        "max_new_tokens": "max_completion_length", "learning_rate": "learning_rate",
    },
    fallback={"epsilon_high": "epsilon"},
    contradiction=_contradiction,
    loss=Choice(by=("loss_type", "importance_sampling_level"), of={
        (kind, level): Loss(rule=rule, options=_CLIP)
        for kind in _NORMALIZATIONS if kind not in OWN_LOSSES
        for level, rule in (("token", "grpo"), ("sequence", "gspo"))} | {
        # An upper bound alone, and on the ratio itself.
        ("cispo", "token"): Loss(rule="cispo", options={"clip_high": Linear("epsilon_high", shift=-1.0)},
                                 fixed={"clip_low": 1.0, "anchor": "old"}),
        ("sapo", "token"): Loss(
            rule="sapo", fixed={"anchor": "old"},
            options={"tau_positive": "sapo_temperature_pos", "tau_negative": "sapo_temperature_neg"}),
        ("vespo", "token"): Loss(
            rule="vespo", fixed={"anchor": "old"},
            options={"power_positive": "vespo_k_pos", "decay_positive": "vespo_lambda_pos",
                     "power_negative": "vespo_k_neg", "decay_negative": "vespo_lambda_neg"}),
    }),
    estimator=Choice(by=("scale_rewards",), of={
        ("group",): ("group-normalized", 1), ("none",): ("group-centered", 0),
        (True,): ("group-normalized", 1), (False,): ("group-centered", 0)}),
    normalization=Choice(by=("loss_type",), of={(kind,): each for kind, each in _NORMALIZATIONS.items()}),
    terms=(
        Term(rule="sampler-correction", fixed={"reject": "none", "above": "old"},
             options={"low": Linear("vllm_importance_sampling_clip_min", unset=0.0),
                      "high": "vllm_importance_sampling_clip_max",
                      "off_policy_threshold": "off_policy_mask_threshold"},
             inert={"kind": "none", "off_policy_threshold": None},
             chosen=(("kind", Choice(
                 by=("use_vllm", "vllm_importance_sampling_correction", "vllm_importance_sampling_mode"),
                 of={(vllm, on, mode): mode.replace("_", "-") if vllm and on else "none"
                     for vllm in (True, False) for on in (True, False)
                     for mode in ("sequence_mask", "token_mask", "token_truncate", "sequence_truncate")},
             )),)),
        Term(rule="top-entropy", options={"share": "top_entropy_quantile"}, inert={"share": 1.0}),
        Term(rule="reference-kl", positive="beta", options={"coefficient": "beta"},
             fixed={"placement": "loss"},
             chosen=(("estimator", Choice(by=("use_bias_correction_kl",),
                                          of={(True,): "k3-corrected", (False,): "k3"})),)),
        Term(rule="entropy-bonus", on={"use_adaptive_entropy": False}, positive="entropy_coef",
             options={"coefficient": "entropy_coef"},
             fixed={"normalization": "token-mean", "target": None}),
        Term(rule="entropy-bonus", on={"use_adaptive_entropy": True}, needs=("target",),
             options={"coefficient": "entropy_coef", "target": "entropy_target",
                      "coefficient_step": "entropy_coef_delta", "coefficient_low": "entropy_coef_min",
                      "coefficient_high": "entropy_coef_max"},
             fixed={"normalization": "token-mean"}),
    ),
)
