r"""Forecasts of a training run's performance by the law R = -a e^H + b, and reasons to doubt them.

    report = forecast(entropy, performance, at=(0.2,))
    report.ceiling, report.doubts

The steps of one run are not independent points. Where the residuals of successive steps have correlation
r, N steps count as N (1 - r) / (1 + r) independent ones, and every interval here is widened accordingly:
by the square root of (1 + r) / (1 - r), and by Student's t for the smaller number of points. A forecast
without a *doubt* comes from a line that fits over a wide enough range, with no rival that fits as well
and says something else. It is no promise: the law is empirical.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from entropy_theory.performance_law import law as performance_law
from entropy_theory.performance_law.law import PerformanceLaw, Rival

LEAST_POINTS = 10
LEAST_MOVE = 0.2
"""How far e^H - 1 must have moved for a fit to be trusted, as a share of its largest value."""
FARTHEST = 1.0
"""How far a forecast may go beyond the observed range of e^H, in widths of that range."""
CORRELATED = 0.3
"""Lag-1 correlation from which residuals are called correlated, unless it may be chance."""
TURN = 0.5
"""How far entropy must go back to count as having turned, as a share of its range."""
SIGNIFICANT = 3.0
"""Standard errors from which a bend of the curve, or a bias of the forecast, counts as real."""
TIED = 2.0
"""Lead in AICc from which a rival counts as better; with less, the forms cannot be told apart."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """The performance that the law forecasts at an entropy (nats), with the interval of the line."""

    entropy: float
    performance: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """A fit of the law, its forecasts, and the reasons to doubt them.

    Attributes:
        law: the law fitted to the first ``n_used`` points.
        a_interval: confidence interval of the law's a, at ``level``, as all intervals here.
        b_interval: confidence interval of its b.
        ceiling: the forecast at zero entropy.
        forecasts: the forecasts at the entropies asked for.
        rivals: all forms fitted to the same points, best first; none if not asked for.
        n_used: number of points fitted, which are the first ones.
        n_later: number of points after them, on which the fit is tested.
        later_rmse: root mean square error of the law on the later points; None without any.
        later_bias: mean of (measured - forecast) on the later points; None without any.
        doubts: why not to trust the fit, one sentence each; empty if nothing speaks against it.
        level: confidence level of the intervals.
    """

    law: PerformanceLaw
    a_interval: tuple[float, float]
    b_interval: tuple[float, float]
    ceiling: Forecast
    forecasts: tuple[Forecast, ...]
    rivals: tuple[Rival, ...]
    n_used: int
    n_later: int
    later_rmse: float | None
    later_bias: float | None
    doubts: tuple[str, ...]
    level: float


def forecast(
    entropy: Any,
    performance: Any,
    *,
    at: Sequence[float] = (),
    first: float = 1.0,
    level: float = 0.95,
    with_rivals: bool = True,
) -> Report:
    """Fit the law to (the first part of) a run, forecast, and look for reasons to doubt.

    Args:
        entropy: [N] nats, in the order of training.
        performance: [N].
        at: entropies to forecast for, beside 0.
        first: share of the points, from the start, that the fit may see; above 0, at most 1.
        level: confidence level of the intervals, between 0 and 1.
        with_rivals: whether to fit the other forms too, which takes some tenths of a second; without
            them none can raise a doubt.

    Raises:
        ValueError: a share or level out of range, fewer than 3 points in the share, or what
            `performance_law.fit` refuses.
    """
    entropy, performance = np.asarray(entropy, dtype=float), np.asarray(performance, dtype=float)
    if not 0 < first <= 1:
        raise ValueError(f"first must be above 0 and at most 1, got {first}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level}")
    used = math.ceil(first * len(entropy) - 1e-9)
    if used < 3 <= len(entropy):
        raise ValueError(
            f"first {first:g} of {len(entropy)} points is {used}, and a line with its errors needs at "
            f"least 3: use at least {3 / len(entropy):.2g}"
        )
    seen, seen_performance = entropy[:used], performance[:used]
    law = performance_law.fit(seen, seen_performance)
    ranked = performance_law.rivals(seen, seen_performance) if with_rivals else []
    ceiling, *forecasts = (_at(law, place, level) for place in (0.0, *at))
    missed = performance[used:] - law.predict(entropy[used:])
    reach = _reach(law, level)
    doubts = [
        *_of_the_data(seen, seen_performance, law, level),
        *_of_the_form(seen, seen_performance, law, ranked, ceiling),
        *(doubt for place in (ceiling, *forecasts) for doubt in _of_a_forecast(seen, place)),
        *_of_later_points(missed, entropy[used:], law, level),
    ]
    return Report(
        law=law,
        a_interval=(law.a - reach * law.a_error, law.a + reach * law.a_error),
        b_interval=(law.b - reach * law.b_error, law.b + reach * law.b_error),
        ceiling=ceiling, forecasts=tuple(forecasts), rivals=tuple(ranked),
        n_used=used, n_later=len(missed),
        later_rmse=float(np.sqrt(np.mean(missed**2))) if len(missed) else None,
        later_bias=float(np.mean(missed)) if len(missed) else None,
        doubts=tuple(doubts), level=level,
    )


def effective_points(law: PerformanceLaw) -> float:
    """The number of independent points that N correlated ones are worth: N (1 - r) / (1 + r).

    r is the residuals' lag-1 correlation, held between 0 and 0.99.
    """
    r = 0.0 if math.isnan(law.autocorrelation) else min(max(law.autocorrelation, 0.0), 0.99)
    return law.n_points * (1 - r) / (1 + r)


def _reach(law: PerformanceLaw, level: float) -> float:
    """The half width of an interval, in standard errors for independent residuals."""
    points = effective_points(law)
    widened = math.sqrt(law.n_points / points)
    return float(special.stdtrit(max(points - 2, 1), (1 + level) / 2)) * widened


def _at(law: PerformanceLaw, entropy: float, level: float) -> Forecast:
    middle = float(law.predict(entropy))
    low, _ = law.interval(entropy, level, of_mean=True)
    independent = special.stdtrit(law.n_points - 2, (1 + level) / 2)
    reach = (middle - float(low)) / independent * _reach(law, level)
    return Forecast(entropy=float(entropy), performance=middle, low=middle - reach, high=middle + reach)


# ------------------------------------------------------------------ doubts


def _of_the_data(
    entropy: np.ndarray, performance: np.ndarray, law: PerformanceLaw, level: float
) -> list[str]:
    doubts = []
    x = np.expm1(entropy)
    n = law.n_points
    if n < LEAST_POINTS:
        doubts.append(f"only {n} points, fewer than {LEAST_POINTS}")
    move = float(np.ptp(x) / x.max())
    if move < LEAST_MOVE:
        doubts.append(
            f"entropy has hardly moved: from {entropy.max():.4g} to {entropy.min():.4g} nats, which is "
            f"{move:.0%} of e^H - 1 (at least {LEAST_MOVE:.0%} is wanted)"
        )
    reach = _reach(law, level) * law.a_error
    if law.a <= -reach:
        doubts.append("performance has fallen as entropy fell: a is below 0, the law has the other sign")
    elif law.a <= reach:
        doubts.append(f"performance has not clearly risen as entropy fell: a = {law.a:.3g} +- "
                      f"{reach:.2g}")
    r = law.autocorrelation
    is_rounding = law.rmse <= 1e-12 * float(np.abs(performance).max())
    if r > max(CORRELATED, 2 / math.sqrt(n)) and not is_rounding:
        doubts.append(
            f"residuals of successive points are correlated (r = {r:.2f}): {n} points tell as much as "
            f"about {max(effective_points(law), 1):.0f}; the intervals are widened for it, the "
            "information criteria are not"
        )
    turn = _turn(entropy)
    if turn is not None:
        doubts.append(
            f"entropy is not monotone: it {turn}, so the run passes the same entropy more than once, "
            "and the law has one performance for each"
        )
    return doubts


def _of_the_form(
    entropy: np.ndarray, performance: np.ndarray, law: PerformanceLaw, ranked: Sequence[Rival],
    ceiling: Forecast,
) -> list[str]:
    doubts = []
    bend = _bend(np.expm1(entropy), performance)
    if bend is not None:
        place = math.log1p(bend)
        doubts.append(
            f"performance is not monotone in entropy: it turns near {place:.3g} nats, which no a and b do"
        )
    own = next((rival for rival in ranked if rival.name == "exponential"), None)
    for rival in ranked:
        lead = math.nan if own is None else own.aicc - rival.aicc
        differs = not ceiling.low <= rival.ceiling <= ceiling.high
        if rival is own or math.isnan(lead) or lead < -TIED:
            continue
        if lead > TIED:
            doubts.append(
                f"the form '{rival.name}' fits better (AICc lower by {lead:.1f}), with a ceiling of "
                f"{rival.ceiling:.4g} in place of {ceiling.performance:.4g}"
            )
        elif differs:
            doubts.append(
                f"the form '{rival.name}' fits as well (AICc within {TIED:g}), and its ceiling is "
                f"{rival.ceiling:.4g}, outside the interval of the law's"
            )
    if performance.min() >= 0 and performance.max() <= 1 < ceiling.performance:
        doubts.append(
            f"the ceiling {ceiling.performance:.4g} is above 1, which a share of right answers cannot be"
        )
    explained = abs(law.a) * float(np.ptp(np.expm1(entropy)))
    width = ceiling.high - ceiling.low
    if width > explained > 0:
        doubts.append(
            f"the interval of the ceiling is wide: {width:.2g}, where entropy explains a change of "
            f"{explained:.2g} in all"
        )
    return doubts


def _of_a_forecast(entropy: np.ndarray, place: Forecast) -> list[str]:
    x, wanted = np.expm1(entropy), math.expm1(place.entropy)
    distance = max(float(x.min()) - wanted, wanted - float(x.max())) / float(np.ptp(x))
    if distance <= FARTHEST:
        return []
    return [
        f"H = {place.entropy:g} is far from what was seen ({entropy.min():.3g} to {entropy.max():.3g} "
        f"nats): {distance:.1f} times that range of e^H beyond it"
    ]


def _of_later_points(
    missed: np.ndarray, entropy: np.ndarray, law: PerformanceLaw, level: float
) -> list[str]:
    if not len(missed):
        return []
    low, high = law.interval(entropy, level)
    half = (high - low) / 2 * _reach(law, level) / special.stdtrit(law.n_points - 2, (1 + level) / 2)
    outside = float(np.mean(np.abs(missed) > half))
    if outside <= 3 * (1 - level):
        return []
    way = "above" if missed.mean() > 0 else "below"
    return [
        f"the points after those fitted do not follow: {outside:.0%} of {len(missed)} lie outside their "
        f"{level:.0%} interval, on average {abs(missed.mean()):.3g} {way} the forecast"
    ]


def _turn(entropy: np.ndarray) -> str | None:
    """A sentence on how entropy turned back by more than `TURN` of its range, or None if it did not.

    Medians of 5 points are compared, so that noise does not count.
    """
    if len(entropy) < LEAST_POINTS:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(entropy, 5)
    path = np.median(windows, axis=-1)
    span = float(np.ptp(path))
    rise = path - np.minimum.accumulate(path)
    fall = np.maximum.accumulate(path) - path
    if span == 0 or min(rise.max(), fall.max()) <= TURN * span:
        return None
    if fall.argmax() < rise.argmax():
        return f"falls and then rises again, by {rise.max():.3g} nats"
    return f"rises and then falls again, by {fall.max():.3g} nats"


def _bend(x: np.ndarray, performance: np.ndarray) -> float | None:
    """Where a significant parabola turns within the inner nine tenths of ``x``; None without one."""
    n = len(x)
    if n < LEAST_POINTS:
        return None
    u = (x - x.mean()) / np.ptp(x)
    design = np.stack([np.ones(n), u, u**2], axis=1)
    solution = np.linalg.lstsq(design, performance)[0]
    residuals = performance - design @ solution
    squares = float(np.sum(residuals**2))
    inverse = np.linalg.inv(design.T @ design)
    if squares > 0:
        r = float(np.sum(residuals[1:] * residuals[:-1])) / squares
        r = min(max(r, 0.0), 0.99)
        error = math.sqrt(squares / (n - 3) * inverse[2, 2] * (1 + r) / (1 - r))
        if abs(solution[2]) <= SIGNIFICANT * error:
            return None
    if solution[2] == 0:
        return None
    vertex = -solution[1] / (2 * solution[2])
    margin = 0.05
    inside = u.min() + margin < vertex < u.max() - margin
    return float(x.mean() + vertex * np.ptp(x)) if inside else None
