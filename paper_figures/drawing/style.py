"""How every figure is drawn: one style file, lines told apart without color, labels at their ends."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.style
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator
from matplotlib.transforms import Bbox, offset_copy
from scipy.optimize import isotonic_regression

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
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "d", "8", "*")
LEADER = 11.0
"""How far right of their lines labels stand that had to move, points; a thin line leads to them."""
SPACE = 4.0
"""The gap between a title or tick label and the next, in pixels (200 an inch)."""


@contextmanager
def style() -> Iterator[None]:
    """Draw inside this block: our style on top of matplotlib's defaults, whatever the user set."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.style.use(STYLE_FILE)
        yield


def marked(i: int) -> dict[str, Any]:
    """Return color, dashes and marker of series i; from the eighth on only color and marker differ."""
    return {**SERIES[i % len(SERIES)], "marker": MARKERS[i % len(MARKERS)]}


def panels(rows: int, columns: int, *, height: float, **kwargs: Any) -> tuple[Figure, np.ndarray]:
    """Make a figure of text width and an array [rows, columns] of axes.

    Args:
        height: height of one row, inches.
    """
    # Without pyplot: no global state, no window, nothing to close.
    figure = Figure(figsize=(5.5, height * rows))
    return figure, figure.subplots(rows, columns, squeeze=False, **kwargs)


def label_ends(
    axes: Axes, labels: Sequence[tuple[float, float, str, str]], *, size: float = 7.0
) -> None:
    """Write each label right of its line's end; labels that would overlap move apart, on leaders.

    Args:
        labels: (x, y, text, color) of each line's last point, in data coordinates; a line without one, as
            of runs that never arrive, has no label.
        size: font size, points.
    """
    labels = [one for one in labels if math.isfinite(one[1])]
    if not labels:
        return
    root = axes.figure.get_figure(root=True)
    cell = axes.get_subplotspec()
    rows = cell.get_gridspec().nrows if cell is not None else 1
    # Some 62 % of a row is plot, the rest title and ticks.
    gap = size * 1.15 / (0.62 * root.get_size_inches()[1] / rows * 72)
    axes.get_xlim(), axes.get_ylim()  # settles the limits, which transData alone does not
    to_fraction = axes.transData + axes.transAxes.inverted()
    wanted = [float(to_fraction.transform((x, y))[1]) for x, y, _, _ in labels]
    order = sorted(range(len(labels)), key=wanted.__getitem__)
    heights = _spread([wanted[i] for i in order], gap)
    place = axes.get_xaxis_transform()  # x in data, y in fractions of the panel
    moved = max(abs(height - wanted[i]) for height, i in zip(heights, order, strict=True)) > gap / 3
    beside = offset_copy(place, fig=root, x=LEADER if moved else 4.5, units="points")
    for height, i in zip(heights, order, strict=True):
        x, _, text, color = labels[i]
        leader = {"arrowstyle": "-", "color": color, "linewidth": 0.6, "shrinkA": 0.5, "shrinkB": 1.0,
                  "relpos": (0.0, 0.5)}
        axes.annotate(
            text, (x, min(max(wanted[i], 0.0), 1.0)), xycoords=place, xytext=(x, height),
            textcoords=beside, color=color, fontsize=size, va="center", ha="left",
            arrowprops=leader if moved else None, annotation_clip=False,
        )


def step_axis(panel: Axes, steps: Iterable[float], label: str = "step") -> None:
    """Set an axis of steps that is logarithmic but includes the start: linear up to the first record.

    Args:
        panel: the axes.
        steps: the recorded steps, 0 among them.
        label: what a step is.
    """
    known = sorted(set(steps))
    first, last = next(step for step in known if step > 0), known[-1]
    panel.set_xscale("symlog", linthresh=first, linscale=0.4)
    powers = [10.0**k for k in range(math.ceil(math.log10(first)), math.floor(math.log10(last)) + 1)]
    # A power next to the first record would stand on it.
    ticks = [0.0, *(power for power in powers if power >= 2 * first or power == first)]
    panel.set_xticks(ticks, [f"{tick:,.0f}" for tick in ticks])
    panel.minorticks_off()
    panel.set_xlim(0, last)
    panel.set_xlabel(f"{label} (linear up to {first:g})")


def value_ticks(panel: Axes, values: Iterable[float], form: str = "{:g}") -> None:
    """Put a tick of x at each of the values, and none between."""
    shown = sorted(set(values))
    panel.set_xticks(shown, [form.format(value) for value in shown])
    panel.minorticks_off()


def level(
    panel: Axes, y: float, text: str, *, x: float = 0.98, above: float = 3, size: float = 6.5
) -> None:
    """Draw a dashed horizontal line with its name.

    Args:
        x: where the name stands, a share of the panel's width; it ends there if in the right half.
        above: how far above the line, points.
        size: font size, points.
    """
    panel.axhline(y, **REFERENCE)
    panel.annotate(text, (x, y), xycoords=("axes fraction", "data"), xytext=(0, above),
                   textcoords="offset points", ha="right" if x > 0.5 else "left", fontsize=size,
                   color="#555555")


