"""Draws plots as SVG text for pages: no script, no network, colors from the page's light or dark theme.

Series differ in dash and mark as well as in color, so that a grey print can be read. A panel is 360
units wide, so that its letters can be read on a phone.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

import numpy as np

WIDTH, HEIGHT = 360, 250
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 12, 42
DASHES = ("", "7 3", "2 3", "8 3 2 3", "12 3", "4 2 1 2 1 2", "1 4")
MOST_POINTS = 1500
"""The largest number of points drawn of one series; more are thinned out evenly."""

Series = tuple[str, Sequence[float | None], Sequence[float | None]]
"""A series: its name, x and y, where None leaves a gap."""


def lines(series: Sequence[Series], *, x_label: str, y_label: str, described: str) -> str:
    """Draw a line for each series, with dash and color by its place among them (see `legend`)."""
    clean = [(name, *_finite(x, y)) for name, x, y in series]
    axes = _Axes([x for _, x, _ in clean], [y for _, _, y in clean])
    body = []
    for i, (_, x, y) in enumerate(clean):
        x, y = _thinned(x, y)
        points = " ".join(f"{axes.x(a):.1f},{axes.y(b):.1f}" for a, b in zip(x, y, strict=True))
        if len(x) == 1:
            body.append(f'<circle cx="{axes.x(x[0]):.1f}" cy="{axes.y(y[0]):.1f}" r="3.5" '
                        f'class="dot c{i % 7}"/>')
        body.append(f'<polyline points="{points}" class="line c{i % 7}" '
                    f'stroke-dasharray="{DASHES[i % 7]}"/>')
    return axes.svg("".join(body), x_label, y_label, described)


def scatter(
    x: Sequence[float], y: Sequence[float], *, x_label: str, y_label: str, described: str,
    diagonal: bool = False,
) -> str:
    """Draw points, and with ``diagonal`` the line y = x."""
    xs, ys = _finite(x, y)
    axes = _Axes([xs], [ys])
    body = ""
    if diagonal and len(xs):
        low, high = max(axes.x_low, axes.y_low), min(axes.x_high, axes.y_high)
        if low < high:
            body = (f'<line x1="{axes.x(low):.1f}" y1="{axes.y(low):.1f}" x2="{axes.x(high):.1f}" '
                    f'y2="{axes.y(high):.1f}" class="reference"/>')
    xs, ys = _thinned(xs, ys)
    body += "".join(
        f'<circle cx="{axes.x(a):.1f}" cy="{axes.y(b):.1f}" r="2.2" class="point"/>'
        for a, b in zip(xs, ys, strict=True)
    )
    return axes.svg(body, x_label, y_label, described)


def bars(
    labels: Sequence[str], values: Sequence[float], *, y_label: str, x_label: str = "",
    errors: Sequence[float | None] | None = None, described: str,
) -> str:
    """Draw a bar from zero for each label, with standard errors as whiskers."""
    spread = [0.0 if e is None else e for e in errors or [0.0] * len(values)]
    ends = [0.0]
    ends += [v + sign * e for v, e in zip(values, spread, strict=True) for sign in (-1, 1)]
    axes = _Axes([np.array([-0.5, len(values) - 0.5])], [np.array(ends)], pad_x=False)
    width = 0.62 * (WIDTH - LEFT - RIGHT) / max(len(values), 1)
    zero = axes.y(0.0)
    body = [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{zero:.1f}" y2="{zero:.1f}" class="axis"/>']
    for i, (value, error) in enumerate(zip(values, spread, strict=True)):
        top, middle = axes.y(value), axes.x(i)
        body.append(f'<rect x="{middle - width / 2:.1f}" y="{min(top, zero):.1f}" '
                    f'width="{width:.1f}" height="{abs(top - zero):.1f}" class="bar"/>')
        if error:
            body.append(f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="{axes.y(value - error):.1f}" '
                        f'y2="{axes.y(value + error):.1f}" class="whisker"/>')
    return axes.svg("".join(body), x_label, y_label, described, x_names=list(labels))


def matrix(values: np.ndarray, *, block: int, described: str) -> str:
    """Draw a square matrix of numbers in [-1, 1]: darker is larger, a minus marks those below 0.

    Args:
        block: number of rows and columns after which a line is drawn.
    """
    n = len(values)
    size = (WIDTH - 20) / n
    body = []
    for i in range(n):
        for j in range(n):
            value = float(values[i, j])
            x, y = 10 + j * size, 10 + i * size
            body.append(f'<rect x="{x:.2f}" y="{y:.2f}" width="{size:.2f}" height="{size:.2f}" '
                        f'class="cell" fill-opacity="{min(abs(value), 1):.3f}"/>')
            if value < -0.05:
                body.append(f'<line x1="{x + size * 0.3:.2f}" x2="{x + size * 0.7:.2f}" '
                            f'y1="{y + size / 2:.2f}" y2="{y + size / 2:.2f}" class="minus"/>')
    for k in range(0, n + 1, block):
        at = 10 + k * size
        body.append(f'<line x1="{at:.2f}" x2="{at:.2f}" y1="10" y2="{10 + n * size:.2f}" class="grid"/>'
                    f'<line y1="{at:.2f}" y2="{at:.2f}" x1="10" x2="{10 + n * size:.2f}" class="grid"/>')
    return _svg("".join(body), WIDTH, WIDTH, described)


def legend(names: Sequence[str]) -> str:
    """Draw the dashes and colors of a plot's series, in their order."""
    items = "".join(
        f'<li><svg width="34" height="10" aria-hidden="true"><line x1="1" x2="33" y1="5" y2="5" '
        f'class="line c{i % 7}" stroke-dasharray="{DASHES[i % 7]}"/></svg> {html.escape(name)}</li>'
        for i, name in enumerate(names)
    )
    return f'<ul class="legend">{items}</ul>'


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return about ``count`` round numbers from ``low`` to ``high``."""
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


class _Axes:
    """The map from data to picture coordinates, and the frame around the plot."""

    def __init__(
        self, xs: Sequence[np.ndarray], ys: Sequence[np.ndarray], pad_x: bool = True
    ):
        self.x_low, self.x_high = _range(np.concatenate(xs), 0.03 if pad_x else 0.0)
        self.y_low, self.y_high = _range(np.concatenate(ys), 0.06)

    def x(self, value: float) -> float:
        share = (value - self.x_low) / (self.x_high - self.x_low)
        return float(LEFT + share * (WIDTH - LEFT - RIGHT))

    def y(self, value: float) -> float:
        share = (value - self.y_low) / (self.y_high - self.y_low)
        return float(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM))

    def svg(
        self, body: str, x_label: str, y_label: str, described: str,
        x_names: list[str] | None = None,
    ) -> str:
        floor = HEIGHT - BOTTOM
        parts = [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{floor}" y2="{floor}" class="axis"/>',
                 f'<line x1="{LEFT}" x2="{LEFT}" y1="{TOP}" y2="{floor}" class="axis"/>']
        y_ticks, x_ticks = ticks(self.y_low, self.y_high), ticks(self.x_low, self.x_high, 4)
        y_texts, y_power = _texts(y_ticks)
        x_texts, x_power = _texts(x_ticks)
        for value, text in zip(y_ticks, y_texts, strict=True):
            at = self.y(value)
            parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" '
                         f'class="grid"/><text x="{LEFT - 5}" y="{at + 3.5:.1f}" '
                         f'text-anchor="end">{text}</text>')
        names = (
            list(zip(range(len(x_names)), x_names, strict=True)) if x_names is not None
            else list(zip(x_ticks, x_texts, strict=True))
        )
        for value, text in names:
            parts.append(f'<text x="{self.x(value):.1f}" y="{floor + 14}" '
                         f'text-anchor="middle">{html.escape(text)}</text>')
        middle = (LEFT + WIDTH - RIGHT) / 2
        parts.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle" class="label">'
                     f'{html.escape(x_label + (x_power if x_names is None else ""))}</text>')
        parts.append(f'<text transform="translate(11 {(TOP + floor) / 2}) rotate(-90)" '
                     f'text-anchor="middle" class="label">{html.escape(y_label + y_power)}</text>')
        return _svg("".join(parts) + body, WIDTH, HEIGHT, described)


def _svg(body: str, width: int, height: int, described: str) -> str:
    return (f'<svg class="plot" viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{html.escape(described)}">{body}</svg>')


def _range(values: np.ndarray, pad: float) -> tuple[float, float]:
    if values.size == 0:
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        reach = abs(high) or 1.0
        return low - reach / 2, high + reach / 2
    return low - pad * (high - low), high + pad * (high - low)


def _texts(values: Sequence[float]) -> tuple[list[str], str]:
    """Write numbers with as few digits as distinguish them, and the power of ten that they share."""
    largest = max((abs(v) for v in values), default=0.0)
    power = 0
    if largest and not 1e-2 <= largest < 1e5:
        power = math.floor(math.log10(largest) + 1e-9)
        values = [v / 10.0**power for v in values]
    gap = values[1] - values[0] if len(values) > 1 else (max(map(abs, values), default=1.0) or 1.0)
    digits = max(0, -math.floor(math.log10(abs(gap)) + 1e-9))
    if abs(gap - round(gap, digits)) > 0.1 * abs(gap):
        digits += 1
    texts = [f"{v + 0.0:.{digits}f}".replace("-", "−") for v in values]
    return texts, f" · 10{str(power).translate(_RAISED)}" if power else ""


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _finite(x: Sequence[float | None], y: Sequence[float | None]) -> tuple[np.ndarray, np.ndarray]:
    xs = np.array([np.nan if v is None else v for v in x], dtype=float)
    ys = np.array([np.nan if v is None else v for v in y], dtype=float)
    kept = np.isfinite(xs) & np.isfinite(ys)
    return xs[kept], ys[kept]


def _thinned(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if len(x) <= MOST_POINTS:
        return x, y
    kept = np.linspace(0, len(x) - 1, MOST_POINTS).astype(int)
    return x[kept], y[kept]
