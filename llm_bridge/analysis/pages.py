"""Self-contained HTML pages: one file, no script, no network; light, dark, phone and print."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

STYLE = """
:root { --paper: #fbfaf7; --card: #ffffff; --ink: #1d1f23; --soft: #5d636e; --line: #e2dfd8;
  --accent: #0b5c94; --down: #0072b2; --up: #c25100; --plain-back: #eceae5;
  --c0: #0072b2; --c1: #c25100; --c2: #00805f; --c3: #a8528a; --c4: #9c6a00; --c5: #2f86b8;
  --c6: #1d1f23; }
@media (prefers-color-scheme: dark) { :root { --paper: #15171a; --card: #1d2024; --ink: #e7e6e2;
  --soft: #a3a8b1; --line: #34383f; --accent: #7cc0f0; --down: #62b5ee; --up: #ff9a57;
  --plain-back: #2b2f35; --c0: #62b5ee; --c1: #ff9a57; --c2: #3fcfa4; --c3: #e39ac8; --c4: #edc04d;
  --c5: #a5dcff; --c6: #e7e6e2; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 62rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: clamp(1.5rem, 5vw, 2.1rem); line-height: 1.15; margin: 0 0 .4rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .4rem; }
h3 { font-size: 1rem; margin: 0 0 .3rem; }
p { margin: .4rem 0 .8rem; max-width: 46rem; }
.soft { color: var(--soft); } .small { font-size: .87rem; }
a { color: var(--accent); }
code { font: .86em ui-monospace, "DejaVu Sans Mono", monospace; background: var(--plain-back);
  padding: .08em .3em; border-radius: 4px; overflow-wrap: anywhere; white-space: pre-wrap; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 18rem), 1fr));
  gap: 1rem; }
figure { margin: 0; background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: .8rem; }
figcaption { font-size: .87rem; color: var(--soft); margin-top: .4rem; }
.plot { width: 100%; max-width: 30rem; display: block; margin: 0 auto; }
.plot text { font: 11px system-ui, "DejaVu Sans", sans-serif; fill: var(--soft); }
.plot .label { fill: var(--ink); }
.plot .grid { stroke: var(--line); stroke-width: .8; } .plot .axis { stroke: var(--soft); }
.line { fill: none; stroke-width: 1.8; }
.plot .reference { stroke: var(--soft); stroke-dasharray: 4 3; }
.plot .point { fill: var(--c0); fill-opacity: .45; } .plot .bar { fill: var(--c0); }
.plot .whisker { stroke: var(--ink); stroke-width: 1.5; }
.plot .cell { fill: var(--ink); } .plot .minus { stroke: var(--up); stroke-width: 1.4; }
.c0 { stroke: var(--c0); } .c1 { stroke: var(--c1); } .c2 { stroke: var(--c2); }
.c3 { stroke: var(--c3); } .c4 { stroke: var(--c4); } .c5 { stroke: var(--c5); }
.c6 { stroke: var(--c6); } .dot { fill: var(--card); stroke-width: 2; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; margin: .6rem 0;
  padding: 0; font-size: .9rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; }
th, td { text-align: left; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
th { font-weight: 600; color: var(--soft); }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
@media print { body { background: #fff; } figure { break-inside: avoid; } }
"""


def page(title: str, body: str, *, style: str = "") -> str:
    """Make a whole HTML document."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{html.escape(title)}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )


def section(title: str, *parts: str) -> str:
    """Make a section: a heading and what follows it."""
    return f"<section><h2>{html.escape(title)}</h2>\n" + "\n".join(parts) + "</section>\n"


def paragraph(text: str, kind: str = "") -> str:
    """Make a paragraph of plain text."""
    return f'<p class="{kind}">{html.escape(text)}</p>'


def panels(figures: Iterable[tuple[str, str, str]]) -> str:
    """Place panels (title, plot, caption) side by side where there is room."""
    found = "".join(
        f"<figure><h3>{html.escape(title)}</h3>{plot}"
        f"<figcaption>{html.escape(caption)}</figcaption></figure>"
        for title, plot, caption in figures
    )
    return f'<div class="panels">{found}</div>'


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Make a table: numbers stand to the right, `Markup` is kept as it is, all other text is escaped."""
    rows = [list(row) for row in rows]
    numeric = [
        any(_is_number(row[i]) for row in rows) and not any(isinstance(row[i], str) for row in rows)
        for i in range(len(head))
    ]
    cells = [f'<th{_kind(n)}>{html.escape(name)}</th>' for name, n in zip(head, numeric, strict=True)]
    lines = [
        "<tr>" + "".join(
            f"<td{_kind(n)}>{_cell(value)}</td>" for value, n in zip(row, numeric, strict=True)
        ) + "</tr>"
        for row in rows
    ]
    return (f'<div class="scroll"><table><thead><tr>{"".join(cells)}</tr></thead>'
            f'<tbody>{"".join(lines)}</tbody></table></div>')


class Markup(str):
    """Text that is HTML already."""


def token(text: str) -> str:
    """Show a token with spaces, line breaks and the empty text made visible."""
    shown = text.replace(" ", "␣").replace("\n", "↵").replace("\t", "⇥")
    return shown or "∅"


def provenance(found: dict[str, Any]) -> str:
    """Make a paragraph of commit, versions, device, seed and time."""
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    return paragraph(
        f"commit {found['commit'] or 'unknown'}; {found['device']}; seed {found['seed']}; "
        f"{found['created']}; {versions}", "soft small",
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _kind(numeric: bool) -> str:
    return ' class="number"' if numeric else ""


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, Markup):
        return value
    if isinstance(value, float):
        return f"{value:.4g}".replace("-", "−")
    return html.escape(str(value))
