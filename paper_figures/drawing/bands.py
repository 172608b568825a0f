"""Draws the median or the mean over starts as a line, with a band."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pandas
from matplotlib.axes import Axes

from paper_figures.drawing.style import SERIES
from simulations.experiments.curves import mean_interval


def draw_line(
    panel: Axes, rows: pandas.DataFrame, look: Mapping[str, Any], *, x: str = "x", y: str = "y",
    band: tuple[float, float] | None = (0.1, 0.9), center: str = "median",
) -> tuple[float, float]:
    """Draw the median of ``y`` at each ``x``; returns the line's last point.

    Args:
        panel: the axes to draw on.
        rows: one row for each start and x.
        look: line properties, such as one of ``style.SERIES``.
        x, y: names of the columns.
        band: quantiles between which it is shaded, (0, 1) being all; None draws no band.
        center: what is drawn in place of the median, such as "mean".
    """
    groups = rows.groupby(x)[y]
    middle = groups.agg(center)
    panel.plot(middle.index, middle, **look)
    if band is not None:
        panel.fill_between(middle.index, groups.quantile(band[0]), groups.quantile(band[1]),
                           color=look["color"], alpha=0.15, linewidth=0)
    return float(middle.index[-1]), float(middle.iloc[-1])


def draw_lines(
    panel: Axes, rows: pandas.DataFrame, by: str, looks: Mapping[Any, Mapping[str, Any]] | None = None,
    *, name: Callable[[Any], str] = str, **options: Any,
) -> list[tuple[float, float, str, str]]:
    """Draw a line for each value of column ``by``; returns their ends, as `style.label_ends` takes them.

    Args:
        panel, rows: as those of `draw_line`, which takes the ``options``.
        by: name of the column.
        looks: line properties by value, in the order in which lines are drawn; those of a value without
            rows are not used. By default values are sorted, each with one of ``style.SERIES``.
        name: a function of a value that returns its line's label.
    """
    if looks is None:
        looks = dict(zip(sorted(rows[by].unique()), SERIES, strict=False))
    return [
        (*draw_line(panel, here, look, **options), name(value), str(look["color"]))
        for value, look in looks.items() if len(here := rows[rows[by] == value])
    ]


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
