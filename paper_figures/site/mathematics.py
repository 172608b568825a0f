"""Sets the formulas of the site as MathML, which browsers draw themselves: no script, no network.

An extension of Sphinx, named ``html_math_renderer = "mathml"``. docutils makes MathML of LaTeX. A formula
that it cannot read stands as its source, with a warning, which ends a build with ``-W``.
"""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

# LaTeX that docutils lacks, and what it has instead.
REPLACEMENTS = (
    (re.compile(r"\\[tcd]frac(?![a-zA-Z])"), r"\\frac"),
    (re.compile(r"\\frac\s*([A-Za-z0-9]|\\[A-Za-z]+)\s*([A-Za-z0-9])"), r"\\frac{\1}{\2}"),
    (re.compile(r"\\frac\s*([A-Za-z0-9])\s*\{"), r"\\frac{\1}{"),
    (re.compile(r"\\frac(\{[^{}]*\})\s*([A-Za-z0-9])"), r"\\frac\1{\2}"),
    (re.compile(r"\\sqrt\s*([A-Za-z0-9])"), r"\\sqrt{\1}"),
    (re.compile(r"\\(?:big|Big|bigg|Bigg)[lrm]?(?![a-zA-Z])"), ""),
    (re.compile(r"\\dots(?![a-zA-Z])"), r"\\ldots"),
    (re.compile(r"\\mathit\{(alpha|beta|gamma|delta|kappa|rho|tau|omega)\}"), r"\\\1"),
)
NAME = re.compile(r"\\(?:mathrm|operatorname)\{([^{}]*\\,[^{}]*)\}")
"""A name of several words, between which docutils would print the space's command."""
ITALIC = re.compile(r"<mrow>((?:<mi>[\U0001d434-\U0001d467ℎ_]</mi>|<mn>\d+</mn>)+)</mrow>")
"""A name in italics, which docutils sets letter by letter, its figures apart."""
ACCENT = re.compile(r"<munderover>(<mi[^>]*>[^<]*</mi>)((?:(?!<munderover>).)*?)"
                    r'(<mo stretchy="false">[~ˉˆ˙]</mo>)</munderover>')
"""A letter with accent and index, which docutils sets below the letter."""
APPLIED = "<mo>&ApplyFunction;</mo>"
LETTERS = (r"\\(?:alpha|beta|gamma|delta|(?:var)?epsilon|eta|theta|kappa|lambda|mu|nu|pi|rho|sigma|tau|"
           r"(?:var)?phi|psi|omega|nabla|partial|ell|Gamma|Delta|Theta|Lambda|Sigma|Phi|Psi|Omega)")
BESIDE = re.compile(
    rf"({LETTERS}|(?<![\\a-zA-Z])[A-Za-z]|[\d}}\])'*]) *"
    r"(?=\\(?:operatorname|log|exp|max|min|sup|inf|lim)(?![a-zA-Z]))")
"""What stands before the name of an operator, from which TeX keeps it apart."""
PRODUCT = re.compile(r'(<mi class="name">[^<]*</mi>)<mspace width="0.1667em"></mspace>')
"""A name and the space behind it, which must be wider than that between two letters."""
BEHIND, BEFORE = re.compile(r"^\S{1,4}(?=\s|\Z)"), re.compile(r"(?:(?<=\s)|^)\S{1,4}\Z")
"""Characters beside a formula, such as a comma: browsers would break the line between them."""


def formula(latex: str) -> str:
    """Return a formula (without dollar signs) as MathML, with its source for readers of text.

    Raises:
        ValueError: LaTeX that docutils does not know.
    """
    source = BESIDE.sub(r"\1\\,", latex)
    source = NAME.sub(lambda name: rf"\text{{{name[1]}}}".replace(r"\,", " "), source)
    for pattern, replacement in REPLACEMENTS:
        source = pattern.sub(replacement, source)
    try:
        made = tex2mathml(source)
    except (MathError, AttributeError, IndexError) as error:
        raise ValueError(f"cannot set {latex}: {error}") from error
    body = re.sub(r">\s+<", "><", made.partition(">")[2])
    # Bars are as high as letters, and have no space of a relation's beside them. Those of \left and
    # \right, which end a row, grow.
    body = re.sub(r'(?<!<mrow>)<mo(?: class="mathopen"| stretchy="false")?>([‖|])</mo>(?!</mrow>)',
                  r'<mo lspace="0" rspace="0" stretchy="false">\1</mo>', body)
    body = ITALIC.sub(lambda name: '<mi class="name">' + unicodedata.normalize(
        "NFKC", re.sub("<[^>]+>", "", name[1])) + "</mi>", body)
    body = ACCENT.sub(r'<msub><mover accent="true">\1\3</mover>\2</msub>', body)
    body = PRODUCT.sub(r'\1<mspace width="0.3em"></mspace>', body)
    # MathML leaves to its writer the space of log x, which log(x) does not have.
    body = body.replace(f"{APPLIED}<mo", "<mo").replace(APPLIED, '<mspace width="0.17em"/>')
    return f'<math alttext="{html.escape(latex)}">{body}'


def _set(translator: Any, node: nodes.Element, opening: str, closing: str) -> None:
    for one in node.astext().split("\n\n"):  # as Sphinx has it, a blank line ends a formula
        latex = " ".join(one.split())
        try:
            made = formula(latex)
        except ValueError as error:
            logging.getLogger(__name__).warning("formula: %s", error, location=node)
            made = f"<code>{html.escape(latex)}</code>"
        before, behind = (html.escape(node.get(side, "")) for side in ("before", "behind"))
        translator.body.append(opening + before + made + behind + closing)
    raise nodes.SkipNode


def _inline(translator: Any, node: nodes.Element) -> None:
    _set(translator, node, '<span class="math">', "</span>")


def _display(translator: Any, node: nodes.Element) -> None:
    opening = '<div class="math display" tabindex="0" role="region" aria-label="formula">'
    _set(translator, node, opening, "</div>")


def _attach(app: Sphinx, page: nodes.document, name: str) -> None:
    """Have a formula hold what stands right beside it."""
    for node in list(page.findall(nodes.math)):
        place = node.parent.index(node)
        for side, at, characters in (("behind", place + 1, BEHIND), ("before", place - 1, BEFORE)):
            beside = node.parent[at] if 0 <= at < len(node.parent) else None
            if isinstance(beside, nodes.Text) and (found := characters.search(beside)):
                node[side] = found[0]
                node.parent[at] = nodes.Text(beside[:found.start()] + beside[found.end():])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer."""
    app.add_html_math_renderer(
        "mathml", inline_renderers=(_inline, None), block_renderers=(_display, None))
    app.connect("doctree-resolved", _attach)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
