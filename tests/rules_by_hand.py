"""What only a person can know of a rule; `python -m tests.rules NAME` finds all else."""

from __future__ import annotations

from typing import Any

import numpy as np

from entropy_theory.token_batch import TokenBatch


def tokens(ratio: Any, advantage: Any, *, old: Any = 0.5, **columns: Any) -> TokenBatch:
    """Answers with given pi / pi_old, advantages, pi_old, and columns such as ``entropy``.

    A number stands for all tokens, a list has one token per answer, and a list of lists is [answers,
    tokens].
    """
    given = {"ratio": ratio, "advantage": advantage, "old": old, **columns}
    wide = np.broadcast_arrays(*map(rows, given.values()))
    found = dict(zip(given, map(np.copy, wide), strict=True))
    ratio, old = found.pop("ratio"), found.pop("old")
    ones = np.ones_like(old)
    return TokenBatch(
        log_prob=np.log(old * ratio), old_log_prob=np.log(old), mask=ones > 0, weight=ones / ones.size,
        reward=ones, **found)


def rows(values: Any) -> np.ndarray:
    """A number, one per answer, or one per token: [answers, tokens]."""
    found = np.asarray(values, dtype=float)
    return found if found.ndim == 2 else found.reshape(-1, 1)


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
"""Under which a rule, and its controller, acts on a handful of tokens."""
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "grpo": [{"estimator": "quantile"}, {"estimator": "best-of-k"}, {"max_length": 4}],
    "cispo": [{"clip_high": -0.5}],
    "entropy-bonus": [{"target": 0.5, "hold": "forecast"}],
}
"""Others that change what an option takes."""
SCORES: list[tuple[str, dict[str, Any], TokenBatch, Any]] = [
    # A rare token rises further under clip-higher; a bad one that became likely is let be.
    ("grpo", {}, tokens(1.25, 1), 0), ("clip-higher", {}, tokens(1.25, 1), 1.25),
    ("grpo", {"dual_clip": 3.0}, tokens([2.9, 3.1], -1), [-2.9, 0]),
    ("cispo", {}, tokens(6, [1, -1]), [5, -5]),
    ("cispo", {"clip_high": -0.8}, tokens(1, 2), 0.4),
    ("sapo", {"tau_positive": 2.0}, tokens(1.5, 1), 6 * 0.7310585786300049 * 0.2689414213699951),
    ("dppo", {}, tokens([1.39, 1.41, 1.41, 0.59], [1, 1, -1, -1]), [1.39, 0, -1.41, 0]),
    ("dppo", {"truncation": 1.2}, tokens(1.3, 1), 1.2),
    ("vespo", {}, tokens(0.5, [1, -1]), [0.25 * np.exp(1.5), -0.125 * np.exp(1)]),
    ("gmpo", {}, tokens([1.4, 1.6, 0.6], [1, 1, -1]), [1.4, 0, 0]),
    ("ce-gppo", {}, tokens([1.3, 0.5, 0.5], [1, -1, 1]), [1.28, -0.6, 0.5]),
    ("topr", {}, tokens([1.5, 0.5, 0.5], [-1, -1, 1]), [-1, -0.5, 1]),
    ("aspo", {}, tokens([0.5, 0.25, 1.3, 4], [1, 1, 1, -1]), [2, 3, 0, -3]),
    # old probability 1/2: from (1 + 0) / 2 to (1 + sqrt(2.6)) / 2 = 1.306.
    ("dcpo", {}, tokens([1.3, 1.31, 0.51, 0.49], [1, 1, -1, -1]), [1.3, 0, -0.51, 0]),
    ("dro", {"beta": 0.5}, tokens(np.e / 2, 1), 1 - 0.5 * (1 - np.log(2))),
    # One token with A > 0 is all that BAPO looks for; one with A < 0 raises c_low to its end.
    ("bapo", {}, tokens(1.25, 1), 0), ("bapo", {}, tokens(0.85, -1), 0),
]
"""Rule, options, a batch, and the scores of its tokens as `rows` takes them. Rules that take more to show
have tests in `tests/entropy_theory/test_rules_by_hand.py` and `test_shaping_rules.py`."""
