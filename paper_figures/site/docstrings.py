"""Makes reStructuredText of this project's docstrings, so that their characters mean themselves.

An extension of Sphinx that runs before napoleon. Text between backticks is code, what is indented outside
of a section such as ``Args:`` is shown as it stands, and ``*``, ``_`` and ``|`` are these characters.
"""

from __future__ import annotations

import importlib
import re
from itertools import groupby
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from paper_figures.site.markup import EMPHASIS, blocks

SECTION = re.compile(r"(Args|Attributes|Examples?|Raises|Returns|Yields|Warns):$")
SPAN = re.compile(rf"(``.+?``|`[^`]+`|{EMPHASIS})", re.DOTALL)
SPECIAL = re.compile(r"([\\*|_`<>])")


def converted(lines: list[str]) -> list[str]:
    """Return a docstring's lines as reStructuredText, its Google-style sections left to napoleon."""
    found: list[str] = []
    for in_section, chunk in _chunks(lines):
        if in_section:
            found += ["", *_escaped("\n".join(chunk)).splitlines(), ""]
            continue
        for is_literal, block in blocks("\n".join(chunk)):
            if is_literal:
                found += ["::", "", *indent(dedent("\n".join(block)), "    ").splitlines(), ""]
            else:
                found += [*_escaped("\n".join(block)).splitlines(), ""]
    return found


def _chunks(lines: list[str]) -> list[tuple[bool, list[str]]]:
    """Cut a docstring where a section begins or ends."""
    marked: list[tuple[int, str]] = []
    section = 0  # even outside of sections, odd inside
    for line in lines:
        if SECTION.match(line):
            section += 1 if section % 2 == 0 else 2
        elif line and not line.startswith(" ") and section % 2:
            section += 1
        marked.append((section, line))
    return [(bool(key % 2), [line for _, line in group])
            for key, group in groupby(marked, key=lambda pair: pair[0])]


def _escaped(source: str) -> str:
    parts = SPAN.split(source)
    found = []
    for part, after in zip(parts, [*parts[1:], ""], strict=True):
        if part.startswith("*") and SPAN.fullmatch(part):
            found.append(part)
        elif SPAN.fullmatch(part):
            # A plural's s must be kept off the closing backticks.
            found.append(f"``{part.strip('`')}``" + ("\\ " if after[:1].isalnum() else ""))
        else:
            found.append(SPECIAL.sub(r"\\\1", part))
    return "".join(found)


def _process(
    app: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]
) -> None:
    # napoleon takes what stands before a colon in a field's first line for its type: here, in nothing.
    nothing = ["\\ "] if what in ("attribute", "data", "property") else []
    lines[:] = [*nothing, *converted(lines)]


def _leave_the_environment(app: Sphinx, page: nodes.document) -> None:
    """Have a page's nodes belong to it: MyST leaves those of docstrings in a document of their own.

    Its settings hold all that Sphinx knows, which would be stored with each page: 2 MB of each.
    """
    for node in page.findall():
        node.document = page


def _import_once(app: Sphinx) -> None:
    """Import what the reference describes, here: each batch of pages is read in a process of its own."""
    for page in Path(app.srcdir, "reference").glob("*.md"):
        for name in re.findall(r"automodule:: (\S+)", page.read_text(encoding="utf-8")):
            importlib.import_module(name)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the conversion, before napoleon's, and what spares time and space."""
    app.connect("builder-inited", _import_once)
    app.connect("autodoc-process-docstring", _process, priority=400)
    app.connect("doctree-read", _leave_the_environment)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
