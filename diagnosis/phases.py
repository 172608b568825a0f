"""Cuts a run into phases: where the series of a run, taken together, turn.

In a phase each series is a straight line (positive quantities in logarithms). The cut is the exact
optimum over all cuts, by dynamic programming on at most `BINS` bins. A cut has to gain more than noise
would. One more boundary frees a level and a slope of each of S series, so noise gains a chi-square of
2 S degrees of freedom. The best of all places exceeds `2 S + 2 sqrt(2 S x) + 2 x` with probability below
e^-x each (Laurent and Massart 2000, lemma 1). Noise is measured about the lines of a finer cut, and its
variance is multiplied by the correlation time. Of 100 runs of six series of noise, those with a lag-1
correlation of .5 are cut in 4 (60 steps) and 0 (200), those with .9 in 36, 18 and 0 (1,000).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from diagnosis.findings import Phase
from entropy_theory.performance_law.trend import FEWEST, correlation_time, trend
from entropy_theory.training_logs.logs import Series
from entropy_theory.training_logs.names import Quantity

BINS = 200
MOST, FOR_ONE = 6, 10
"""The most phases, and for how many steps there may be one."""
FEW, FOR_NOISE = 3, 40
"""The least number of lines that noise is measured about, and for how many steps there is one."""
SHORTEST = 4
"""The fewest bins of a phase."""
CHANCE = 0.01
"""How often noise alone may be cut."""
WITHIN = 6.0
"""A boundary may lie where its gain is within this of the best (chi-square of 1, of .986)."""
RESOLUTION: Mapping[Quantity, float] = {
    "entropy": 0.03, "entropy_sampled": 0.03, "reward": 0.01, "score": 0.01, "length": 0.02,
    "truncated": 0.01, "kl_reference": 0.1, "clipped": 0.005, "clipped_low": 0.005,
    "clipped_high": 0.005, "gradient_norm": 0.1, "mismatch": 0.1, "zero_variance": 0.03,
}
"""The series that phases are cut by, with the noise that each has at least (of positive quantities its
share): a smaller turn changes nothing."""
LOGARITHMIC = frozenset[Quantity](
    ("entropy", "entropy_sampled", "length", "kl_reference", "gradient_norm", "mismatch"))


def shown(quantity: Quantity, value: np.ndarray) -> np.ndarray:
    """Return values as phases see them: in logarithms where the quantity is positive."""
    if quantity not in LOGARITHMIC:
        return value
    positive = value[value > 0]
    return np.log(np.maximum(value, 0.1 * float(np.median(positive)) if len(positive) else 1.0))


def phases(series: Mapping[Quantity, Series]) -> tuple[Phase, ...]:
    """Return the phases of a run, in order; a single one where nothing turns beyond noise."""
    used = {quantity: one for quantity, one in series.items()
            if quantity in RESOLUTION and len(one.step) >= FEWEST and np.ptp(one.value) > 0}
    if not series:
        return ()
    steps = np.unique(np.concatenate([one.step for one in (used or series).values()]))
    cut = _cut(used, steps) if used else []
    bounds = [steps[0], *(steps[place] for place, _, _ in cut), steps[-1] + 1]
    sure = [(steps[0], steps[0]), *((steps[low], steps[high]) for _, low, high in cut)]
    return tuple(
        Phase(float(begin), float(_before(steps, end)), float(low), float(high),
              {quantity: trend(value) for quantity, one in used.items()
               if len(value := between(one, begin, _before(steps, end)))})
        for (begin, end), (low, high) in zip(pairwise(bounds), sure, strict=True))


def between(series: Series, begin: float, end: float) -> np.ndarray:
    """Return the values from one step to another, both included."""
    inside = (series.step >= begin) & (series.step <= end)
    return series.value[inside]


def _before(steps: np.ndarray, end: float) -> float:
    return float(steps[np.searchsorted(steps, end) - 1])


@dataclass(frozen=True, slots=True)
class _Binned:
    """Series in bins: weight, value and time as running sums, [S, bins + 1] each."""

    sums: tuple[np.ndarray, ...]
    bins: int

    def error(self, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Return the squared error about a line from bin to before bin, [S, ...]."""
        w, t, tt, y, ty, yy = (found[:, end] - found[:, begin] for found in self.sums)
        safe = np.maximum(w, 1e-12)
        spread = tt - t * t / safe
        slope = ty - t * y / safe
        about = yy - y * y / safe
        return np.maximum(about - np.where(spread > 1e-9, slope * slope / np.maximum(spread, 1e-9), 0), 0)


