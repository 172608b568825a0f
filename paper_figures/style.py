"""How every figure is drawn: one style file, lines told apart without color, labels at their ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

STYLE_FILE = Path(__file__).with_name("style.mplstyle")

# Okabe and Ito's palette, ordered so that neighbors also differ in lightness (grey prints), each
# with its own dash pattern: a series is known by either alone.
SERIES: tuple[dict[str, Any], ...] = (
    {"color": "#0072B2", "linestyle": "-"},
    {"color": "#D55E00", "linestyle": (0, (5, 1.5))},
    {"color": "#009E73", "linestyle": (0, (1.2, 1.2))},
    {"color": "#CC79A7", "linestyle": (0, (6, 1.5, 1.2, 1.5))},
    {"color": "#E69F00", "linestyle": (0, (3, 1, 1, 1, 1, 1))},
    {"color": "#56B4E9", "linestyle": (0, (8, 2))},
    {"color": "#000000", "linestyle": (0, (2, 2.5))},
)
REFERENCE: dict[str, Any] = {"color": "#777777", "linewidth": 0.9, "linestyle": (0, (4, 3))}
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


@contextmanager
def style() -> Iterator[None]:
    """Draw inside this block: our style on top of matplotlib's defaults, whatever the user set."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.style.use(STYLE_FILE)
        yield


def panels(rows: int, columns: int, *, height: float, **kwargs: Any) -> tuple[Figure, np.ndarray]:
    """A figure of text width and an array [rows, columns] of axes.

    Args:
        height: of one row, inches.
    """
    # Without pyplot: no global state, no window, nothing to close.
    figure = Figure(figsize=(5.5, height * rows))
    return figure, figure.subplots(rows, columns, squeeze=False, **kwargs)


def label_ends(
    axes: Axes, labels: Sequence[tuple[float, float, str, str]], *, size: float = 7.0
) -> None:
    """Write each label right of its line's end, moved apart where they would overlap.

    Args:
        labels: (x, y, text, color) of each line's last point, in data coordinates.
        size: points.
    """
    if not labels:
        return
    cell = axes.get_subplotspec()
    rows = cell.get_gridspec().nrows if cell is not None else 1
    # Some 62 % of a row is plot, the rest title and ticks.
    gap = size * 1.15 / (0.62 * axes.figure.get_figure(root=True).get_size_inches()[1] / rows * 72)
    axes.get_xlim(), axes.get_ylim()  # settles the limits, which transData alone does not
    to_fraction = axes.transData + axes.transAxes.inverted()
    wanted = [float(to_fraction.transform((x, y))[1]) for x, y, _, _ in labels]
    order = sorted(range(len(labels)), key=wanted.__getitem__)
    for height, i in zip(_spread([wanted[i] for i in order], gap), order, strict=True):
        x, _, text, color = labels[i]
        axes.annotate(
            text, (x, height), xycoords=("data", "axes fraction"), xytext=(3, 0),
            textcoords="offset points", color=color, fontsize=size, va="center", ha="left",
            annotation_clip=False,
        )


def _spread(wanted: Sequence[float], gap: float) -> np.ndarray:
    """The heights nearest to those wanted (sorted, in [0, 1]) that are at least a gap apart."""
    # Less k gaps the heights need only not fall: pool neighbors that do into their mean.
    blocks: list[tuple[float, int]] = []
    for k, height in enumerate(wanted):
        mean, count = height - k * gap, 1
        while blocks and blocks[-1][0] > mean:
            below, size = blocks.pop()
            mean, count = (mean * count + below * size) / (count + size), count + size
        blocks.append((mean, count))
    pooled = np.concatenate([np.full(count, mean) for mean, count in blocks])
    room = max(0.0, 1 - (len(wanted) - 1) * gap)
    return np.clip(pooled, 0.0, room) + gap * np.arange(len(wanted))
