"""Advantage estimators: from the rewards of a batch to one number per sequence.

Each estimator takes the batch and the rows to compute over, ordinary or tempered. A prompt is never mixed
across the two. Each returns [..., sequences, positions], the sequence's advantage repeated over its
tokens. Groups are prompts (``group``). The mean within a group counts sequences by their ``weight``, so
one computation serves equally weighted samples and an exact listing of a state's actions. All but
`reward` raise ValueError where a reward or a prompt varies within a sequence.

Rewards that differ by rounding alone count as equal, everywhere (`entropy_theory.rounding`): an advantage
that is rounding alone is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from entropy_theory.advantages.estimators import (
    above_length_weighted,
    batch_normalized,
    check_listing,
    equal_reward_groups,
    expected_group_normalized,
    group_centered,
    group_centered_batch_normalized,
    group_largest,
    group_mean,
    group_normalization_gain,
    group_normalized,
    leave_one_out,
    max_likelihood,
    overlong_penalty,
    reward,
    right_answers,
    signal_weighted,
    signed,
    without_signal,
)
from entropy_theory.advantages.given import (
    above_greedy,
    decoupled,
    generalized,
    optimal_token_baseline,
)
from entropy_theory.advantages.ranked import above_quantile, best_of_k, best_over_second, pass_at_k
from entropy_theory.array_types import Array, TokenColumn, TokenMask
from entropy_theory.support.user_errors import check_choice
from entropy_theory.token_batch import TokenBatch

__all__ = [
    "COUNTING",
    "ESTIMATORS",
    "PARAMETERS",
    "above_greedy",
    "above_length_weighted",
    "above_quantile",
    "batch_normalized",
    "best_of_k",
    "best_over_second",
    "check_estimator",
    "check_listing",
    "decoupled",
    "equal_reward_groups",
    "estimate",
    "expected_group_normalized",
    "generalized",
    "group_centered",
    "group_centered_batch_normalized",
    "group_largest",
    "group_mean",
    "group_normalization_gain",
    "group_normalized",
    "leave_one_out",
    "max_likelihood",
    "optimal_token_baseline",
    "overlong_penalty",
    "pass_at_k",
    "reward",
    "right_answers",
    "signal_weighted",
    "signed",
    "without_signal",
]

ESTIMATORS: dict[str, Callable[..., Array]] = {
    "reward": reward,
    "signed": signed,
    "group-normalized": group_normalized,
    "group-centered": group_centered,
    "leave-one-out": leave_one_out,
    "reinforce++": batch_normalized,
    "reinforce++-baseline": group_centered_batch_normalized,
    "quantile": above_quantile,
    "opo": above_length_weighted,
    "gpg": signal_weighted,
    "max-likelihood": max_likelihood,
    "best-over-second": best_over_second,
    "pass-at-k": pass_at_k,
    "best-of-k": best_of_k,
}
PARAMETERS = {"quantile": "quantile", "pass-at-k": "k", "best-of-k": "k"}
"""The number that an estimator takes, by the estimator's name."""
DIVIDED = frozenset({"group-normalized", "quantile", "best-over-second"})
"""Estimators that divide by the standard deviation of a group, over G or over G - 1."""
COUNTING = frozenset({"leave-one-out", "best-over-second", "pass-at-k", "best-of-k"})
"""Estimators that count samples, and not their weights alone."""


def estimate(name: str, batch: TokenBatch, rows: TokenMask, *, ddof: int = 0,
             parameter: float | None = None) -> TokenColumn:
    """Return the advantages of ``rows`` from their rewards: [..., sequences, positions].

    Args:
        name: one of `ESTIMATORS`.
        batch: all rows.
        rows: those to compute over.
        ddof: for one of `DIVIDED` the standard deviation is over ``G - ddof``; else it is not used.
        parameter: the number of `PARAMETERS`; None takes the estimator's default.

    Raises:
        ValueError: as the estimator.
    """
    options: dict[str, Any] = {"ddof": ddof} if name in DIVIDED else {}
    if parameter is not None:
        options[PARAMETERS[name]] = parameter
    return ESTIMATORS[name](batch, rows, **options)


def check_estimator(name: str, parameter: float | None) -> None:
    """Raise ValueError for an unknown name, or a number that the estimator does not take."""
    check_choice(name, ESTIMATORS, "advantage estimator")
    if parameter is None:
        return
    if name not in PARAMETERS:
        raise ValueError(f"estimator '{name}' takes no estimator_parameter, got {parameter}: leave it "
                         f"None, or use {', '.join(PARAMETERS)}")
    if PARAMETERS[name] == "k" and not (isinstance(parameter, int) and parameter >= 2):
        raise ValueError(
            f"estimator_parameter of '{name}' is k, an integer of at least 2, got {parameter}")
    if PARAMETERS[name] == "quantile" and not 0 < parameter < 1:
        raise ValueError(f"estimator_parameter of '{name}' must be in (0, 1), got {parameter}")
