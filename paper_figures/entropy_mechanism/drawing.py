"""Draws what several figures of this folder have in common."""

from __future__ import annotations

import numpy as np
import pandas
from matplotlib.axes import Axes

from paper_figures.drawing.bands import draw_lines
from paper_figures.drawing.style import label_ends, marked

SHORT = {
    "one right, all alike": "one, alike", "one right": "one", "a quarter right": "quarter",
    "a tenth right, graded": "tenth", "a tenth right, graded, peaked": "tenth, peaked",
}
"""Short labels of lines, by family; other families keep their names."""


def draw_by_size(
    panel: Axes, rows: pandas.DataFrame, column: str, *, names: bool = True, scale: str = "linear"
) -> None:
    """Draw a column's mean over starts against the number of answers, a line a family with its range.

    Args:
        rows: a row a run, with series (the family), size and the column.
        names: whether to label the lines.
        scale: scale of the values' axis.
    """
    looks = {family: {**marked(i), "markersize": 3.5} for i, family in enumerate(rows["series"].unique())}
    labels = draw_lines(panel, rows, "series", looks, x="size", y=column, center="mean", band=(0, 1),
                        name=lambda family: SHORT.get(family, family))
    sizes = sorted(rows["size"].unique())
    panel.set(xscale="log", yscale=scale)
    panel.set_xticks(sizes, [f"{size:.0f}" for size in sizes])
    panel.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
    panel.set_xlabel("answers to a prompt")
    if names:
        label_ends(panel, labels)


def fill_rows(axes: np.ndarray, count: int) -> None:
    """Remove panels (of two columns) beyond the first ``count``; a last one alone gets its whole row."""
    for panel in axes.flat[count:]:
        panel.remove()
    if count % 2:
        last = axes.flat[count - 1]
        last.set_subplotspec(last.get_gridspec()[(count - 1) // 2, :])
