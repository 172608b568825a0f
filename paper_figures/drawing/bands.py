"""Draws the median or the mean over starts as a line, with a band."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas
from matplotlib.axes import Axes

from simulations.experiments.curves import mean_interval


def draw_median(
    panel: Axes, rows: pandas.DataFrame, look: Mapping[str, Any], *, x: str = "x", y: str = "y",
    band: tuple[float, float] | None = (0.1, 0.9),
) -> tuple[float, float]:
    """Draw the median of ``y`` at each ``x``; returns the line's last point.

    Args:
        panel: the axes to draw on.
        rows: one row for each start and x.
        look: line properties, such as one of ``style.SERIES``.
        x, y: names of the columns.
        band: quantiles between which it is shaded, (0, 1) being all; None draws no band.
    """
    groups = rows.groupby(x)[y]
    middle = groups.median()
    panel.plot(middle.index, middle, **look)
    if band is not None:
        panel.fill_between(middle.index, groups.quantile(band[0]), groups.quantile(band[1]),
                           color=look["color"], alpha=0.15, linewidth=0)
    return float(middle.index[-1]), float(middle.iloc[-1])


def draw_mean(
    panel: Axes, wide: pandas.DataFrame, look: Mapping[str, Any], *, level: float | None = 0.95
) -> tuple[float, float]:
    """Draw the mean over columns at each index; returns the line's last point.

    Args:
        panel: the axes to draw on.
        wide: values [x, start].
        look: line properties, such as one of ``style.SERIES``.
        level: confidence level of the mean's interval (Student's t over starts), which is the band; with
            None the band goes from the lowest to the highest value, as for a few seeds.
    """
    mean = wide.mean(axis=1)
    panel.plot(mean.index, mean, **look)
    if wide.shape[1] > 1:
        low, high = wide.min(axis=1).to_numpy(), wide.max(axis=1).to_numpy()
        if level is not None:
            _, low, high = mean_interval(wide.to_numpy(), axis=1, level=level)
        panel.fill_between(mean.index, low, high, color=look["color"], alpha=0.17, linewidth=0)
    return float(mean.index[-1]), float(mean.iloc[-1])
