"""Options under which each rule, and its controller, does something on a handful of tokens."""

from __future__ import annotations

from typing import Any

from entropy_theory.update_rules import RULES

_OPTIONS: dict[str, dict[str, Any]] = {
    "entropy-bonus": {"coefficient": 0.3, "target": 0.9}, "diverse-bonus": {"coefficient": 0.3},
    "reference-kl": {"coefficient": 0.2}, "clip-cov": {"ratio": 0.2, "lower": 0.01},
    "kl-cov": {"ratio": 0.2}, "aepo": {"alpha": 0.7, "target": 0.9, "control": "proportional"},
    "aent": {"coefficient": 0.3, "removed_fraction": 0.4, "warm_up_steps": 0,
             "coefficient_high": 0.5},
    "erc": {"beta_low": 0.2, "beta_high": 0.2},
    "repo": {"beta": 0.3}, "repo-r": {"zeta": 0.2}, "stare": {"share": 0.3, "target": 9.0},
    "entropic": {"target": 0.9, "threshold": 0.3},
    "entrocraft": {"entropy_low": 0.8, "entropy_high": 0.9},
    "lp-reg": {"share": 0.5}, "top-entropy": {"share": 0.4},
}
ACTIVE = {name: _OPTIONS.get(name, {}) for name in RULES}
