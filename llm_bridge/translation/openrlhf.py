"""OpenRLHF's options: flags of ``openrlhf.cli.train_ppo_ray`` (openrlhf/models/loss.py)."""

from __future__ import annotations

from llm_bridge.translation.engine import Choice, Engine, Loss, Options, Term

_CLIP = {"clip_low": "actor.eps_clip_low_high[0]", "clip_high": "actor.eps_clip_low_high[1]",
         "dual_clip": "actor.dual_clip"}
_I = "algo.advantage.is_correction_"
_OVER_TOKENS = {"normalization": "token-mean"}
"""KL and entropy are averaged so, whatever the policy's term is (ppo_actor.py, training_step)."""


def _contradiction(options: Options) -> str:
    clips = options["actor.eps_clip_low_high"]
    if isinstance(clips, int | float):
        return f"actor.eps_clip_low_high takes two numbers, got {clips}: give LOW HIGH"
    level = options[_I + "level"]
    if level != "off" and options["actor.policy_loss_type"] == "gspo":
        return f"{_I}level={level} with gspo has the sampler below its ratio, as no rule here has"
    if level != "off" and options[_I + "gating"] != "ratio":
        return f"no rule here gates by {options[_I + 'gating']} ({_I}gating)"
    return ""


def _corrected(level: str, mode: str, kind: str, bounds: str) -> Term:
    rejects, sides = bounds == "reject_", enumerate(("low", "high"))
    return Term(
        rule="sampler-correction", on={_I + "level": level, _I + "mode": mode},
        options={f"{bounds}{side}": f"{_I}threshold[{place}]" for place, side in sides},
        fixed={"kind": kind, "reject": "geometric" if rejects else "none", "off_policy_threshold": None,
               "above": "old"})


OPENRLHF = Engine(
    name="openrlhf", version="0.11.2", style="flags",
    defaults={
        "actor.eps_clip": 0.2, "actor.eps_clip_low_high": None, "actor.dual_clip": None,
        "actor.policy_loss_type": "ppo", "actor.loss_agg_mode": "token-mean", "actor.entropy_coef": None,
        "actor.adam.lr": 1e-6, "actor.model_name_or_path": None,
        "algo.advantage.estimator": "gae", "algo.advantage.no_std_norm": False,
        "algo.advantage.gamma": 1, "algo.advantage.lambd": 1,
        "algo.advantage.is_correction_level": "off", "algo.advantage.is_correction_mode": "mask",
        "algo.advantage.is_correction_gating": "ratio",
        "algo.advantage.is_correction_threshold": (0.5, 5.0),
        "algo.kl.init_coef": 0.01, "algo.kl.target": None, "algo.kl.horizon": 10000,
        "algo.kl.use_loss": False, "algo.kl.estimator": "k1", "algo.kl.unbiased_gradient": False,
        "rollout.temperature": 1.0, "rollout.top_p": 1.0, "rollout.n_samples_per_prompt": 1,
        "rollout.max_new_tokens": None,
    },
    settings={
        "model": "actor.model_name_or_path", "temperature": "rollout.temperature",
        "top_p": "rollout.top_p",
        "samples_per_prompt": "rollout.n_samples_per_prompt", "max_new_tokens": "rollout.max_new_tokens",
        "learning_rate": "actor.adam.lr",
    },
    fallback={f"actor.eps_clip_low_high[{side}]": "actor.eps_clip" for side in (0, 1)},
    contradiction=_contradiction,
    loss=Choice(by=("actor.policy_loss_type",), of={
        ("ppo",): Loss(rule="grpo", options=_CLIP),
        # Each sequence counts the same there, whatever the aggregation.
        ("gspo",): Loss(rule="gspo", options=_CLIP, fixed={"normalization": "sequence-mean"}),
    }),
    estimator=Choice(by=("algo.advantage.estimator",), of={
        ("group_norm",): ("group-normalized", 1), ("dr_grpo",): ("group-centered", 0),
        ("rloo",): ("leave-one-out", 0), ("reinforce_baseline",): ("reinforce++-baseline", 0),
        ("reinforce",): ("reinforce++", 0)}),
    normalization=Choice(by=("actor.loss_agg_mode",), of={
        ("token-mean",): ("token-mean", None), ("seq-mean-token-mean",): ("sequence-mean", None)}),
    terms=(
        _corrected("token", "clip", "token-truncate", ""), _corrected("token", "mask", "token-mask", ""),
        _corrected("seq", "mask", "token", "reject_"),
        Term(rule="reference-kl", on={"algo.kl.use_loss": True}, positive="algo.kl.init_coef",
             options={"coefficient": "algo.kl.init_coef"}, fixed={"placement": "loss", **_OVER_TOKENS},
             chosen=(("estimator", Choice(
                 by=("algo.kl.estimator", "algo.kl.unbiased_gradient", "algo.kl.target"),
                 of={("k3", False, None): "k3", ("k2", False, None): "k2",
                     **{(name, True, None): "k3-corrected" for name in ("k3", "k2", "k1")}})),)),
        Term(rule="", on={"algo.kl.use_loss": False}, positive="algo.kl.init_coef",
             refusal="a KL that is added to advantages after they are normalized (algo.kl.use_loss is "
                     "not set and algo.kl.init_coef is not 0)"),
        Term(rule="entropy-bonus", positive="actor.entropy_coef",
             options={"coefficient": "actor.entropy_coef"}, fixed=_OVER_TOKENS),
    ),
)
