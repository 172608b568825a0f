"""Numbers that move with the step, as dataclasses that a table or a text can state.

A constant, a step and a ramp are `Points`, a swing is a `Sine`, a decay is a `Cosine`. They are target
entropies in nats, or coefficients of a bonus. At the start of each batch a controller gets its target,
and how far the target will have moved at the start of the next batch (`Controller.aim`). A coefficient is
read at each optimizer step.
"""

from __future__ import annotations

import abc
import itertools
import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule(abc.ABC):
    """A function from the number of steps taken to a target entropy in nats, or to a coefficient."""

    @abc.abstractmethod
    def __call__(self, step: int) -> float:
        """The target or the coefficient at a step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Points(Schedule):
    """Straight lines through points, constant before the first and after the last: steps and ramps."""

    points: tuple[tuple[float, ...], ...] = ()
    """The points, each (step, target or coefficient), in the order of steps; a jump is two points that
    are one step apart."""

    def __post_init__(self) -> None:
        if not self.points or any(len(point) != 2 for point in self.points):
            raise ValueError(f"points must be pairs [[step, nats], ...], got {list(self.points)}")
        if not all(math.isfinite(x) for point in self.points for x in point):
            raise ValueError(f"points must be finite, got {list(self.points)}")
        steps = [step for step, _ in self.points]
        if any(after <= before for before, after in itertools.pairwise(steps)):
            raise ValueError(f"the steps of points must rise, got {steps}")
        if min(level for _, level in self.points) < 0:
            raise ValueError(
                f"a target entropy or a coefficient must be at least 0, got points {self.points}")

    def __call__(self, step: int) -> float:
        steps, levels = zip(*self.points, strict=True)
        return float(np.interp(step, steps, levels))


@dataclass(frozen=True, kw_only=True, slots=True)
class Sine(Schedule):
    """The target middle + amplitude sin(2 pi t / period), t counted from ``start``; before it, middle."""

    middle: float = 0.5
    amplitude: float = 0.25
    """How far the target swings to either side, nats; at most ``middle``."""
    period: float = 500.0
    """Length of one swing, in steps."""
    start: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.amplitude <= self.middle < math.inf:
            raise ValueError(
                "amplitude must be from 0 to the middle, so that no target is below 0 nats, got "
                f"amplitude {self.amplitude} and middle {self.middle}")
        if not (math.isfinite(self.start) and 0 < self.period < math.inf):
            raise ValueError(
                f"period must be above 0 and start finite, got {self.period} and {self.start}")

    def __call__(self, step: int) -> float:
        phase = max(step - self.start, 0.0) / self.period
        return self.middle + self.amplitude * math.sin(2 * math.pi * phase)


@dataclass(frozen=True, kw_only=True, slots=True)
class Cosine(Schedule):
    """Half a cosine from ``first`` to ``last`` over ``steps`` steps, constant before and after."""

    first: float = 0.015
    last: float = 0.0
    steps: float = 500.0
    """The number of steps that the way takes."""
    start: float = 0.0
    """The step at which it begins."""

    def __post_init__(self) -> None:
        if not (0 <= self.first < math.inf and 0 <= self.last < math.inf):
            raise ValueError(
                f"first and last must be finite and at least 0, got {self.first} and {self.last}")
        if not (math.isfinite(self.start) and 0 < self.steps < math.inf):
            raise ValueError(f"steps must be above 0 and start finite, got {self.steps} and {self.start}")

    def __call__(self, step: int) -> float:
        share = min(max((step - self.start) / self.steps, 0.0), 1.0)
        return self.last + (self.first - self.last) * (1 + math.cos(math.pi * share)) / 2


SCHEDULES: dict[str, type[Schedule]] = {"points": Points, "sine": Sine, "cosine": Cosine}
"""The schedules by their kind, for tables and texts; the first is that of a table without one."""
