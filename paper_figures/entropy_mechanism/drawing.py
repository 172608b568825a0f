"""Draws what several figures of this folder have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
from matplotlib.axes import Axes

from paper_figures.drawing import lines, marked

SHORT = {
    "one right, all alike": "one, alike", "one right": "one", "a quarter right": "quarter",
    "a tenth right, graded": "tenth", "a tenth right, graded, peaked": "tenth, peaked",
}
"""Short labels of lines, by family; other families keep their names."""


def draw_by_size(
    panel: Axes, rows: pandas.DataFrame, column: str, *, names: bool = True, scale: str = "linear",
    **options: Any,
) -> None:
    """Draw a column's mean over starts against the number of answers, a line a family with its range.

    Args:
        rows: a row per run, with series (the family), size and the column.
        names: whether to label the lines.
        scale: scale of the values' axis.
        options: properties of the axes.
    """
    looks = {family: {**marked(i), "markersize": 3.5} for i, family in enumerate(rows["series"].unique())}
    lines(panel, rows, "series", looks, x="size", y=column, center="mean", band=(0, 1), ticks="{:.0f}",
          name=(lambda family: SHORT.get(family, family)) if names else None, xscale="log", yscale=scale,
          xlabel="answers to a prompt", **options)


def fill_rows(axes: np.ndarray, count: int) -> None:
    """Remove panels (of two columns) beyond the first ``count``; a last one alone gets its whole row."""
    for panel in axes.flat[count:]:
        panel.remove()
    if count % 2:
        last = axes.flat[count - 1]
        last.set_subplotspec(last.get_gridspec()[(count - 1) // 2, :])
