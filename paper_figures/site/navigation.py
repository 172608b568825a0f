"""Has the tree of all pages, which stands beside every page, made of their titles alone.

Sphinx copies the headings of all pages for each page, and only then leaves out all but titles.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx


def _titles(contents: nodes.bullet_list) -> nodes.bullet_list:
    """Return a page's contents as Sphinx leaves them for ``titles_only``: its title and subpages."""
    short: nodes.bullet_list = contents.deepcopy()
    for item in list(short.children):
        if isinstance(item, nodes.list_item) and len(item) > 1:
            if pages := list(item.findall(addnodes.toctree)):
                item[1][:] = pages
            else:
                item.pop(1)
    return short


def setup(app: Sphinx) -> dict[str, Any]:
    """Register what comes before the theme asks for the tree."""
    short: dict[str, nodes.bullet_list] = {}

    def shorten(app: Sphinx, builder: object) -> None:
        """Before the processes that write pages part."""
        short.update({page: _titles(contents) for page, contents in app.env.tocs.items()})

    def use(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
        whole = context.get("toctree")

        def toctree(**options: Any) -> Any:
            kept = app.env.tocs
            if options.get("titles_only"):
                app.env.tocs = short
            try:
                return whole and whole(**options)
            finally:
                app.env.tocs = kept

        context["toctree"] = toctree

    app.connect("write-started", shorten)
    app.connect("html-page-context", use, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
