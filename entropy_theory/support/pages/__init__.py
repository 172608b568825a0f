"""Pages for a browser: one HTML file each, with its figures in it; no script, no network.

Jinja sets them by `page.html`, which escapes every text, and matplotlib draws the figures. Both are
imported when a page is made.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MODULES = ("jinja2", "matplotlib")
"""Packages that a page needs beside the core."""
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "policy-entropy", "font.size": 9, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "axes.axisbelow": True, "grid.color": "#e4e4e4"}
COLORS = ("#0072b2", "#c25100", "#00805f", "#a8528a", "#9c6a00", "#5aa9d6", "#1d1f23")
DASHES = ("-", "--", ":", "-.", (0, (8, 2)), (0, (4, 1, 1, 1, 1, 1)), (0, (1, 3)))
"""A line differs from the others in dash as well as in color, so that a grey print can be read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """A drawing with its words."""

    title: str
    caption: str
    image: str
    """The picture, as the address of an SVG that needs no file."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table; None is shown as a dash."""

    head: Sequence[str]
    rows: Sequence[Sequence[Any]]

    @property
    def numeric(self) -> list[bool]:
        """Whether each column holds numbers, which stand to the right."""
        columns = [[row[i] for row in self.rows] for i in range(len(self.head))]
        return [all(value is None or isinstance(value, (int, float)) for value in column)
                for column in columns]


@dataclass(frozen=True, slots=True)
class Beside:
    """Figures with notes beside them: each note a heading and its paragraphs."""

    figures: Sequence[Figure]
    notes: Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A token and its effect on entropy."""

    text: str
    effect: str = "lowers"
    """Either "lowers" or "raises"."""
    strength: int = 0
    """From 0 to 100."""
    title: str = ""
    """Text that a reader sees when pointing at the token."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A text whose tokens are colored by their effect on entropy."""

    spans: Sequence[Span]
    summary: str = ""
    prompt: str = ""


Section = tuple[str, Sequence[Any]]
"""A heading, and what follows it: paragraphs, tables, answers, and lists of figures side by side."""


def page(title: str, lead: str, sections: Sequence[Section]) -> str:
    """Return a page, whole."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["shown"] = _shown
    template = environment.get_template("page.html")
    return template.render(title=title, lead=lead, sections=sections).lstrip() + "\n"


def figure(title: str, caption: str, draw: Callable[[Any], object], **properties: Any) -> Figure:
    """Draw a figure.

    Args:
        draw: takes matplotlib's axes and draws on them; what has a label gets into a legend below.
        properties: of the axes, such as ``xlabel``.
    """
    import matplotlib
    from cycler import cycler
    from matplotlib.figure import Figure as Drawing

    lines = cycler(color=COLORS) + cycler(linestyle=DASHES)
    with matplotlib.rc_context({**STYLE, "axes.prop_cycle": lines}):
        drawing = Drawing(figsize=(4.2, 2.9), dpi=160)
        axes = drawing.add_subplot()
        draw(axes)
        axes.set(**properties)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2, frameon=False)
        picture = io.BytesIO()
        drawing.savefig(picture, format="svg", bbox_inches="tight", metadata={"Date": None})
    encoded = base64.b64encode(picture.getvalue()).decode()
    return Figure(title=title, caption=caption, image=f"data:image/svg+xml;base64,{encoded}")


def token(text: str) -> str:
    """Show a token with spaces, line breaks and the empty text made visible."""
    shown = text.replace(" ", "␣").replace("\n", "↵").replace("\t", "⇥")
    return shown or "∅"


def provenance(found: dict[str, Any]) -> str:
    """Return a paragraph of commit, versions, device, seed and time."""
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    return (f"commit {found['commit'] or 'unknown'}; {found['device']}; seed {found['seed']}; "
            f"{found['created']}; {versions}")


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}".replace("-", "−") if isinstance(value, float) else str(value)
