"""Writes MyST Markdown: prose that holds any character, formulas, tables, code, links."""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Container, Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SPECIAL = re.compile(r"([\\`*_<>\[\]{}|#~^!])")
EMPHASIS = r"(?<![\w|*\\])\*\w(?:[^*|\n]*\w)?\*(?![\w*])"
SPAN = re.compile(rf"(\$[^$]+\$|:math:`[^`]+`|``[^`]+``|`[^`]+`|{EMPHASIS})")
PLACE = re.compile(
    r"\b(Theorem|Lemma|Proposition|Corollary|Figure|Table|Algorithm|Equation|Eq\.) (\d+(?:\.\d+)?)")
LINKED_FILE = re.compile(r"</code/([^>]+)>")


def text(source: str) -> str:
    """Return prose as Markdown: ``$...$`` and a docstring's ``:math:`` are formulas, `...` is code."""
    found = ""
    for part in filter(None, SPAN.split(source)):
        piece, is_span = (_span(part), True) if SPAN.fullmatch(part) else (_escaped(part), False)
        # Backticks of two spans side by side would be read as one row of them.
        found += f" {piece}" if is_span and found.endswith("`") else piece
    return found


def _escaped(part: str) -> str:
    return SPECIAL.sub(r"\\\1", part)


def _span(part: str) -> str:
    if part.startswith("*"):
        return "*" + _escaped(part[1:-1]) + "*"
    content = part.removeprefix(":math:").strip("`$").replace("\n", " ")
    return formula(content) if part.startswith(("$", ":math:")) else f"`` {content} ``"


def formula(latex: str) -> str:
    """Return a formula (without dollar signs) within a line."""
    return "{math}`" + " ".join(latex.replace("`", "'").split()) + "`"


def prose_or_formula(source: str) -> str:
    """Return prose as Markdown, or as a formula where it is LaTeX without dollar signs."""
    if "\\" in source and "$" not in source:
        return formula(re.sub(r"\\\\|&", " ", source))
    return text(source.replace("$$", "$"))


def displayed(lines: Iterable[str]) -> str:
    """Return formulas as lines of their own, which scroll where they are wide."""
    return "\n".join(fenced(line, "{math}") for line in lines)


def fenced(content: str, info: str = "text") -> str:
    """Return text as a fenced block; the fence is longer than any in the text."""
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", content)), default=0))
    return f"{fence}{info}\n{content.rstrip()}\n{fence}\n"


def link(shown: str, page: str) -> str:
    """Return a link to a page of the site, by its name from the top and without ending."""
    return f"[{text(shown)}](/{page}.md)"


def linked(page: str, claims: Container[str]) -> str:
    """Return a page on which code that is the id of one of these claims leads to the claim's page."""
    return re.sub(r"(?<![\[`])(`{1,2}) ?([a-z-]+\.[\w.-]+) ?\1(?!`)", lambda span: (
        f"[{span[0]}](/{claim_page(span[2])}.md)" if span[2] in claims else span[0]), page)


def orphan(page: str) -> str:
    """Return a page that stands in no list at the side: links and search lead to it."""
    return f"---\norphan: true\n---\n\n{page}"


def claim_page(claim_id: str) -> str:
    """Return the name of a claim's page."""
    return f"claims/{claim_id}"


def figure_page(name: str) -> str:
    """Return the name of a figure's page."""
    return f"figures/{name}"


def badge(verdict: str, says: str = "") -> str:
    """Return a verdict as a colored label, with other words on it if ``says`` is given."""
    return f"[{text(says or verdict)}]{{.badge .{slug(verdict)}}}"


def places(words: str) -> list[str]:
    """Return the theorems, figures, tables and the like of a paper that words name."""
    return [f"{'Equation' if kind == 'Eq.' else kind} {number}" for kind, number in PLACE.findall(words)]


def slug(words: str) -> str:
    """Return words as a name for a file, a class or an anchor."""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[int] | None = None,
    css: str = "",
) -> str:
    """Return a table whose cells are Markdown; nothing where there are no rows.

    Args:
        headers: the first row.
        rows: cells, as many a row as headers.
        widths: relative widths of the columns; by their content if None.
        css: a class of the table.
    """
    body = [headers, *rows]
    if len(body) == 1:
        return ""
    lines = [":header-rows: 1", *([f":widths: {' '.join(map(str, widths))}"] if widths else []),
             *([f":class: {css}"] if css else []), ""]
    for row in body:
        for place, cell in enumerate(row):
            start = "* - " if place == 0 else "  - "
            first, *rest = (cell or " ").splitlines()
            lines += [start + first, *("    " + line if line else "" for line in rest)]
    return fenced("\n".join(lines), "{list-table}")


def folded(summary: str, content: str) -> str:
    """Return content that is shown when its summary is clicked."""
    return (f"```{{raw}} html\n<details><summary>{html.escape(summary)}</summary>\n```\n\n{content}\n\n"
            "```{raw} html\n</details>\n```\n")


def source(path: Path) -> str:
    """Return a link to a file of the repository, which `pages.write` puts beside the pages."""
    name = path.relative_to(ROOT)
    return f"{{download}}`{name} </code/{name}>`"


def documented(module: str) -> str:
    """Return a module's docstring as Sphinx sets it, without the members."""
    return fenced(f".. automodule:: {module}\n   :no-index:", "{eval-rst}")


def module_docstring(path: Path) -> str:
    """Return a Python file's docstring, without importing it; "" if it has none."""
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