def _binned(places: Sequence[np.ndarray], values: Sequence[np.ndarray], bins: int) -> _Binned:
    rows: list[list[np.ndarray]] = [[] for _ in range(6)]
    for place, value in zip(places, values, strict=True):
        time = place / bins
        for row, weight in zip(rows, (np.ones_like(value), time, time * time, value, time * value,
                                      value * value), strict=True):
            row.append(np.append(0.0, np.cumsum(np.bincount(place, weight, bins))))
    return _Binned(tuple(np.array(row) for row in rows), bins)


def _optimum(cost: np.ndarray, most: int) -> list[tuple[float, list[int]]]:
    """Return for 1, 2, ... segments the least cost and the begins; ``cost[i, j]`` is that of [i, j)."""
    size = len(cost) - 1
    best, found = cost[0].copy(), [(float(cost[0, size]), [0])]
    back: list[np.ndarray] = []
    for count in range(2, most + 1):
        total = best[:, None] + cost
        came = np.argmin(total, axis=0)
        best = total[came, np.arange(size + 1)]
        back.append(came)
        if not math.isfinite(best[size]):
            break
        begins, place = [], size
        for step in reversed(range(count - 1)):
            place = int(back[step][place])
            begins.append(place)
        found.append((float(best[size]), [0, *reversed(begins)]))
    return found


def _cut(used: Mapping[Quantity, Series], steps: np.ndarray) -> list[tuple[int, int, int]]:
    """Return the boundaries as indices into the steps: where, the earliest and the latest."""
    bins = min(BINS, len(steps))
    if bins < 3 * SHORTEST:
        return []
    most = min(MOST, max(FEW, len(steps) // FOR_ONE))
    finer = min(MOST, max(FEW, len(steps) // FOR_NOISE))
    index = [np.searchsorted(steps, one.step) for one in used.values()]
    places = [(found * bins) // len(steps) for found in index]
    values = [_tame(shown(quantity, one.value)) for quantity, one in used.items()]
    begin, end = np.triu_indices(bins + 1, SHORTEST)
    errors = _binned(places, values, bins).error(begin, end)
    floor = np.array([RESOLUTION[quantity] for quantity in used])

    def costs(scale: np.ndarray) -> np.ndarray:
        table = np.full((bins + 1, bins + 1), np.inf)
        table[begin, end] = (errors / scale[:, None]).sum(axis=0)
        return table

    spread = np.array([max(float(np.var(value)), 1e-12) for value in values])
    noise = spread
    for _ in range(2):  # the cut is by the noise, and the noise about the cut
        fine = _optimum(costs(noise), finer)[-1][1]
        noise = np.array([_noise(place, value, fine, low)
                          for place, value, low in zip(places, values, floor, strict=True)])
    table = costs(noise)
    free, chance = 2 * len(used), math.log(bins / CHANCE)
    penalty = free + 2 * math.sqrt(free * chance) + 2 * chance
    found = _optimum(table, most)
    _, begins = min(found, key=lambda one: one[0] + penalty * len(one[1]))
    edges = [*begins, bins]
    cut = []
    for before, place, after in zip(edges, edges[1:], edges[2:], strict=False):
        inner = np.arange(before + SHORTEST, after - SHORTEST + 1)
        profile = table[before, inner] + table[inner, after]
        near = inner[profile <= profile.min() + WITHIN]
        at = [-(-int(one) * len(steps) // bins) for one in (place, near.min(), near.max())]
        cut.append((at[0], at[1], at[2]))
    return cut


def _noise(place: np.ndarray, value: np.ndarray, begins: Sequence[int], floor: float) -> float:
    """Return the variance about the lines of a cut times the correlation time, at least the floor's."""
    rest, lost = [], 0
    for low, high in pairwise([*begins, int(place[-1]) + 1]):
        inside = (place >= low) & (place < high)
        if inside.sum() > 2:
            line = np.polynomial.Polynomial.fit(place[inside], value[inside], 1)
            rest.append(value[inside] - line(place[inside]))
            lost += 2
    residual = np.concatenate(rest) if rest else value - value.mean()
    variance = float(residual @ residual) / max(len(residual) - lost, 1)
    stretch = len(value) / len(begins)
    time = correlation_time(residual, stretch)
    return max(variance * time / max(1 - 2 * time / stretch, 0.2), floor**2)


def _tame(value: np.ndarray) -> np.ndarray:
    """Return values with single spikes cut to what their neighbours have."""
    n = len(value)
    around = np.stack([value[np.clip(np.arange(n) + shift, 0, n - 1)] for shift in range(-2, 3)])
    middle = np.median(around, axis=0)
    scale = 1.4826 * float(np.median(np.abs(value - middle))) or float(np.std(value - middle))
    return np.clip(value, middle - 5 * scale, middle + 5 * scale)
