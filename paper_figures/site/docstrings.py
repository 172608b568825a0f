"""Prepares docstrings for Sphinx's autodoc and napoleon, which read them as reStructuredText."""

from __future__ import annotations

import gc
import importlib
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode

from paper_figures.site.markup import claim_page

LONG = 100
"""Characters from which a type or a value of a constant is not shown."""


def _without_a_type(
    app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]
) -> None:
    """Begin with nothing: napoleon takes what stands before a colon in the first line for a type."""
    if what in ("attribute", "data", "property"):
        lines.insert(0, "\\ ")


def _with_commands_as_lines(
    app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]
) -> None:
    """Set the commands of ``examples:`` a line each: they would flow together as prose."""
    if "examples:" in lines:
        start = lines.index("examples:") + 1
        end = next((i for i in range(start, len(lines)) if not lines[i].startswith(" ")), len(lines))
        lines[start - 1:end] = ["Examples:", "    .. code-block:: bash", "",
                                *(f"      {line}" for line in lines[start:end])]


def _without_a_type_of_what_is_returned(
    app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]
) -> None:
    """Open with a colon what is returned: napoleon takes words before its first colon for a type."""
    for place in range(1, len(lines)):
        if lines[place - 1] == "Returns:":
            lines[place] = re.sub(r"^( +)(?=.*:)", r"\1: ", lines[place])


def _without_what_python_says(
    app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]
) -> None:
    """Drop the docstring that a named tuple gives its fields: they would all have the same."""
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()


def _without_objects(
    app: Sphinx, what: str, name: str, value: object, options: object, signature: str | None,
    returned: str,
) -> tuple[str | None, str]:
    """Write a default that is an object as ``...``: what is no Python is not set as a signature."""
    named = re.compile(r"TypeAliasForwardRef\('([\w.]+)'\)")  # a type of conf.py within another one
    shown = signature and re.sub(r"= ?<(?:[^<>]|<[^<>]*>)*>", "= ...", named.sub(r"\1", signature))
    return shown, returned and named.sub(r"\1", returned)


def _without_long_values(app: Sphinx, page: nodes.document) -> None:
    """Drop types and values of constants that are long or objects: whole tables stood in headings."""
    for node in list(page.findall(addnodes.desc_annotation)):
        if len(node.astext()) > LONG or re.search(r"<[^<>]", node.astext()):
            node.parent.remove(node)


def _without_the_base_of_all(app: Sphinx, page: nodes.document) -> None:
    """Drop the line *Bases: object*, which every class would have."""
    for line in list(page.findall(nodes.paragraph)):
        if line.astext() == "Bases: object":
            line.parent.remove(line)


def _with_dashes(app: Sphinx, page: nodes.document) -> None:
    """Set a dash between a parameter and its meaning, where Sphinx has two hyphens."""
    for words in list(page.findall(nodes.Text)):
        if words == " -- ":
            words.parent.replace(words, nodes.Text(" – "))


def _claim(
    app: Sphinx, env: BuildEnvironment, node: nodes.Element, shown: nodes.TextElement
) -> nodes.reference | None:
    """Have code that is a claim's id lead to the claim's page."""
    page = claim_page(node.get("reftarget", ""))
    found = page in env.found_docs
    return make_refnode(app.builder, node["refdoc"], page, "", shown) if found else None


def _without_addresses(app: Sphinx, page: nodes.document) -> None:
    """Leave ``pass@1024`` as words: docutils takes it for somebody's address."""
    for node in list(page.findall(nodes.reference)):
        if node.get("refuri", "").startswith("mailto:"):
            node.replace_self(node.children)


def _leave_the_environment(app: Sphinx, page: nodes.document) -> None:
    """Have a page's nodes belong to it: MyST leaves those of docstrings in a document of their own.

    Its settings hold all that Sphinx knows, which would be stored with each page: 2 MB of each.
    """
    for node in page.findall():
        node.document = page


def _import_once(app: Sphinx) -> None:
    """Import what the pages describe, here: each batch of pages is read in a process of its own.

    None of it is garbage, and each process would look through all of it again and again.
    """
    for page in Path(app.srcdir).rglob("*.md"):
        for name in re.findall(r"automodule:: (\S+)", page.read_text(encoding="utf-8")):
            importlib.import_module(name)
    gc.freeze()
    gc.set_threshold(100_000)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register what is done before napoleon, and what spares time and space."""
    app.connect("builder-inited", _import_once)
    app.connect("autodoc-process-docstring", _without_what_python_says, priority=300)
    app.connect("autodoc-process-docstring", _with_commands_as_lines, priority=300)
    app.connect("autodoc-process-docstring", _without_a_type_of_what_is_returned, priority=300)
    app.connect("autodoc-process-docstring", _without_a_type, priority=400)
    app.connect("autodoc-process-signature", _without_objects)
    app.connect("doctree-read", _without_long_values)
    app.connect("doctree-read", _without_the_base_of_all)
    app.connect("doctree-read", _with_dashes)
    app.connect("doctree-read", _without_addresses)
    app.connect("doctree-read", _leave_the_environment)
    app.connect("missing-reference", _claim)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
