"""Sets the formulas of the site as SVG: no script, no font, no network.

An extension of Sphinx, named ``html_math_renderer = "svg"``. A formula that cannot be set is a warning,
which ends a build with ``-W``.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from paper_figures.report.formulas import Formulas


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


def _set(translator: Translator, node: nodes.Element) -> str:
    latex = " ".join(node.astext().split())
    formula = str(translator.formulas.formula(latex))
    if latex in translator.formulas.broken:
        logging.getLogger(__name__).warning("formula cannot be set: %s", latex, location=node)
    return formula


def _inline(translator: Any, node: nodes.Element) -> None:
    translator.body.append(f'<span class="math">{_set(translator, node)}</span>')
    raise nodes.SkipNode


def _display(translator: Any, node: nodes.Element) -> None:
    translator.body.append(
        f'<div class="math display" tabindex="0" role="region" aria-label="formula">'
        f"{_set(translator, node)}</div>")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.set_translator("html", Translator)
    app.add_html_math_renderer("svg", inline_renderers=(_inline, None), block_renderers=(_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
