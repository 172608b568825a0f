"""Sets the formulas of the site as SVG: no script, no font, no network.

An extension of Sphinx, named ``html_math_renderer = "svg"``. matplotlib's mathtext sets a formula; each
distinct glyph outline is stored once for the page and referred to. A formula that cannot be set stands
as its source, with a warning, which ends a build with ``-W``.
"""

from __future__ import annotations

import functools
import html
import re
import zlib
from typing import Any

from docutils import nodes
from markupsafe import Markup
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path as Outline
from matplotlib.textpath import TextToPath
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

# LaTeX that mathtext lacks, and what it has instead.
REPLACEMENTS = (
    (re.compile(r"\\[tc]frac\b"), r"\\frac"),
    (re.compile(r"\\frac\s*([A-Za-z0-9]|\\[A-Za-z]+)\s*([A-Za-z0-9])"), r"\\frac{\1}{\2}"),
    (re.compile(r"\\frac\s*([A-Za-z0-9])\s*\{"), r"\\frac{\1}{"),
    (re.compile(r"\\sqrt\s*([A-Za-z0-9])"), r"\\sqrt{\1}"),
    (re.compile(r"\\frac(\{[^{}]*\})\s*([A-Za-z0-9])"), r"\\frac\1{\2}"),
    (re.compile(r"\\(le|ge)(?![a-zA-Z])"), r"\\\1q"),
    (re.compile(r"\\(?:big|Big|bigg|Bigg)[lrm]?(?![a-zA-Z])"), ""),
    (re.compile(r"\\[lr]Vert(?![a-zA-Z])"), r"\\Vert "),
    (re.compile(r"\\[lr]vert(?![a-zA-Z])"), r"\\vert "),
    (re.compile(r"\\(?:mathbf|mathbb)(?:\{1\}|\s*1)"), r"\\mathbf{1}"),
    (re.compile(r"\\(math(?:bb|bf|cal|rm|sf|it))\s+([A-Za-z0-9])"), r"\\\1{\2}"),
    (re.compile(r"\\iff\b"), r"\\Leftrightarrow"),
    (re.compile(r"\\implies\b"), r"\\Rightarrow"),
    # mathtext puts space around a binary operator; in braces it takes the sign for a letter.
    (re.compile(r"([\^_])\s*(\*|\\star|\\ast|[+-])(?![a-zA-Z])"), r"\1{\2}"),
    (re.compile(r"\\(?:limits|nolimits|displaystyle|textstyle)\b"), ""),
)
SEGMENT = re.compile(r"(\$[^$]+\$)")


class Formulas:
    """The formulas of one page; `definitions` must stand on the page once, after all are set."""

    def __init__(self) -> None:
        self._glyphs: dict[str, Any] = {}
        self.broken: list[str] = []
        """Formulas that could not be set and stand as source."""

    def text(self, source: str) -> Markup:
        """Return prose with formulas between dollar signs as HTML."""
        parts = SEGMENT.split(source)
        return Markup("").join(
            self.formula(part[1:-1]) if SEGMENT.fullmatch(part) else Markup(html.escape(part))
            for part in parts
        )

    def formula(self, latex: str) -> Markup:
        """Return one formula (without dollar signs) as inline SVG on the line's baseline."""
        found = _set(latex)
        if found is None:
            self.broken.append(latex)
            return Markup('<code class="latex">{}</code>').format(latex)
        self._glyphs |= found[1]
        return found[0]

    def definitions(self) -> Markup:
        """Return the glyph outlines that the formulas refer to."""
        paths = "".join(
            f'<path id="{_name(glyph)}" d="{_commands(vertices, codes)}"/>'
            for glyph, (vertices, codes) in self._glyphs.items()
        )
        return Markup(
            '<svg width="0" height="0" style="position:absolute" aria-hidden="true">'
            "<defs>{}</defs></svg>"
        ).format(Markup(paths))


@functools.cache
def _set(latex: str) -> tuple[Markup, dict[str, Any]] | None:
    """Return a formula as SVG, and the outlines of its glyphs; None where mathtext cannot set it."""
    setter, font = TextToPath(), FontProperties(family="DejaVu Sans", math_fontfamily="cm")
    simplified = latex
    for pattern, replacement in REPLACEMENTS:
        simplified = pattern.sub(replacement, simplified)
    text = f"${simplified}$"
    try:
        width, height, depth = setter.get_text_width_height_descent(text, font, ismath=True)
        glyphs, outlines, rectangles = setter.get_glyphs_mathtext(font, text)
    except (ValueError, RuntimeError, KeyError):
        return None
    uses = "".join(
        f'<use href="#{_name(glyph)}" transform="translate({x:.2f} {y:.2f}) scale({scale:.4g})"/>'
        for glyph, x, y, scale in glyphs
    )
    bars = "".join(f'<path d="{_commands(vertices, codes)}"/>' for vertices, codes in rectangles)
    size = font.get_size_in_points()
    # Outlines come at FONT_SCALE units an em, the box in points at the font's size.
    scale = size / setter.FONT_SCALE
    return Markup(
        '<svg class="formula" role="img" aria-label="{label}" style="width:{w:.3f}em;'
        'height:{h:.3f}em;vertical-align:{d:.3f}em" viewBox="0 {top:.2f} {vw:.2f} {vh:.2f}">'
        '<g transform="scale({s:.4g} -{s:.4g})">{uses}{bars}</g></svg>'
    ).format(
        label=latex, w=width / size, h=height / size, d=-depth / size, top=-(height - depth),
        vw=width, vh=height, s=scale, uses=Markup(uses), bars=Markup(bars),
    ), dict(outlines)


def _name(glyph: str) -> str:
    """The same name in every part of a page: a page's contents are set apart from its text."""
    return f"g{zlib.crc32(glyph.encode()):x}"


LETTERS = {Outline.MOVETO: "M", Outline.LINETO: "L", Outline.CURVE3: "Q", Outline.CURVE4: "C"}


def _commands(vertices: Any, codes: Any) -> str:
    """SVG path data of an outline."""
    pieces = []
    for points, code in Outline(vertices, codes).iter_segments(simplify=False, curves=True):
        if code == Outline.CLOSEPOLY:
            pieces.append("Z")
        else:
            pieces.append(LETTERS[code] + " ".join(f"{value:.4g}" for value in points))
    return "".join(pieces)


class Translator(HTML5Translator):
    """Writes a page with its formulas, and once at its end the outlines that these refer to."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.formulas = Formulas()

    def depart_document(self, node: nodes.document) -> None:
        """Close the page, with the outlines of its formulas."""
        definitions = str(self.formulas.definitions())
        if "<path" in definitions:
            self.body.append(definitions)
        super().depart_document(node)


def _written(translator: Translator, node: nodes.Element) -> str:
    latex = " ".join(node.astext().split())
    formula = str(translator.formulas.formula(latex))
    if latex in translator.formulas.broken:
        logging.getLogger(__name__).warning("formula cannot be set: %s", latex, location=node)
    return formula


def _inline(translator: Any, node: nodes.Element) -> None:
    translator.body.append(f'<span class="math">{_written(translator, node)}</span>')
    raise nodes.SkipNode


def _display(translator: Any, node: nodes.Element) -> None:
    translator.body.append(
        f'<div class="math display" tabindex="0" role="region" aria-label="formula">'
        f"{_written(translator, node)}</div>")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.set_translator("html", Translator)
    app.add_html_math_renderer("svg", inline_renderers=(_inline, None), block_renderers=(_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
