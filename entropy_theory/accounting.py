r"""Accounts for a change of mean entropy: how much of it each part of a step of the parameters caused.

The mean entropy H of fixed states is a function of the parameters :math:`\theta`, whatever the model,
the rule and the optimizer. A step d is the sum of parts :math:`d_k`. Each part has a forecast and an
account:

.. math::

    \text{forecast:} \quad \langle \nabla H(\theta),\, d_k \rangle
    \quad\text{before the step, to first order;}

    \text{account:} \quad \Bigl\langle \int_0^1 \nabla H(\theta + t\, d)\, dt,\; d_k \Bigr\rangle
    \quad\text{after it, along the straight path.}

The account's parts add up to :math:`H(\theta + d) - H(\theta)` for a step of any size, except for the
error of the quadrature that stands in for the integral. The change itself is measured, so this error is
seen. For independent logits the forecast is that of Cui et al., Lemma 1, and AEPO, Eq. 6
(`entropy_change`).

The forecast has taken the slope at :math:`\theta` already. Radau's rule of two points, 1/4 of the slope
at 0 and 3/4 of that at 2/3, is therefore exact for slopes of degree 2. It costs as much as the
trapezoid, which is exact for degree 1 alone. Where Radau's rule leaves a residual the path is halved.
Let T be the trapezoid of n intervals and M the mean at their midpoints: the trapezoid of 2n intervals
is :math:`(T + M) / 2`, and Simpson's rule is :math:`(T + 2 M) / 3`.

Slopes may be numbers, vectors, or the gradients of a model. Each is added to a sum as it is taken, so
Radau's rule holds one sum in the place of the slope at :math:`\theta`, and halving holds two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

SHARE = 0.02
"""The residual that is let stand, as a share of the measured change."""
MOST_POINTS = 10
"""The number of points on the path beyond which it is not refined: Radau's 2, then with those of halving
4, 6 and 10."""

Slope = Any
"""A gradient of the entropy: a number, a numpy array, or an object with ``+=`` and ``*=`` by numbers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    """The mean slope along a step, and how well it accounts for the measured change."""

    slope: Slope
    change: float
    """<slope, step>, nats."""
    points: int
    """At how many points of the path the slope was taken."""
    converged: bool
    """Whether what is left of the measured change is within the share and the rounding."""


def along_path(
    start: Slope,
    add_slope: Callable[[Slope | None, float], Slope],
    project: Callable[[Slope], float],
    measured: float,
    *,
    share: float = SHARE,
    rounding: float = 0.0,
    most_points: int = MOST_POINTS,
    ends_only: bool = False,
) -> Path:
    """Average the slope along a step until it accounts for the measured change, or points run out.

    Args:
        start: the slope at theta, which is changed in place.
        add_slope: returns a sum with the slope at theta + t step, t in [0, 1], added to it, in place
            where it can; a sum of None begins one. A path that halving refines asks for the slope at 0
            again.
        project: gives the inner product of a slope with the step, nats.
        measured: the change to be accounted for, nats.
        share: the largest residual to stop at, as a share of abs(measured); above 0.
        rounding: the part of it that rounding alone may leave, nats.
        most_points: at most so many points are taken; at least 2.
        ends_only: whether the path has no points between its ends, as that of weights of few bits: the
            trapezoid is then all there is.

    Raises:
        ValueError: a share, a rounding or a number of points out of range, or a change that is not
            finite.
    """
    if not (share > 0 and rounding >= 0 and most_points >= 2):
        raise ValueError(
            f"share must be above 0, rounding at least 0 and most_points at least 2, got {share}, "
            f"{rounding} and {most_points}"
        )
    if not math.isfinite(measured):
        raise ValueError(f"the measured entropy change is {measured}: the policy has diverged")

    def accounts(change: float) -> bool:
        return abs(measured - change) <= share * abs(measured) + rounding

    if ends_only:
        ends = add_slope(start, 1.0)
        ends *= 0.5
        change = project(ends)
        return Path(slope=ends, change=change, points=2, converged=accounts(change))
    mean = start
    mean *= 1 / 3
    mean = add_slope(mean, 2 / 3)
    mean *= 3 / 4
    change = project(mean)
    done = accounts(change)
    if done or most_points < 4:
        return Path(slope=mean, change=change, points=2, converged=done)
    # What is left of it is worth one pass more, not a third sum.
    del mean, start
    return _halved(add_slope, project, accounts, most_points)


