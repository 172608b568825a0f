"""Leaves modules of other packages out of the pages of sources that viewcode makes.

An extension of Sphinx. viewcode keeps each module that a documented name was imported from, and drops one
that documents nothing when the next page is read; of processes that read pages side by side, none reads
all.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment


def _drop_undocumented(app: Sphinx, env: BuildEnvironment) -> list[str]:
    modules: dict[str, Any] = getattr(env, "_viewcode_modules", {})
    for name in [name for name, entry in modules.items() if entry and not entry[2]]:
        del modules[name]
    return []


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the removal, once all pages are read."""
    app.connect("env-updated", _drop_undocumented)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
