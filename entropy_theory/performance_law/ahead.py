r"""Forecasts of a run's entropy and performance, with intervals whose coverage was measured.

Each goes on from the mean of the last `LAST` values, by what was seen in the last two thirds of the run:

- entropy as a power of the step, H ~ t^k, where it has a trend, and as it is elsewhere;
- a share of right answers likewise by its failures, 1 - R ~ t^k, which saturate at 0;
- performance at a given entropy on the local line R = -a e^H + b.

An interval adds to the forecast quantiles of the errors that the same forecasts made on other runs. The
errors are in units of a scale that grows with noise and distance. The quantiles (calibration.json) come
from this repository's runs and from simulated ones. `benchmarks/forecasts.py` writes them and measures
how often they hold.
"""

from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal

import numpy as np

from entropy_theory.performance_law.trend import stretches, trend

LAST = 10
"""Number of last values from whose mean a forecast goes on."""
WINDOW = 2 / 3
"""The share of the run, up to its end, in which slopes are taken."""
LEAST = 15
"""The fewest points from which anything is forecast."""
FARTHEST = 5.0
"""How many times the steps so far a forecast may reach: so far they were tested."""
REACH = 3.0
"""How far from the last entropy a performance may be forecast, in ranges of e^H seen in the window."""
SPREAD = {"entropy": 0.3, "failure": 0.2}
"""Growth of the scale per factor e of steps, as a share of the quantity."""
OFFSET = 0.02
"""Share of the largest performance added to failures, so that their logarithm stays finite."""
LEAST_ENTROPY = 1e-6
"""Smaller entropies, nats, count as this, so that their logarithm is finite."""

LEAST_NOISE = 0.005
"""The least noise of a performance, as a share of the range that was seen."""
MOST_LOGS = 50.0
"""No forecast changes the logarithm of a quantity more: beyond it powers would overflow."""

Kind = Literal["entropy", "failure", "law"]


@dataclass(frozen=True, slots=True)
class Interval:
    """A forecast, the interval that it holds with the probability asked for, and "stays as it is"."""

    value: float
    low: float
    high: float
    stays: float


@dataclass(frozen=True, slots=True)
class Guess:
    """A forecast before its interval: in the units in which its error is judged, and their scale."""

    value: Any
    scale: Any


@functools.cache
def scores(kind: Kind) -> np.ndarray:
    """Quantiles of (measured - forecast) / scale at evenly spaced probabilities from 0 to 1."""
    text = files("entropy_theory.performance_law").joinpath("calibration.json").read_text("utf-8")
    return np.array(json.loads(text)[kind])


def ends(guess: Guess, kind: Kind, level: float) -> tuple[Any, Any]:
    """Return the ends of the interval that holds with probability ``level``."""
    table = scores(kind)
    low, high = np.interp([(1 - level) / 2, (1 + level) / 2], np.linspace(0, 1, len(table)), table)
    return guess.value + low * guess.scale, guess.value + high * guess.scale


class Decay:
    """A positive quantity that goes on as a power of the step, or as it is where it has no trend.

    Args:
        time: [N], the steps counted from 1.
        value: [N], positive.
        logs: whether errors are judged in the logarithm (entropies) or as they are (failures).
        spread: what the scale gains per factor e of steps, as a share of the quantity.
    """

    def __init__(self, time: np.ndarray, value: np.ndarray, *, logs: bool, spread: float):
        first = len(time) - _window(len(time))
        clock, rate = np.log(time[first:]), np.log(value[first:])
        self._power = slope(clock, rate) if trend(value).exists else 0.0
        line = rate.mean() + self._power * (clock - clock.mean())
        off = rate - line if logs else value[first:] - np.exp(line)
        self._noise = off.std() / math.sqrt(LAST) + 1e-9
        self._clock = float(clock[-LAST:].mean())
        self.last = float(value[-LAST:].mean())
        self._logs, self._spread = logs, spread

    def at(self, time: Any) -> Guess:
        """Forecast at steps counted from 1, any shape."""
        ahead = np.log(time) - self._clock
        value = math.log(self.last) + np.clip(self._power * ahead, -MOST_LOGS, MOST_LOGS)
        gain = self._spread * ahead * (1 if self._logs else self.last)
        return Guess(value if self._logs else np.exp(value), np.hypot(self._noise, gain))


def entropy_decay(time: np.ndarray, entropy: np.ndarray) -> Decay:
    """The decay of an entropy [N], nats; its guesses are of the logarithm."""
    return Decay(time, np.maximum(entropy, LEAST_ENTROPY), logs=True, spread=SPREAD["entropy"])


def failure_decay(time: np.ndarray, performance: np.ndarray, best: float) -> Decay:
    """The decay of best - R + `offset`, for a performance [N] of at most ``best``."""
    failure = best - performance + offset(performance, best)
    return Decay(time, failure, logs=False, spread=SPREAD["failure"])


def performance_at(
    step: float, time: np.ndarray, performance: np.ndarray, bounds: tuple[float, float], level: float
) -> Interval:
    """Forecast a performance at a step, by its failures; ``bounds``: the least and largest there is."""
    least, best = bounds
    decay = failure_decay(time, performance, best)
    guess = decay.at(step)
    low, high = ends(guess, "failure", level)
    more = best + offset(performance, best)
    value, low, high = (float(np.clip(more - one, least, best)) for one in (guess.value, high, low))
    return Interval(value, low, high, float(performance[-LAST:].mean()))


def offset(performance: np.ndarray, best: float) -> float:
    """Return the amount that is added to failures."""
    return OFFSET * (best - min(0.0, float(performance.min())))


class LocalLaw:
    """The line R = -a e^H + b in the last part of a run, from the mean of its last values on.

    Args:
        entropy: [N], nats.
        performance: [N].
    """

    def __init__(self, entropy: np.ndarray, performance: np.ndarray):
        count = _window(len(entropy))
        x, y = np.expm1(entropy[-count:]), performance[-count:]
        self.slope = slope(x, y)
        off = y - y.mean() - self.slope * (x - x.mean())
        # A performance that rests for now may move again.
        self._noise = off.std() / math.sqrt(LAST) + LEAST_NOISE * float(np.ptp(performance))
        self._gain = _range(y)
        self._range = _range(x)
        self._x = float(x[-LAST:].mean())
        self.last = float(y[-LAST:].mean())

    def distance(self, entropy: float) -> float:
        """How far an entropy is from the last one, in ranges of e^H seen in the window."""
        return abs(math.expm1(entropy) - self._x) / self._range if self._range > 0 else math.inf

    def at(self, entropy: float) -> Guess:
        """Forecast at an entropy, nats."""
        value = self.last + self.slope * (math.expm1(entropy) - self._x)
        return Guess(value, math.hypot(self._noise, self._gain * min(self.distance(entropy), REACH)))


def slope(x: np.ndarray, y: np.ndarray) -> float:
    """The slope of the least-squares line; 0 where x rests."""
    off = x - x.mean()
    spread = float(np.sum(off**2))
    return float(np.sum(off * (y - y.mean()))) / spread if spread > 0 else 0.0


def _window(count: int) -> int:
    return min(max(LAST, round(WINDOW * count)), count)


def _range(values: np.ndarray) -> float:
    """The range of the means of six stretches."""
    return float(np.ptp(stretches(values, 6)))
