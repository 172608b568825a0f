r"""Says whether the law R = -a e^H + b holds along a run, and forecasts its entropy and performance.

::

    report = forecast(entropy, performance, at=(0.2,))
    report.holds, report.verdict, report.ceiling

The law is reported only where entropy and performance both have a trend along training and one explains
most of the other's. Prompts of different difficulty relate the two as well, without any learning. The
sign of a is as found. Forecasts have intervals of measured coverage (`ahead`), beside "stays as it is".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from entropy_theory.performance_law import ahead, bootstrap
from entropy_theory.performance_law import law as performance_law
from entropy_theory.performance_law.ahead import (
    FARTHEST,
    LAST,
    LEAST,
    REACH,
    Decay,
    Interval,
    LocalLaw,
)
from entropy_theory.performance_law.law import PerformanceLaw
from entropy_theory.performance_law.trend import Trend, explained, trend
from entropy_theory.training_logs.logs import MOST_NATS

MOST = 0.5
"""Share of performance's movement along training that entropy must explain for the law to be told."""
ORIGINS = (0.3, 0.5, 0.7)
"""Shares of a run from which its own end is forecast, to try the forecasts on it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AtEntropy:
    """A forecast for an entropy.

    Attributes:
        entropy: nats.
        performance: the performance there; None where the law does not hold, or is too far from the run.
        why_not: why there is none.
        step: when entropy falls below it; None if not within `ahead.FARTHEST` times the steps so far.
        earliest: the first step at which the interval reaches it, None likewise.
        latest: the step from which the whole interval is below it, None likewise.
    """

    entropy: float
    performance: Interval | None
    why_not: str
    step: float | None
    earliest: float | None
    latest: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class AtStep:
    """Entropy and performance at a step; ``performance`` is None where no largest value is known."""

    step: float
    entropy: Interval
    performance: Interval | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried:
    """How far forecasts of the run's own end, from its earlier parts, were off on average.

    Attributes:
        origins: number of points from which it was forecast.
        stays: mean absolute error of "stays as it is".
        law: that of the law, given the entropy at the end.
        steps: that of the forecast by steps; None where there is none.
    """

    origins: tuple[int, ...]
    stays: float
    law: float
    steps: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """A fit of the law, whether it holds, and forecasts.

    Attributes:
        law: the line through the first ``n_used`` points.
        why_not: why the law is not told; "" where it holds.
        entropy_trend: of the points fitted.
        performance_trend: of the points fitted.
        explained: share of performance's movement along training that lies on a line in e^H.
        a_interval: confidence interval of a, by the block bootstrap.
        b_interval: likewise of b.
        last_entropy: mean of the last values of entropy used, nats.
        ceiling: the performance at zero entropy; None as for `AtEntropy`.
        entropies: the forecasts for entropies.
        steps: the forecasts for steps; none where there are fewer than `ahead.LEAST` points.
        tried: the forecasts on the run's own past, or on the points after those used; None if too short.
        n_used: number of points used, which are the first ones.
        n_later: number of points after them.
        level: confidence level of all intervals.
    """

    law: PerformanceLaw
    why_not: str
    entropy_trend: Trend
    performance_trend: Trend
    explained: float
    a_interval: tuple[float, float]
    b_interval: tuple[float, float]
    last_entropy: float
    ceiling: Interval | None
    entropies: tuple[AtEntropy, ...]
    steps: tuple[AtStep, ...]
    tried: Tried | None
    n_used: int
    n_later: int
    level: float

    @property
    def holds(self) -> bool:
        """Whether the law is told."""
        return not self.why_not

    @property
    def formula(self) -> str:
        """The line, in numbers."""
        return performance_law.formula(self.law.a, self.law.b)

    @property
    def verdict(self) -> str:
        """One sentence on the law."""
        if self.why_not:
            return f"no law: {self.why_not}"
        way = ("performance rose as entropy fell" if self.law.a > 0 else
               "performance rose and fell with entropy (a is below 0)")
        return f"{way}: a line in e^H explains {self.explained:.0%} of how it moved along training"


def forecast(
    entropy: Any,
    performance: Any,
    *,
    step: Any = None,
    at: Sequence[float] = (),
    until: Sequence[float] = (),
    first: float = 1.0,
    level: float = 0.9,
    best: float | None = None,
) -> Report:
    """Fit the law to (the first part of) a run, judge it, and forecast.

    Args:
        entropy: [N] nats, in the order of training.
        performance: [N].
        step: [N], increasing; 1 to N if None.
        at: entropies, nats, at most `MOST_NATS`, to forecast for beside 0.
        until: steps to forecast for; twice the steps so far if none is given.
        first: share of the points, from the start, that may be seen; above 0, at most 1.
        level: confidence level of the intervals, between 0 and 1.
        best: the largest performance there is; 1 if all are shares from 0 to 1, unknown otherwise. No
            forecast is above it, nor below 0 if all are such shares.

    Raises:
        ValueError: a share, level, step or largest performance out of range, fewer than 3 points in the
            share, or what `performance_law.fit` refuses.
    """
    entropy, performance = np.asarray(entropy, dtype=float), np.asarray(performance, dtype=float)
    used = _used(len(entropy), first, level)
    seen, gained = entropy[:used], performance[:used]
    law = performance_law.fit(seen, gained)
    law.predict(list(at))  # refuses what is no entropy
    if max(at, default=0.0) > MOST_NATS:
        raise ValueError(f"no mean over tokens is above {MOST_NATS} nats, got {max(at):g}: lower it")
    clock = _Clock(np.arange(1.0, len(entropy) + 1) if step is None else np.asarray(step, float), used)
    bounds = _bounds(performance, best)
    why_not = law_is_refused(seen, gained)
    local, decay = LocalLaw(seen, gained), ahead.entropy_decay(clock.time, seen)
    ceiling, *places = (
        _at_entropy(one, why_not, local, bounds, level) | _crossing(decay, clock, one, level)
        for one in map(float, (0.0, *at)))
    a_interval, b_interval = bootstrap.intervals(law, seen, gained, level)
    origins = [used] if used < len(entropy) else [math.ceil(share * used) for share in ORIGINS]
    return Report(
        law=law, why_not=why_not, entropy_trend=trend(seen), performance_trend=trend(gained),
        explained=explained(np.expm1(seen), gained), a_interval=a_interval, b_interval=b_interval,
        last_entropy=decay.last, ceiling=ceiling["performance"],
        entropies=tuple(AtEntropy(**place) for place in places),
        steps=() if used < LEAST else tuple(
            _at_step(float(one), clock, decay, gained, bounds, level) for one in until or (clock.twice,)),
        tried=_tried(clock.whole, entropy, performance, origins, bounds),
        n_used=used, n_later=len(entropy) - used, level=level,
    )


def law_is_refused(entropy: np.ndarray, performance: np.ndarray) -> str:
    """Say why no law is told of a run, [N] each in the order of training; "" where it holds."""
    if len(entropy) < LEAST:
        return f"only {len(entropy)} points, fewer than {LEAST}"
    for name, values in (("entropy", entropy), ("performance", performance)):
        if not (found := trend(values)).exists:
            return f"{name} has no trend along training beyond noise (p = {found.p:.2g})"
    if (share := explained(np.expm1(entropy), performance)) < MOST:
        return (f"entropy explains {share:.0%} of how performance moved along training, less than "
                f"{MOST:.0%}")
    return ""


class _Clock:
    """Counts steps from 1, in the spacing in which they were logged."""

    def __init__(self, step: np.ndarray, used: int):
        if len(step) < used or np.any(np.diff(step) <= 0):
            raise ValueError("steps must increase, one for each point")
        self._first, self._spacing = float(step[0]), float(np.median(np.diff(step)))
        self.whole = (step - self._first) / self._spacing + 1
        self.time = self.whole[:used]
        self.twice = self.step(2 * self.time[-1])

    def step(self, time: Any) -> float:
        return float(self._first + (time - 1) * self._spacing)

    def count(self, step: float) -> float:
        """The time of a step to forecast for."""
        time = (step - self._first) / self._spacing + 1
        last = float(self.time[-1])
        if not last < time <= FARTHEST * last:
            raise ValueError(
                f"step {step:g} is not after step {self.step(last):g}, the last one seen, and up to "
                f"{self.step(FARTHEST * last):g}: forecasts were tested up to {FARTHEST:g} times the "
                "steps so far")
        return time


def _used(count: int, first: float, level: float) -> int:
    if not 0 < first <= 1:
        raise ValueError(f"first must be above 0 and at most 1, got {first}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, got {level}")
    used = math.ceil(first * count - 1e-9)
    if used < 3 <= count:
        raise ValueError(
            f"first {first:g} of {count} points is {used}, and a line with its errors needs at "
            f"least 3: use at least {3 / count:.2g}"
        )
    return used


Bounds = tuple[float, float]
"""The least and the largest performance there may be, infinite where unknown."""


def _bounds(performance: np.ndarray, best: float | None) -> Bounds:
    highest = float(performance.max())
    shares = performance.min() >= 0 and highest <= 1
    if best is None:
        best = 1.0 if shares else math.inf
    elif not (math.isfinite(best) and best >= highest and best > 0):
        raise ValueError(f"best must be above 0 and at least the largest performance, {highest:g}; got "
                         f"{best}")
    return 0.0 if shares else -math.inf, best


def _interval(guess: ahead.Guess, level: float, stays: float, bounds: Bounds) -> Interval:
    """The interval of a performance by the law, within its bounds."""
    value, low, high = (float(np.clip(one, *bounds)) for one in (
        guess.value, *ahead.ends(guess, "law", level)))
    return Interval(value, low, high, stays)


def _at_entropy(
    entropy: float, why_not: str, local: LocalLaw, bounds: Bounds, level: float
) -> dict[str, Any]:
    far = local.distance(entropy)
    if not why_not and far > REACH:
        why_not = (f"the last entropy is {far:.1f} times as far from it as e^H moved in the last two "
                   f"thirds of the run, and forecasts were tested up to {REACH:g} times")
    found = None if why_not else _interval(local.at(entropy), level, local.last, bounds)
    return {"entropy": entropy, "performance": found, "why_not": why_not}


def _at_step(
    step: float, clock: _Clock, decay: Decay, performance: np.ndarray, bounds: Bounds, level: float
) -> AtStep:
    time = clock.count(step)
    guess = decay.at(time)
    value, low, high = (min(math.exp(one), MOST_NATS)
                        for one in (guess.value, *ahead.ends(guess, "entropy", level)))
    later = None
    if math.isfinite(bounds[1]):
        later = ahead.performance_at(time, clock.time, performance, bounds, level)
    return AtStep(
        step=step, entropy=Interval(value, low, high, decay.last), performance=later)


def _crossing(decay: Decay, clock: _Clock, entropy: float, level: float) -> dict[str, Any]:
    """When the forecast of entropy and the ends of its interval first are below an entropy."""
    last = float(clock.time[-1])
    grid = np.geomspace(last, FARTHEST * last, 400)
    guess = decay.at(grid)
    found = {}
    for name, curve in zip(("step", "earliest", "latest"),
                           (guess.value, *ahead.ends(guess, "entropy", level)), strict=True):
        below = np.flatnonzero(np.exp(curve) <= entropy)
        found[name] = clock.step(grid[below[0]]) if len(below) else None
    return found


def _tried(
    time: np.ndarray, entropy: np.ndarray, performance: np.ndarray, origins: Sequence[int],
    bounds: Bounds,
) -> Tried | None:
    """Forecast the mean of the last values from each origin."""
    kept = [used for used in origins if LEAST <= used <= len(entropy) - LAST]
    if not kept:
        return None
    measured = float(performance[-LAST:].mean())
    then, when = math.log1p(float(np.expm1(entropy[-LAST:]).mean())), float(time[-LAST:].mean())
    errors = []
    for used in kept:
        local = LocalLaw(entropy[:used], performance[:used])
        later = ahead.performance_at(
            when, time[:used], performance[:used], bounds, 0.5) if math.isfinite(bounds[1]) else None
        errors.append([abs(one - measured) for one in (
            local.last, float(np.clip(local.at(then).value, *bounds)),
            math.nan if later is None else later.value)])
    stays, law, steps = np.mean(errors, axis=0)
    return Tried(origins=tuple(kept), stays=float(stays), law=float(law),
                 steps=float(steps) if math.isfinite(steps) else None)
