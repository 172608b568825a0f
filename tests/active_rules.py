"""Options under which each rule, and its controller, does something on a handful of tokens."""

from __future__ import annotations

from typing import Any

OPTIONS: dict[str, dict[str, Any]] = {
    "reinforce": {}, "grpo": {}, "gspo": {}, "clip-higher": {"dynamic_sampling": True},
    "natural-gradient": {}, "entropy-bonus": {"coefficient": 0.1, "target": 0.9},
    "diverse-bonus": {"coefficient": 0.3},
    "entropy-advantage": {}, "reference-kl": {"coefficient": 0.2},
    "clip-cov": {"ratio": 0.5, "lower": 0.01}, "kl-cov": {"ratio": 0.2},
    "aepo": {"alpha": 0.7, "target": 0.9},
    # Bounds that bind within three steps on the same samples.
    "cispo": {"clip_low": 0.05, "clip_high": 0.05}, "sapo": {"tau_positive": 9.0, "tau_negative": 10.0},
    "dppo": {"delta_low": 0.02, "delta_high": 0.02}, "gmpo": {"clip_low": 0.05, "clip_high": 0.05},
    "ce-gppo": {"clip_low": 0.05, "clip_high": 0.05}, "aspo": {"clip_low": 0.05, "clip_high": 0.05},
    "bapo": {"clip_low": 0.2, "clip_low_end": 0.01, "clip_high": 0.02, "clip_high_end": 0.3,
             "target": 1.0},
    "dcpo": {"clip_low": 0.01, "clip_high": 0.01}, "dro": {"beta": 2.0},
    "erc": {"beta_low": 0.01, "beta_high": 0.01},
    "fipo": {"clip_low": 0.5, "clip_high": 0.5}, "m2po": {"above": "current", "threshold": 1e-4},
    "sampler-correction": {"above": "current", "low": 0.95, "high": 1.05},
    "aent": {"coefficient": 0.1, "removed_fraction": 0.4, "warm_up_steps": 5, "coefficient_high": 0.3},
    "repo": {"beta": 0.3}, "repo-r": {"zeta": 0.2},
    "stare": {"share": 0.3, "target": 0.9, "both": True, "coefficient_step": 0.02},
    "entropic": {"target": 0.9, "threshold": 0.3},
    "entrocraft": {"entropy_low": 0.8, "entropy_high": 1.2}, "top-entropy": {"share": 0.4},
    "lp-reg": {"share": 0.5},
}
