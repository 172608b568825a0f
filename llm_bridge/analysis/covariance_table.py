"""The covariance table of Cui et al. (Table 1): the largest token covariances, by their share."""

from __future__ import annotations

import math
from typing import Any

from entropy_theory.token_batch import TokenBatch
from entropy_theory.update_rules import selection

SHARES = {"top_0.02%": 2e-4, "top_0.2%": 2e-3, "top_2%": 0.02, "top_20%": 0.2, "top_50%": 0.5,
          "all": 1.0}
"""The rows of the covariance table: the share of the tokens, by name."""


def covariance_table(batch: TokenBatch, log_prob: Any, advantage: Any) -> dict[str, float]:
    """Return the mean of the largest token covariances, by share of the tokens (at least one token).

    Args:
        batch: the whole batch, which supplies ``weight`` and ``mask``.
        log_prob: [sequences, positions], nats.
        advantage: [sequences, positions].
    """
    covariance = selection.token_covariance(batch, log_prob, advantage)[batch.is_ordinary]
    ordered = covariance.sort(descending=True).values
    return {
        name: float(ordered[: largest_count(share, len(ordered))].mean())
        for name, share in SHARES.items()
    }


def largest_count(share: float, tokens: int) -> int:
    """Return the number of tokens in the covariance table's row of this share: at least one."""
    return max(1, math.floor(share * tokens + 1e-9))
