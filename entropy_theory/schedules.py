"""Target entropies that move: functions of the step, as dataclasses that a table or a text can state.

A constant, a step and a ramp are `Points`, a swing is a `Sine`. A controller is told its target at the
start of each batch, and by how much it will have moved at the start of the next (`Controller.aim`).
"""

from __future__ import annotations

import abc
import itertools
import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule(abc.ABC):
    """A function from the number of steps taken to a target entropy in nats."""

    @abc.abstractmethod
    def __call__(self, step: int) -> float:
        """The target at a step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Points(Schedule):
    """Straight lines through points, constant before the first and after the last: steps and ramps."""

    points: tuple[tuple[float, ...], ...] = ()
    """The points, each (step, nats), in the order of steps."""

    def __post_init__(self) -> None:
        if not self.points or any(len(point) != 2 for point in self.points):
            raise ValueError(f"points must be pairs [[step, nats], ...], got {list(self.points)}")
        if not all(math.isfinite(x) for point in self.points for x in point):
            raise ValueError(f"points must be finite, got {list(self.points)}")
        steps = [step for step, _ in self.points]
        if any(after <= before for before, after in itertools.pairwise(steps)):
            raise ValueError(f"the steps of points must rise, got {steps}")
        if min(level for _, level in self.points) < 0:
            raise ValueError(f"a target entropy must be at least 0 nats, got points {self.points}")

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


SCHEDULES: dict[str, type[Schedule]] = {"points": Points, "sine": Sine}
"""The schedules by their kind, for tables and texts; the first is that of a table without one."""
