"""The facts of a run that hypotheses are judged by: levels and moves of its series, with their noise."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import median_filter

from diagnosis.findings import Phase
from diagnosis.phases import between, phases, shown
from entropy_theory.performance_law.trend import FEWEST, correlation_time, trend, window
from entropy_theory.training_logs.logs import Run, Series
from entropy_theory.training_logs.names import Quantity

ERRORS = 3.0
"""How many standard errors a change of level is clear by."""
SMALL = 0.02
"""A change of reward or score by less than this share of its largest level is none."""


@dataclass(frozen=True, slots=True)
class Move:
    """The change of a quantity from one step to the end of the run.

    Attributes:
        first: its level just before the step, or at the beginning of the run.
        last: its level at the end of the run.
        error: the standard error of their difference; of positive quantities, of their logarithms.
        direction: -1, 0 or 1; 0 where the change cannot be told from noise.
        count: how many values there are from the step on.
    """

    first: float
    last: float
    error: float
    direction: int
    count: int

    @property
    def change(self) -> float:
        """The last level less the first."""
        return self.last - self.first

    @property
    def ratio(self) -> float:
        """The last level by the first; 1 where they have no ratio."""
        return self.last / self.first if self.first > 0 and self.last > 0 else 1.0


@dataclass(frozen=True, slots=True)
class Episode:
    """The steps from one on to the end of the run."""

    begin: float
    low: float
    high: float
    is_whole: bool


class Facts:
    """The series of a run with their trends and phases, each computed once.

    Args:
        run: the run.
        others: further runs on the same prompts in the same order.
    """

    def __init__(self, run: Run, others: tuple[Run, ...] = ()) -> None:
        self.run, self.others = run, others
        series = dict(run.series)
        if "entropy" not in series and "entropy_sampled" in series:
            series["entropy"] = series["entropy_sampled"]
        if (product := per_response(series)) is not None:
            series["entropy_sum"] = product
        self.series: Mapping[Quantity, Series] = series
        self.phases: tuple[Phase, ...] = phases(series)
        self.steps = np.unique(np.concatenate([one.step for one in series.values()] or [np.empty(0)]))
        self.moves = functools.cache(self._move)
        self.noise = functools.cache(self._noise)

    def __contains__(self, quantity: Quantity) -> bool:
        return quantity in self.series

    def value(self, quantity: Quantity) -> np.ndarray:
        """Return all values of a quantity; empty where it is not logged."""
        return self.series[quantity].value if quantity in self.series else np.empty(0)

    def end(self, quantity: Quantity) -> float:
        """Return the level at the end of the run; nan where it is not logged."""
        value = self.value(quantity)
        return float(np.mean(value[-window(len(value)):])) if len(value) else math.nan

    def late(self, quantity: Quantity) -> float:
        """Return the mean over the last half; nan where it is not logged."""
        value = self.value(quantity)
        return float(np.mean(value[len(value) // 2:])) if len(value) else math.nan

    def equal_groups(self) -> tuple[float, float]:
        """Return the shares, in the last half, of groups of equal rewards and of steps without gradient.

        Each is nan where it is not logged.
        """
        shares = (self.late("zero_variance"), self.late("all_right") + self.late("all_wrong"),
                  1 - self.late("mixed_groups"))
        gradient = self.value("gradient_norm")
        still = float(np.mean(gradient[len(gradient) // 2:] == 0)) if len(gradient) else math.nan
        return next((one for one in shares if math.isfinite(one)), math.nan), still

    def episodes(self) -> Iterator[Episode]:
        """Yield the whole run, and what begins at its turns or where the gain is done, in order."""
        found = [Episode(phase.begin, phase.begin_low, phase.begin_high, place == 0)
                 for place, phase in enumerate(self.phases)]
        done = self._done()
        if found and done is not None and all(abs(done - one.begin) > self.near_by for one in found):
            found.append(Episode(done, done - self.near_by, done + self.near_by, False))
        yield from sorted(found, key=lambda one: one.begin)

    @property
    def near_by(self) -> float:
        """How far apart, in steps, two beginnings may be that are one."""
        return 0.05 * float(np.ptp(self.steps))

    def _done(self) -> float | None:
        """Return the step from which on at most a tenth of the gain is to come; None if late or never."""
        steps = []
        quantities: tuple[Quantity, ...] = ("reward", "score")
        for quantity in quantities:
            value = self.value(quantity)
            if len(value) < FEWEST:
                continue
            level = median_filter(value, size=window(len(value)), mode="nearest")
            reached = np.flatnonzero(level >= level[0] + 0.9 * (level.max() - level[0]))
            place = min(int(reached[0]) + window(len(value)), len(value) - 1)
            steps.append(float(self.series[quantity].step[place]))
        late = float(self.steps[0]) + 0.75 * float(np.ptp(self.steps))
        return max(steps) if steps and max(steps) < late else None

    def best(self, judge: Callable[[Episode], tuple[float, float]]) -> tuple[float, Episode | None]:
        """Return the highest confidence of an episode, and the latest of the largest that have it.

        Args:
            judge: returns confidence and size of the change in an episode.
        """
        judged = [(*judge(episode), episode) for episode in self.episodes()]
        top = max((confidence for confidence, *_ in judged), default=0.0)
        if not top:
            return 0.0, None
        sure = [one for one in judged if one[0] >= top - 0.05]
        largest = max(size for _, size, _ in sure)
        return top, next(episode for _, size, episode in reversed(sure) if size >= 0.95 * largest)

    def move(self, quantity: Quantity, begin: float) -> Move | None:
        """Return the change of a quantity from a step to the end; None with fewer than two values."""
        return self.moves(quantity, float(begin))

    def line(self, quantity: Quantity) -> tuple[float, float]:
        """Return by how much a quantity moves along a line over the run, and the standard error."""
        value = self.value(quantity)
        n = len(value)
        if n < FEWEST:
            return 0.0, math.inf
        time = np.linspace(-0.5, 0.5, n)
        change = float(time @ value) / float(time @ time)
        rest = value - change * time - value.mean()
        return change, math.sqrt(12 * float(rest @ rest) / (n - 2) * correlation_time(rest) / n)

    def onset(self, quantity: Quantity, episode: Episode) -> Episode:
        """Return an episode from where a quantity leaves its first level for good.

        That is where a seventh of its change is done; a third of it is done at the latest possible step.
        """
        step, done = self._done_of(quantity, episode)
        if not len(step):
            return episode
        begin, high = (int(np.flatnonzero(done < share)[-1]) + 1 if (done < share).any() else 0
                       for share in (1 / 7, 1 / 3))
        if begin >= len(step) or (episode.is_whole and step[begin] <= step[0] + self.near_by):
            return episode
        low = max(begin - 2, 0)  # half of the median's five values
        return Episode(float(step[begin]), float(step[low]), float(step[min(high, len(step) - 1)]), False)

    def duration(self, quantity: Quantity, episode: Episode) -> float:
        """Return the share of the run that the middle five sevenths of a change take."""
        step, done = self._done_of(quantity, episode)
        if not len(step):
            return 1.0
        before = np.flatnonzero(done < 1 / 7)
        begin = int(before[-1]) if len(before) else 0
        after = begin + np.flatnonzero(done[begin:] >= 6 / 7)
        return float(step[after[0]] - step[begin]) / float(np.ptp(self.steps)) if len(after) else 1.0

    def _done_of(self, quantity: Quantity, episode: Episode) -> tuple[np.ndarray, np.ndarray]:
        """Return the steps of an episode, and the share of a quantity's change that is done at each."""
        found, series = self.move(quantity, episode.begin), self.series[quantity]
        if found is None or not found.change:
            return np.empty(0), np.empty(0)
        inside = series.step >= episode.begin
        level = median_filter(series.value[inside], size=5, mode="nearest")
        return series.step[inside], (level - found.first) / found.change

    def gain(self, begin: float) -> int | None:
        """Return which way training goes: 1 if reward or score rises, else -1 if one falls, else 0.

        None where neither is logged.
        """
        found = [one.direction for quantity in ("reward", "score")
                 if (one := self.move(quantity, begin)) is not None]
        return None if not found else 1 if 1 in found else min(found)

    def _noise(self, quantity: Quantity) -> tuple[float, float]:
        """Return standard deviation and correlation time about a line, those of the median phase."""
        series, found = self._shown(quantity), []
        for phase in self.phases:
            value = between(series, phase.begin, phase.end)
            if len(value) >= FEWEST:
                place = np.arange(len(value))
                rest = value - np.polynomial.Polynomial.fit(place, value, 1)(place)
                spread = math.sqrt(float(rest @ rest) / (len(value) - 2))
                found.append((spread, correlation_time(rest), len(value)))
        if not found:
            return float(np.std(series.value)), 1.0
        found.sort(key=lambda one: one[0] ** 2 * one[1])
        counted = np.cumsum([count for *_, count in found])
        spread, time, _ = found[int(np.searchsorted(counted, counted[-1] / 2))]
        return spread, time

    def _move(self, quantity: Quantity, begin: float) -> Move | None:
        series = self.series.get(quantity)
        if series is None or len(series.value) < 2:
            return None
        place = int(np.searchsorted(series.step, begin))
        after = series.value[place:]
        if len(after) < 2:
            return None
        early = self._near(series, place)
        late = after[-min(len(self._near(series, len(series.value))), max(1, len(after) // 2)):]
        first, last = float(np.mean(early)), float(np.mean(late))
        spread, time = self.noise(quantity)
        error = spread * math.sqrt(sum(min(1.0, time / len(part)) for part in (early, late)))
        seen = self._shown(quantity)
        apart = np.mean(seen.value[place:][-len(late):]) - np.mean(self._near(seen, place))
        clear = abs(apart) > ERRORS * error
        if not clear and len(after) >= FEWEST:
            tested = trend(after)
            clear = tested.direction * (last - first) > 0
        if quantity in ("reward", "score"):
            clear &= abs(last - first) > SMALL * max(abs(first), abs(last))
        return Move(first, last, error, int(np.sign(last - first)) if clear else 0, len(after))

    def _shown(self, quantity: Quantity) -> Series:
        series = self.series[quantity]
        return Series(series.column, series.step, shown(quantity, series.value))

    def _near(self, series: Series, place: int) -> np.ndarray:
        """Return the values that make up the level before a place; at the beginning, that after it."""
        step = series.step[max(place - 1, 0)]
        phase = next((one for one in reversed(self.phases) if one.begin <= step), self.phases[0])
        width = max(1, window(len(between(series, phase.begin, phase.end))))
        return series.value[place - min(width, place): place] if place else series.value[:width]


def per_response(series: Mapping[Quantity, Series]) -> Series | None:
    """Return the entropy of a response, nats: per token, times length. None where no step has both."""
    if "entropy" not in series or "length" not in series:
        return None
    entropy, length = series["entropy"], series["length"]
    both, per_token, tokens = entropy.beside(length)
    if not len(both):
        return None
    return Series(f"{entropy.column} x {length.column}", both, per_token * tokens)