def _halved(
    add_slope: Callable[[Slope | None, float], Slope], project: Callable[[Slope], float],
    accounts: Callable[[float], bool], most_points: int,
) -> Path:
    """Halve the intervals of the path until Simpson's rule accounts for the change, or points run out."""
    ends = add_slope(add_slope(None, 0.0), 1.0)
    ends *= 0.5
    change, intervals = project(ends), 1
    while True:
        middle = add_slope(None, 0.5 / intervals)
        for place in range(1, intervals):
            middle = add_slope(middle, (place + 0.5) / intervals)
        middle *= 1 / intervals
        simpson = (change + 2 * project(middle)) / 3
        # Radau's second point is one that halving does not use.
        points, more = 2 * intervals + 2, 4 * intervals + 2
        done = accounts(simpson)
        if done or more > most_points:
            middle *= 2
            ends += middle
            ends *= 1 / 3
            return Path(slope=ends, change=simpson, points=points, converged=done)
        ends += middle
        ends *= 0.5
        del middle  # or the next would be a third sum
        change, intervals = project(ends), 2 * intervals


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """A step's entropy change, forecast and accounted for, by the parts of the step; nats."""

    forecast_parts: dict[str, float]
    """First-order change that each part was forecast to cause; the sum is the forecast."""
    parts: dict[str, float]
    """Change that each part caused along the step; the sum is the accounted change."""
    measured: float
    points: int
    """The number of points at which the gradient of the entropy was taken."""
    converged: bool
    """Whether the residual is within the share and the rounding that were asked for."""

    @property
    def forecast(self) -> float:
        """The change to first order."""
        return math.fsum(self.forecast_parts.values())

    @property
    def accounted(self) -> float:
        """The change along the step."""
        return math.fsum(self.parts.values())

    @property
    def residual(self) -> float:
        """The measured change minus the accounted one."""
        return self.measured - self.accounted


def of_step(
    entropy: Callable[[np.ndarray], float],
    gradient: Callable[[np.ndarray], np.ndarray],
    parameters: np.ndarray,
    parts: Mapping[str, np.ndarray],
    **options: Any,
) -> Account:
    """Account for a step of a parameter vector.

    Args:
        entropy: gives the mean entropy at a parameter vector, nats.
        gradient: gives its gradient there, of the same shape.
        parameters: the vector before the step.
        parts: the parts of the step, by name, each of that shape.
        options: as `along_path`: share, rounding, most_points.

    Raises:
        ValueError: no part, a part of another shape or a number that is not finite; as `along_path`.
    """
    for name, part in parts.items():
        if np.shape(part) != np.shape(parameters):
            raise ValueError(
                f"part '{name}' of the step has shape {np.shape(part)}, the parameters have "
                f"{np.shape(parameters)}"
            )
        if not np.isfinite(part).all():
            found = np.asarray(part)[~np.isfinite(part)][0]
            raise ValueError(f"part '{name}' of the step must be finite, got {found}")
    if not parts:
        raise ValueError("a step needs at least one part")
    step = sum(parts.values(), np.zeros(np.shape(parameters)))
    start = np.array(gradient(parameters), dtype=float)
    measured = float(entropy(parameters + step)) - float(entropy(parameters))
    forecast_parts = {name: float(np.sum(start * part)) for name, part in parts.items()}

    def add_slope(total: Slope | None, t: float) -> Slope:
        slope = np.array(gradient(parameters + t * step), dtype=float)
        return slope if total is None else total + slope

    path = along_path(
        start, add_slope, lambda slope: float(np.sum(slope * step)), measured, **options)
    return Account(
        forecast_parts=forecast_parts,
        parts={name: float(np.sum(path.slope * part)) for name, part in parts.items()},
        measured=measured, points=path.points, converged=path.converged,
    )