def note(
    panel: Axes, text: str, x: float, y: float, *, color: str = "#333333", size: float = 7
) -> None:
    """Write into a panel, at shares of its width and height; text in the right half ends there."""
    panel.annotate(text, (x, y), xycoords="axes fraction", ha="right" if x > 0.5 else "left",
                   fontsize=size, color=color)


def dots(panel: Axes, x: Any, y: Any, i: int = 0, **look: Any) -> None:
    """Draw open markers, those of series i, without a line; ``look`` changes them."""
    panel.plot(x, y, **{
        "linestyle": "none", "marker": MARKERS[i % len(MARKERS)], "markersize": 3, "markeredgewidth": 0.7,
        "color": SERIES[i % len(SERIES)]["color"], "markerfacecolor": "none", **look})


def settle(figure: Figure) -> None:
    """Lay a finished figure out once, so that no title and no tick label runs into the next one.

    Titles are broken into lines; of tick labels along x some are left out, the two ends last.
    """
    figure.draw_without_rendering()
    titles = [title for axes in figure.axes if (title := _title(axes)) is not None]
    before = [(title.get_text(), title.get_window_extent()) for title in titles]
    for title, (_, here) in zip(titles, before, strict=True):
        right = [other.x0 for _, other in before
                 if other.x0 > here.x0 and other.y0 < here.y1 and other.y1 > here.y0]
        _wrap(title, min([*right, figure.bbox.x1]) - here.x0 - SPACE)
    if any(title.get_text() != text for title, (text, _) in zip(titles, before, strict=True)):
        figure.draw_without_rendering()
    for axes in figure.axes:
        _thin(figure, axes)
    figure.set_layout_engine("none")  # or every format would lay it out anew


def _title(axes: Axes) -> Text | None:
    written = axes.get_title(loc="left")
    texts = (child for child in axes.get_children() if isinstance(child, Text))
    return next((text for text in texts if written and text.get_text() == written), None)


def _wrap(title: Text, width: float) -> None:
    """Break a title that is wider, in pixels, between its words; formulas have spaces of their own."""
    words = title.get_text().split()
    if title.get_window_extent().width <= width or "$" in title.get_text():
        return
    lines = words[:1]
    for word in words[1:]:
        title.set_text(f"{lines[-1]} {word}")
        if title.get_window_extent().width <= width:
            lines[-1] = title.get_text()
        else:
            lines.append(word)
    title.set_text("\n".join(lines))


def _thin(figure: Figure, axes: Axes) -> None:
    """Leave out labels of x that would touch.

    Singly if ticks were set by hand or on a log axis, else by fewer ticks.
    """
    axis, locator = axes.xaxis, axes.xaxis.get_major_locator()
    if isinstance(locator, FixedLocator) and (touching := _touching(axis.get_ticklabels())):
        texts = [label.get_text() for label in axis.get_ticklabels()]
        axes.set_xticks(axis.get_ticklocs(),
                        ["" if i in touching else text for i, text in enumerate(texts)])
        figure.draw_without_rendering()
    elif isinstance(locator, MaxNLocator):
        # Counted down: there may be as many ticks with fewer intervals, and it must end.
        for intervals in range(len(axis.get_ticklabels()) - 1, 1, -1):
            if not _touching(axis.get_ticklabels()):
                return
            axes.locator_params(axis="x", nbins=intervals)
            figure.draw_without_rendering()
    elif isinstance(locator, LogLocator):
        # Over less than two decades there are labels between the powers of ten.
        # The ticks themselves: `get_ticklabels` passes over hidden labels, as those of a shared axis.
        limits = axes.get_xlim()
        powers, between = (
            [tick.label1 if limits[0] <= tick.get_loc() <= limits[1] else Text() for tick in ticks]
            for ticks in (axis.get_major_ticks(), axis.get_minor_ticks()))
        if touching := _touching([*powers, *between]):
            texts = ["" if i + len(powers) in touching else label.get_text()
                     for i, label in enumerate(between)]
            axis.set_ticks(axis.get_ticklocs(minor=True), texts, minor=True)
            axes.set_xlim(limits)  # which set_ticks widens
            figure.draw_without_rendering()


def _touching(labels: Sequence[Text]) -> set[int]:
    """Choose the labels to leave out so that the others keep apart."""
    kept: list[Bbox] = []
    left_out = set()
    shown = [i for i, label in enumerate(labels) if label.get_visible() and label.get_text()]
    for i in [*shown[:1], *shown[:0:-1][:1], *shown[1:-1]]:
        box = labels[i].get_window_extent()
        if any(box.x0 < other.x1 + SPACE and other.x0 < box.x1 + SPACE for other in kept):
            left_out.add(i)
        else:
            kept.append(box)
    return left_out


def _spread(wanted: Sequence[float], gap: float) -> np.ndarray:
    """Return the heights nearest to those wanted (sorted, in [0, 1]) that are at least a gap apart."""
    gaps = gap * np.arange(len(wanted))
    apart = isotonic_regression(np.asarray(wanted) - gaps).x  # less the gaps, they need only not fall
    return np.clip(apart, 0.0, max(0.0, 1 - gaps[-1])) + gaps
