r"""Forecasts, token by token, of the entropy change that a rule's coefficients cause.

Three forecasts of one optimizer step, so that errors have addresses:

(i)   from the coefficients, per unit learning rate. It assumes independent logits, as in a table. A token
      with score s at a state with policy pi moves that state's entropy by
      :math:`-\text{weight } s (S_a - \mathbb E_\pi S)`, where :math:`S_a = \pi_a (\log \pi_a + H)`. An
      entropy term with coefficient c adds :math:`\text{weight } c \sum_a S_a^2`.
(ii)  first order from the measured logit change, :math:`-\operatorname{Cov}_\pi(\log \pi, dz)`
      (`entropy_change.first_order`).
(iii) exact from the measured logit change (`entropy_change.exact`).

(iii) is the measured entropy change. (i) - (ii) is the error of the tabular assumption, (ii) - (iii)
the error of first order. `compare` tells which dominates over a run.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from entropy_theory.array_types import Array
from entropy_theory.policy import clamped_logits, entropy_gradient, namespace, to_numpy
from entropy_theory.token_batch import TokenBatch


@dataclass(frozen=True, kw_only=True, slots=True)
class StateStatistics:
    """The summaries of pi(. | s_t) that the forecast needs, each [..., sequences, positions]."""

    log_prob: Array
    """log pi(a_t | s_t), nats."""
    entropy: Array
    """H(pi(. | s_t)), nats."""
    sum_squared_prob: Array
    r""":math:`\sum_a \pi_a^2`."""
    sum_squared_prob_log_prob: Array
    r""":math:`\sum_a \pi_a^2 \log \pi_a`."""
    sum_squared_prob_squared_log_prob: Array
    r""":math:`\sum_a \pi_a^2 (\log \pi_a)^2`."""
    clamped_alignment: Array | None = None
    """sum_a S_a S~_a, with S~ that of the clamped policy; None where no rule needs it."""


def state_statistics(
    log_probabilities: Array, action: Array, *, removed_fraction: float = 0.0
) -> StateStatistics:
    """Compute the statistics from all log-probabilities (a fused head needs no such table).

    Args:
        log_probabilities: [..., sequences, positions, actions], normalized, nats; -inf allowed.
        action: integer [..., sequences, positions].
        removed_fraction: share of the actions that the clamped entropy leaves out, where a rule has
            that term; 0 where none has.
    """
    xp = namespace(log_probabilities)
    probabilities = xp.exp(log_probabilities)
    log_p = xp.where(probabilities > 0, log_probabilities, xp.zeros_like(probabilities))
    square = probabilities * probabilities
    taken = xp.take_along_axis(log_probabilities, action[..., None], axis=-1)[..., 0]
    return StateStatistics(
        log_prob=taken,
        entropy=-xp.sum(probabilities * log_p, axis=-1),
        sum_squared_prob=xp.sum(square, axis=-1),
        sum_squared_prob_log_prob=xp.sum(square * log_p, axis=-1),
        sum_squared_prob_squared_log_prob=xp.sum(square * log_p * log_p, axis=-1),
        clamped_alignment=(
            clamped_alignment(log_probabilities, removed_fraction) if removed_fraction else None
        ),
    )


def clamped_alignment(logits: Array, removed_fraction: float) -> Array:
    """sum_a S_a S~_a = <grad H, grad H~>: what a unit of clamped bonus adds to the full entropy.

    Never negative (``extension.clamped-bonus``). Arguments as `policy.clamped_entropy`; [...], nats^2.
    """
    clamped = entropy_gradient(clamped_logits(logits, removed_fraction))
    return namespace(clamped).sum(entropy_gradient(logits) * clamped, axis=-1)


def token_contributions(
    batch: TokenBatch, scores: Array, state_terms: dict[str, Array], statistics: StateStatistics
) -> Array:
    """Forecast (i), token by token: the effect of each row on the entropy of its own state.

    Args:
        batch: supplies ``weight`` and ``mask``.
        scores: the rule's scores.
        state_terms: the rule's state terms, "entropy" and "clamped_entropy" (which needs the
            statistics' ``clamped_alignment``).
        statistics: those of the policy before the step.

    Returns:
        [..., sequences, positions], nats per unit learning rate; 0 outside the mask.

    Raises:
        ValueError: a state term without a forecast, named.
    """
    xp = namespace(scores)
    s, h = statistics, statistics.entropy
    prob = xp.exp(s.log_prob)
    log_p = xp.where(prob > 0, s.log_prob, xp.zeros_like(s.log_prob))
    tilt = prob * (log_p + h)
    mean_tilt = s.sum_squared_prob_log_prob + h * s.sum_squared_prob
    total = -scores * (tilt - mean_tilt)
    for name, coefficient in state_terms.items():
        if name == "clamped_entropy" and s.clamped_alignment is not None:
            total = total + coefficient * s.clamped_alignment
            continue
        if name != "entropy":
            raise ValueError(f"no entropy forecast is known for the state term '{name}'")
        squared_tilt = (
            s.sum_squared_prob_squared_log_prob
            + 2 * h * s.sum_squared_prob_log_prob
            + h * h * s.sum_squared_prob
        )
        total = total + coefficient * squared_tilt
    return xp.where(batch.mask, batch.weight * total, xp.zeros_like(total))


def mean_entropy_forecast(state: Array, contributions: Array, measure: Array) -> np.ndarray:
    """Forecast (i) of a mean entropy sum_j measure_j H(s_j): [...], nats per unit learning rate.

    Tokens move the entropy of every row that shares their state (equal prefixes), and no other
    row: that is the tabular assumption.

    Args:
        state: integer [..., sequences, positions], equal where prefixes are equal.
        contributions: from `token_contributions`, on all rows.
        measure: weight of each row's state in the mean, 0 on rows that are not measured.

    Returns:
        A numpy array, whatever the arguments are.
    """
    state, contributions, measure = (to_numpy(a) for a in (state, contributions, measure))
    runs = contributions.shape[:-2]
    n_runs = math.prod(runs)
    ids, index = np.unique(state, return_inverse=True)
    # Offsets keep the runs apart in one scatter.
    index = index.reshape(n_runs, -1) + len(ids) * np.arange(n_runs)[:, None]
    size = len(ids) * n_runs
    change = np.bincount(index.ravel(), contributions.ravel(), minlength=size)
    share = np.bincount(index.ravel(), measure.ravel(), minlength=size)
    return np.sum((change * share).reshape(*runs, len(ids)), axis=-1)


@dataclass(frozen=True, kw_only=True, slots=True)
class ForecastComparison:
    """How well each forecast met the measured entropy changes of a run."""

    steps: int
    correlation: dict[str, float]
    """Pearson correlation of each forecast with the measured change, further ones by their names."""
    slope: dict[str, float]
    """Least-squares slope through the origin of measured against forecast; for the coefficient
    forecast it is the effective learning rate."""
    tabular_error: float
    """Root mean square of (i) x its slope - (ii), nats."""
    first_order_error: float
    """Root mean square of (ii) - (iii), nats."""
    identity_error: float
    """Largest abs((iii) - measured), nats."""

    @property
    def dominant(self) -> str:
        """Which of the two errors is larger."""
        tabular = self.tabular_error >= self.first_order_error
        return "tabular assumption" if tabular else "first order"


def compare(
    coefficients: Array, first_order: Array, exact: Array, measured: Array, **further: Array
) -> ForecastComparison:
    """Compare the three forecasts with the measured entropy change over the steps of a run.

    Args:
        coefficients: forecast (i), [steps], nats per unit learning rate.
        first_order: forecast (ii), [steps], nats.
        exact: forecast (iii), [steps], nats.
        measured: measured entropy change at the same states, [steps], nats.
        further: other forecasts of it, [steps] each, which get a correlation and a slope.

    Raises:
        ValueError: no step, or a value that is not finite or beyond 1e100 in magnitude. Values below
            1e-100 count as 0, since their squares would vanish.
    """
    columns = {
        "coefficients": np.asarray(coefficients, dtype=float),
        "first_order": np.asarray(first_order, dtype=float),
        "exact": np.asarray(exact, dtype=float),
        **{name: np.asarray(values, dtype=float) for name, values in further.items()},
    }
    target = np.asarray(measured, dtype=float)
    for name, values in {**columns, "measured": target}.items():
        if values.size == 0 or not (np.abs(values) <= 1e100).all():
            raise ValueError(f"the forecast '{name}' is empty or not finite, or beyond 1e100")
    columns = {name: np.where(np.abs(values) < 1e-100, 0.0, values) for name, values in columns.items()}
    target = np.where(np.abs(target) < 1e-100, 0.0, target)
    slope = {}
    correlation = {}
    for name, values in columns.items():
        power = float(values @ values)
        slope[name] = float(values @ target) / power if power > 0 else 0.0
        varies = values.std() > 0 and target.std() > 0
        correlation[name] = float(np.corrcoef(values, target)[0, 1]) if varies else 0.0

    def rms(error: np.ndarray) -> float:
        return float(np.sqrt(np.mean(error**2)))

    scaled = columns["coefficients"] * slope["coefficients"]
    return ForecastComparison(
        steps=int(target.size),
        correlation=correlation,
        slope=slope,
        tabular_error=rms(scaled - columns["first_order"]),
        first_order_error=rms(columns["first_order"] - columns["exact"]),
        identity_error=float(np.max(np.abs(columns["exact"] - target))),
    )
