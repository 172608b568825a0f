"""How every figure and table is drawn: one style, lines told apart without color, bands, text tables."""

from paper_figures.drawing.bands import draw_line, draw_lines, draw_mean, lines
from paper_figures.drawing.style import (
    MARKERS,
    REFERENCE,
    SERIES,
    dots,
    label_ends,
    level,
    marked,
    note,
    panels,
    step_axis,
    value_ticks,
)
from paper_figures.drawing.table import Table, estimate

__all__ = [
    "MARKERS", "REFERENCE", "SERIES", "Table", "dots", "draw_line", "draw_lines", "draw_mean",
    "estimate", "label_ends", "level", "lines", "marked", "note", "panels", "step_axis", "value_ticks",
]
