"""Draws the median or the mean over starts as a line, with a band."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pandas
from matplotlib.axes import Axes

from paper_figures.drawing.style import SERIES, label_ends, step_axis, value_ticks
from simulations.experiments.curves import mean_interval

LINE = ("x", "y", "band", "center", "bars")
"""The options of `draw_line`, which `lines` hands on."""


def draw_line(
    panel: Axes, rows: pandas.DataFrame, look: Mapping[str, Any], *, x: str = "x", y: str = "y",
    band: tuple[float, float] | None = (0.1, 0.9), center: str = "median", bars: bool = False,
) -> tuple[float, float]:
    """Draw the median of ``y`` at each ``x``; returns the line's last point.

    Args:
        panel: the axes to draw on.
        rows: one row for each start and x.
        look: line properties, such as one of ``style.SERIES``.
        x, y: names of the columns.
        band: quantiles between which it is shaded, (0, 1) for all, None for no band.
        center: what is drawn in place of the median, such as "mean".
        bars: whether error bars stand in place of the shade.
    """
    groups = rows.groupby(x)[y]
    middle = groups.agg(center)
    low, high = (middle if band is None else groups.quantile(band[end]) for end in (0, 1))
    if bars:
        panel.errorbar(middle.index, middle, yerr=[middle - low, high - middle], elinewidth=0.6, **look)
    else:
        panel.plot(middle.index, middle, **look)
        if band is not None:
            panel.fill_between(middle.index, low, high, color=look["color"], alpha=0.15, linewidth=0)
    return float(middle.index[-1]), float(middle.iloc[-1])


def draw_lines(
    panel: Axes, rows: pandas.DataFrame, by: str, looks: Mapping[Any, Mapping[str, Any]] | None = None,
    *, name: Callable[[Any], str] = str, **options: Any,
) -> list[tuple[float, float, str, str]]:
    """Draw a line for each value of column ``by``; returns their ends, as `style.label_ends` takes them.

    Args:
        panel, rows, options: as those of `draw_line`.
        by, looks, name: as those of `lines`.
    """
    if looks is None:
        looks = dict(zip(sorted(rows[by].unique()), SERIES, strict=False))
    return [
        (*draw_line(panel, here, look, **options), name(value), str(look["color"]))
        for value, look in looks.items() if len(here := rows[rows[by] == value])
    ]


def lines(
    panel: Axes, rows: pandas.DataFrame, by: str,
    looks: Mapping[Any, Mapping[str, Any]] | Iterable[Any] | None = None, *,
    name: Callable[[Any], str] | None = str, steps: bool = False, ticks: str = "", **options: Any,
) -> None:
    """Draw a line for each value of column ``by``, set the axes, and name the lines at their ends.

    Lines without markers go from edge to edge of the panel.

    Args:
        panel, rows: as those of `draw_line`.
        by: name of the column.
        looks: line properties by value, in the order in which lines are drawn, or the values alone,
            for lines of ``style.SERIES``. Values without rows are not drawn. By default all values,
            sorted.
        name: a function of a value that returns its line's label; None writes no labels.
        steps: whether x are steps, which `style.step_axis` shows.
        ticks: the form of ticks at each x; "" leaves them to matplotlib.
        options: those of `draw_line`, and properties of the axes, such as xlabel, ylim and title.
    """
    if looks is not None and not isinstance(looks, Mapping):
        looks = dict(zip(looks, SERIES, strict=False))
    how = {key: options.pop(key) for key in LINE if key in options}
    ends = draw_lines(panel, rows, by, looks, name=name or str, **how)
    if steps:
        step_axis(panel, rows[how.get("x", "x")])
    elif looks is None or not any("marker" in look for look in looks.values()):
        panel.margins(x=0)
    panel.set(**options)
    if ticks:
        value_ticks(panel, rows[how.get("x", "x")], ticks)
    if name:
        label_ends(panel, ends)


def draw_mean(
    panel: Axes, wide: pandas.DataFrame, look: Mapping[str, Any], *, level: float | None = 0.95
) -> tuple[float, float]:
    """Draw the mean over columns at each index; returns the line's last point.

    Args:
        panel: the axes to draw on.
        wide: values [x, start].
        look: line properties, such as one of ``style.SERIES``.
        level: confidence level of the band, the mean's interval by Student's t over starts. None:
            the band goes from the lowest to the highest value, as for a few seeds.
    """
    mean = wide.mean(axis=1)
    panel.plot(mean.index, mean, **look)
    if wide.shape[1] > 1:
        low, high = wide.min(axis=1).to_numpy(), wide.max(axis=1).to_numpy()
        if level is not None:
            _, low, high = mean_interval(wide.to_numpy(), axis=1, level=level)
        panel.fill_between(mean.index, low, high, color=look["color"], alpha=0.17, linewidth=0)
    return float(mean.index[-1]), float(mean.iloc[-1])
