"""Guards defaults, ranges and declarations of rules and controllers, at each bound and just beyond it."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from entropy_theory import controllers, forecast_coefficient, update_rules
from entropy_theory.targets import TargetPolicy

GRADIENT = {"normalization": "sequence-mean", "std_ddof": 0, "estimator": "group-normalized",
            "estimator_parameter": None, "dynamic_sampling": False, "overlong_buffer": None,
            "group_size": None, "max_length": None}
GRPO = {**GRADIENT, "clip_low": 0.2, "clip_high": 0.2, "dual_clip": None}
TOKENS = {"normalization": "token-mean"}
HELD = {"target": None, "target_schedule": None, "hold": "integral", "coefficient_low": 0.0,
        "coefficient_high": 1.0, "horizon": 20.0, "smoothing": 0.9, "feedback_horizon": 200.0,
        "prompt_gain": 0.0, "coefficient_schedule": None}
# What the papers print, and where they print nothing what results were computed with.
DEFAULTS = {
    "reinforce": {**GRADIENT, "estimator": "reward"},
    "grpo": GRPO,
    "clip-higher": {**GRPO, "clip_high": 0.28},  # DAPO, section 4.1
    "gspo": {**GRPO, "clip_low": 3e-4, "clip_high": 4e-4},  # GSPO, section 5.1
    # Each file names the paper or engine of its numbers.
    "cispo": {**GRADIENT, **TOKENS, "clip_low": 1.0, "clip_high": 4.0, "anchor": "old"},
    "sapo": {**GRADIENT, "tau_positive": 1.0, "tau_negative": 1.05, "anchor": "old"},
    "dppo": {**GRADIENT, **TOKENS, "kind": "total-variation", "delta_low": 0.2, "delta_high": 0.2,
             "truncation": 20.0, "anchor": "old", "two_sided": False},
    "vespo": {**GRADIENT, **TOKENS, "power_positive": 2.0, "decay_positive": 3.0, "power_negative": 3.0,
              "decay_negative": 2.0, "anchor": "old"},
    "gmpo": {**GRADIENT, "clip_low": 0.4, "clip_high": 0.4, "anchor": "old"},
    "ce-gppo": {**GRPO, **TOKENS, "clip_high": 0.28, "beta_low": 0.75, "beta_high": 1.0},
    "bapo": {**GRPO, **TOKENS, "clip_low": 0.4, "clip_high": 0.2, "dual_clip": 3.0, "clip_low_end": 0.1,
             "clip_high_end": 2.0, "clip_step": 0.05, "target": 0.5},
    "topr": {**GRADIENT, "level": "sequence", "anchor": "old"},
    "aspo": {**GRADIENT, **TOKENS, "clip_low": 0.2, "clip_high": 0.2, "limit": 3.0, "anchor": "old"},
    "dcpo": {**GRPO, "clip_low": 0.16, "clip_high": 0.2, "dual_clip": 10.0},
    "dro": {"beta": 0.1, "anchor": "old"},
    "erc": {"beta_low": 0.05, "beta_high": 0.05},
    "fipo": {"half_life": 32.0, "clip_low": 0.0, "clip_high": 0.2, "safe_ratio": 4.0, "limit": None},
    "m2po": {"threshold": 0.04, "above": "old"},
    "sampler-correction": {"kind": "token-truncate", "low": 0.0, "high": 2.0, "reject": "none",
                           "reject_low": 0.5, "reject_high": 2.0, "off_policy_threshold": None,
                           "above": "old"},
    "natural-gradient": {"estimator": "reward"},
    "entropy-bonus": {**HELD, "coefficient": 0.015, "normalization": "sequence-mean",
                      "coefficient_step": 5e-3},
    "diverse-bonus": {**HELD, "coefficient": 0.05, "normalization": "token-mean",
                      "coefficient_step": 5e-3, "positive_reward": 1.0},
    "entropy-advantage": {"beta": 0.4, "kappa": 2.0},
    "reference-kl": {"coefficient": 0.01, "estimator": "k2", "placement": "loss", "normalization": None},
    # Cui et al., section 4.3 and their code.
    "clip-cov": {"ratio": 2e-4, "lower": 1.0, "upper": 5.0, "cov_log_prob": "old",
                 "covariance": "tabular", "at_least_one": False},
    "kl-cov": {"ratio": 2e-3, "coefficient": 1.0, "penalty": "absolute", "cov_log_prob": "old",
               "covariance": "tabular", "at_least_one": False},
    "aepo": {"alpha": 1.0, "temperature_high": 1.2, "temperature_low": 0.8, "target": 0.5,
             "target_schedule": None, "normalize": "samples", "ablation": "none",
             "positive_reward": 1.0, "control": "switch", "towards": TargetPolicy(), "form": "paper",
             "replaced_rows": 60},
    # AEnt, the MATH run.
    "aent": {**HELD, "coefficient": 0.002, "normalization": "token-mean", "removed_fraction": 0.33,
             "adaptive": True, "entropy_low": 0.15, "entropy_high": 0.24, "coefficient_step": 0.002,
             "coefficient_low": 6e-4, "coefficient_high": 9e-3, "warm_up_steps": 30},
    # The authors' code, where there is some; else the papers.
    "w-reinforce": {"positive_weight": 0.1},
    "repo": {"log_prob": "old", "beta": 0.01},
    "repo-r": {"log_prob": "old", "zeta": 0.001},
    "steer": {"log_prob": "old", "weight_low": 0.8, "weight_high": 1.2, "mapping": "exponential"},
    "stare": {"log_prob": "old", "share": 0.1, "coefficient": 0.1, "both": False, "target": 0.3,
              "coefficient_step": 0.0, "coefficient_high": 0.5},
    "entropic": {"target": 0.1, "coefficient": 0.0, "proportional": 1.0, "integral": 0.01,
                 "threshold": 0.95},
    "entrocraft": {"entropy_low": 0.6, "entropy_high": 0.7, "low_schedule": None},
    "top-entropy": {"share": 0.2},
    "unlikeliness": {"beta": 0.25},
    "difficulty": {"weight_low": 0.4, "weight_high": 1.5, "middle": 0.75, "steepness": 10.0,
                   "positive_reward": 1.0},
    "lp-reg": {"share": 0.01, "coefficient": 1.0},
}
OTHER_BASES = {
    "kl-cov": ("grpo", {"clip_low": math.inf, "clip_high": math.inf, **TOKENS}),
    "w-reinforce": ("grpo", {"estimator": "signed", **TOKENS}),
    "dro": ("reinforce", {"estimator": "group-normalized", **TOKENS}),
}


def test_every_rule_s_defaults_are_listed():
    assert DEFAULTS.keys() == update_rules.RULES.keys()


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_are_those_that_results_were_computed_with(name):
    """A default that moves changes every result that names none."""
    rule = update_rules.get(name)
    options = {field.name: getattr(rule, field.name) for field in dataclasses.fields(rule)}
    assert not hasattr(rule, "__dict__")
    base = options.pop("base", None)
    assert options == DEFAULTS[name]
    if base is not None:
        base_name, base_options = OTHER_BASES.get(name, ("grpo", {}))
        assert base == update_rules.get(base_name, **base_options)


@pytest.mark.parametrize(("kind", "defaults"), [
    (controllers.TemperatureSwitch, {
        "target": 0.5, "temperature_high": 1.2, "temperature_low": 0.8, "unswitched": 0.0}),
    (controllers.ProportionalTemperature, {
        "target": 0.5, "temperature_high": 1.2, "temperature_low": 0.8, "gain": 1.0,
        "unswitched": 0.0}),
    (controllers.AdaptiveCoefficient, {
        "coefficient": 0.002, "entropy_low": 0.15, "entropy_high": 0.24, "rate": 0.002, "low": 6e-4,
        "high": 9e-3, "warm_up_steps": 0, "observations": 0}),
    (controllers.TargetEntropyCoefficient, {
        "coefficient": 0.0, "target": 0.2, "step": 5e-3, "low": 0.0, "high": 1.0, "saturated": 0.0}),
    (controllers.ProportionalIntegral, {
        "coefficient": 0.0, "target": 0.1, "proportional": 1.0, "integral": 0.01, "error": 0.0}),
    (forecast_coefficient.ForecastCoefficient, {
        "coefficient": 0.0, "target": 0.5, "horizon": 20.0, "smoothing": 0.9, "feedback_horizon": 200.0,
        "low": 0.0, "high": 1.0, "bias": 0.0, "saturated": 0.0, "target_change": 0.0, "held": 0.0}),
])
def test_controllers_begin_with_the_papers_settings_and_nothing_counted(kind, defaults):
    found = {field.name: getattr(kind(), field.name) for field in dataclasses.fields(kind)}
    assert {name: value for name, value in found.items() if value is not None} == defaults


# (rule, option, others), then values that are taken and values that are refused: each bound, and beyond.
RANGES = [
    ("grpo", "clip_low", {}, (0.0, 1e-9, math.inf), (-1e-9, -0.5, math.nan)),
    ("grpo", "clip_high", {}, (0.0, 1e-9, math.inf), (-1e-9, -0.5, math.nan)),
    ("grpo", "std_ddof", {}, (0, 1), (-1, 2)),
    ("grpo", "dual_clip", {}, (1.0 + 1e-9, 2.0, None), (1.0, 0.5, math.nan)),
    ("grpo", "group_size", {}, (2, 3, None), (1, 0, 2.5)),
    ("grpo", "max_length", {}, (1, 2, None), (0, -1, 1.5)),
    ("grpo", "overlong_buffer", {"max_length": 4}, (1, 4, None), (0, 1.5)),
    ("cispo", "clip_low", {}, (0.0, math.inf), (-1e-9, math.nan)),
    ("cispo", "clip_high", {}, (-1 + 1e-9, 0.0, math.inf), (-1.0, math.nan)),
    ("cispo", "clip_low", {"clip_high": -0.5}, (0.5,), (0.5 - 1e-9,)),
    ("sapo", "tau_positive", {}, (1e-9, 2.0), (0.0, -1.0, math.inf, math.nan)),
    ("sapo", "tau_negative", {}, (1e-9, 2.0), (0.0, -1.0, math.inf, math.nan)),
    ("dppo", "delta_low", {}, (0.0, math.inf), (-1e-9, math.nan)),
    ("dppo", "delta_high", {}, (0.0, math.inf), (-1e-9, math.nan)),
    ("dppo", "truncation", {}, (1e-9, math.inf), (0.0, math.nan)),
    ("vespo", "power_positive", {}, (0.0, 1.0), (-1e-9, math.inf, math.nan)),
    ("vespo", "decay_negative", {}, (0.0, 1.0), (-1e-9, math.inf, math.nan)),
    ("gmpo", "clip_low", {}, (0.0, math.inf), (-1e-9, math.nan)),
    ("ce-gppo", "beta_low", {}, (0.0, 2.0), (-1e-9, math.inf, math.nan)),
    ("ce-gppo", "beta_high", {}, (0.0, 2.0), (-1e-9, math.inf, math.nan)),
    ("bapo", "clip_low_end", {}, (0.0, 0.4), (-1e-9, 0.4 + 1e-9, math.nan)),
    ("bapo", "clip_high_end", {}, (0.2, 5.0), (0.2 - 1e-9, math.inf, math.nan)),
    ("bapo", "clip_step", {}, (1e-3, 5.0), (0.0, math.inf, math.nan)),
    ("bapo", "target", {}, (1e-9, 5.0), (0.0, math.inf, math.nan)),
    ("aspo", "limit", {}, (1 + 1e-9, math.inf), (1.0, math.nan)),
    ("dro", "beta", {}, (0.0, 1.0), (-1e-9, math.inf, math.nan)),
    ("erc", "beta_low", {}, (0.0, 1.0), (-1e-9, 1 + 1e-9, math.nan)),
    ("erc", "beta_high", {}, (0.0, math.inf), (-1e-9, math.nan)),
    ("fipo", "half_life", {}, (1e-9, 2.0), (0.0, math.inf, math.nan)),
    ("fipo", "safe_ratio", {}, (1e-9, 2.0, None), (0.0, math.inf, math.nan)),
    ("fipo", "clip_low", {}, (0.0, 0.5), (-1e-9, math.nan)),
    ("m2po", "threshold", {}, (0.0, 0.5), (-1e-9, math.inf, math.nan)),
    ("sampler-correction", "low", {}, (0.0, 2.0), (-1e-9, 2 + 1e-9, math.nan)),
    ("sampler-correction", "high", {"low": 0.5}, (0.5, math.inf), (0.5 - 1e-9, math.nan)),
    ("sampler-correction", "reject_high", {}, (0.5, math.inf), (0.5 - 1e-9, math.nan)),
    ("sampler-correction", "off_policy_threshold", {}, (0.0, -1.0, None), (math.nan,)),
    ("aepo", "alpha", {}, (0.0, 0.5, np.array([0.0, 1.0])), (-1e-9, math.inf, math.nan, [0.5, -1e-9])),
    ("aepo", "replaced_rows", {}, (2, 3), (1, 0)),
    ("aepo", "temperature_low", {}, (1e-9, 1.2), (0.0, -0.5, 1.2 + 1e-9)),
    ("aepo", "target", {}, (0.0, 1.5), (-1e-9, -0.5)),
    ("aepo", "positive_reward", {}, (0.0, -math.inf), (math.nan,)),
    ("diverse-bonus", "positive_reward", {}, (0.0,), (math.nan,)),
    ("aent", "removed_fraction", {}, (0.0, 0.5, 1 - 1e-9), (-1e-9, -0.5, 1.0, 1.5)),
    ("aent", "entropy_low", {"entropy_high": 0.24}, (0.24, 0.0), (0.24 + 1e-9,)),
    ("aent", "coefficient_low", {"coefficient_high": 9e-3}, (9e-3, -1.0), (9e-3 + 1e-9,)),
    ("aent", "coefficient_step", {}, (0.0, 0.5), (-1e-9, -0.5, math.nan)),
    ("aent", "warm_up_steps", {}, (0, 1), (-1,)),
    ("entropy-bonus", "coefficient", {}, (-1.0, 0.0), (math.nan, math.inf)),
    ("entropy-bonus", "prompt_gain", {}, (0.0, 1e-9, np.array([0.0, 1.0])),
     (-1e-9, math.nan, math.inf, np.array([0.5, -1e-9]))),
    ("entropy-bonus", "target", {}, (0.0, 2.0), (-1e-9, -0.5)),
    ("entropy-bonus", "coefficient_step", {"target": 0.5}, (0.0, 0.5), (-1e-9, -0.5, math.nan)),
    ("entropy-bonus", "horizon", {"target": 0.5, "hold": "forecast"}, (1.0, 2.0, math.inf),
     (1 - 1e-9, 0.0, math.nan)),
    ("entropy-bonus", "feedback_horizon", {"target": 0.5, "hold": "forecast"}, (1.0, math.inf),
     (1 - 1e-9, 0.0, math.nan)),
    ("entropy-bonus", "smoothing", {"target": 0.5, "hold": "forecast"}, (0.0, 0.5, 1 - 1e-9),
     (-1e-9, -0.5, 1.0, 1.5)),
    ("reference-kl", "coefficient", {}, (-1.0, 0.0), (math.nan, math.inf)),
    ("kl-cov", "coefficient", {}, (-1.0, 0.0), (math.nan, math.inf)),
    ("kl-cov", "ratio", {}, (0.0, 1.0), (-1e-9, -0.5, 1 + 1e-9, 1.5, math.nan)),
    ("clip-cov", "ratio", {}, (0.0, 1.0), (-1e-9, -0.5, 1 + 1e-9, 1.5, math.nan)),
    ("clip-cov", "lower", {"upper": 5.0}, (5.0, -math.inf), (5.0 + 1e-9, math.nan)),
    ("w-reinforce", "positive_weight", {}, (0.0, 2.0), (-1e-9, math.nan, math.inf)),
    ("repo", "beta", {}, (-1.0, 0.0, np.array([0.0, 1.0])), (math.nan, math.inf)),
    ("repo-r", "zeta", {}, (-1.0, 0.0), (math.nan, [0.5, math.inf])),
    ("steer", "weight_low", {}, (1e-9, 1.0), (0.0, -0.5, 1 + 1e-9, math.nan)),
    ("steer", "weight_high", {}, (0.8, 2.0), (0.8 - 1e-9, math.inf, math.nan)),
    ("stare", "share", {}, (0.0, 1.0), (-1e-9, 1 + 1e-9, math.nan)),
    ("stare", "coefficient", {}, (0.0, 1.0), (-1e-9, 1 + 1e-9, math.nan)),
    ("stare", "target", {}, (0.0, 2.0), (-1e-9, math.nan, math.inf)),
    ("stare", "coefficient_step", {}, (0.0, 0.5), (-1e-9, math.nan)),
    ("entropic", "target", {}, (0.0, 2.0, None), (-1e-9, math.nan)),
    ("entropic", "coefficient", {}, (-1.0, 0.0), (math.nan, math.inf)),
    ("entropic", "integral", {}, (0.0, 2.0), (-1e-9, math.inf)),
    ("entropic", "threshold", {}, (0.0, 1.0), (-1e-9, 1 + 1e-9, math.nan)),
    ("entrocraft", "entropy_low", {}, (0.0, 0.7), (-1e-9, 0.7 + 1e-9)),
    ("top-entropy", "share", {}, (0.0, 1.0), (-1e-9, 1 + 1e-9, math.nan)),
    ("unlikeliness", "beta", {}, (0.0, 1.0), (-1e-9, 1 + 1e-9, math.nan)),
    ("difficulty", "weight_low", {}, (1e-9, 1.5), (0.0, 1.5 + 1e-9, math.nan)),
    ("difficulty", "middle", {}, (0.0, 2.0), (math.nan, math.inf)),
    ("lp-reg", "share", {}, (0.0, 1.0), (-1e-9, 1 + 1e-9, math.nan)),
    ("lp-reg", "coefficient", {}, (-1.0, 0.0), (math.nan, math.inf)),
    ("grpo", "estimator_parameter", {"estimator": "quantile"}, (1e-9, 1 - 1e-9, None), (0.0, 1.0)),
    ("grpo", "estimator_parameter", {"estimator": "best-of-k"}, (2, 3, None), (1, 2.5)),
    ("entropy-advantage", "beta", {}, (0.0, 0.5), (-1e-9, -0.5, math.inf, math.nan)),
    ("entropy-advantage", "kappa", {}, (1 + 1e-9, 2.0), (1.0, 0.5, math.nan)),
]


@pytest.mark.parametrize(("name", "option", "others", "taken", "refused"), RANGES,
                         ids=[f"{name}-{option}" for name, option, *_ in RANGES])
def test_an_option_is_taken_up_to_its_bounds_and_refused_beyond(name, option, others, taken, refused):
    """A bound that moves by one takes what gives nonsense, or refuses what a paper uses."""
    for value in taken:
        rule = update_rules.get(name, **others, **{option: value})
        rule.coefficient_controller()
        assert getattr(rule, option) is value
    for value in refused:
        with pytest.raises(ValueError, match=r"\d|nan|inf"):
            update_rules.get(name, **others, **{option: value}).coefficient_controller()
