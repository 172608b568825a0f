"""How this package's results look in a notebook."""

from __future__ import annotations

import html
from collections.abc import Mapping


def card(title: str, facts: Mapping[str, object]) -> str:
    """Return a title above a table of facts as HTML; empty ones are left out.

    Formulas between dollar signs are set by the notebook.
    """
    rows = "".join(f'<tr><th style="text-align:left">{html.escape(name)}</th>'
                   f'<td style="text-align:left">{html.escape(str(value))}</td></tr>'
                   for name, value in facts.items() if value not in (None, "", ()))
    return f"<p><b>{html.escape(title)}</b></p><table>{rows}</table>"
