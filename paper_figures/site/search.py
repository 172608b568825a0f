"""The names by which a search finds a page, beside its title, and what it shows of the page."""

from __future__ import annotations

import html
import json
import re
import textwrap
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from entropy_theory.support.results import write_text
from entropy_theory.verification.claim import Claim
from entropy_theory.verification.formula.plain import latex_to_text
from paper_figures.site.markup import claim_page, figure_page, places

WRITTEN = Path(__file__).resolve().parents[2] / "docs" / "search.toml"
PAPERS = {"AEPO": ("AEPO",), "Cui et al.": ("Entropy Mechanism", "Cui et al."), "AEnt": ("AEnt",),
          "Entropy Mechanism": ("Entropy Mechanism", "Cui et al.")}
"""Names of each paper in a search, by the first words of a source of claims or figures."""
LONGEST = 160
"""The length of an excerpt, in characters."""
PARAGRAPH = re.compile(r"<p>(.*?)</p>", re.DOTALL)
BEGINNING = 3
"""The paragraphs of which an excerpt is made."""
FORMULA = re.compile(r'<math alttext="([^"]*)">.*?</math>', re.DOTALL)


def names(
    claims: Mapping[str, Claim], figures: Iterable[Mapping[str, Any]], rules: Iterable[str]
) -> dict[str, list[str]]:
    """Return for each page the names that a reader may type, written ones first."""
    found: dict[str, list[str]] = tomllib.loads(WRITTEN.read_text(encoding="utf-8"))
    own = {**{claim_page(i): [i, *_places(claim.source)] for i, claim in claims.items()},
           **{figure_page(f["name"]): [f["name"], *_places(f["source"])] for f in figures},
           **{f"rules/{name}": [name] for name in rules}}
    for page, more in own.items():
        found[page] = [*found.get(page, ()), *more]
    return found


def _places(source: str) -> list[str]:
    """Return the theorems, figures and the like of a source, alone and with the paper's names."""
    papers = next((called for start, called in PAPERS.items() if source.startswith(start)), ())
    return [name for place in places(source) for name in (*(f"{p} {place}" for p in papers), place)
            if papers]


def indexed(page: str, called: Iterable[str]) -> str:
    """Return a page that Sphinx's index, and so a search, has under these names."""
    entries = ", ".join(f"! {name}" for name in called)
    found = re.match(r"---\n.*?\n---\n\n", page, re.DOTALL)
    front = found[0] if found else ""
    named = f"```{{index}} {entries}\n```\n\n" if entries else ""
    return front + named + page.removeprefix(front)


def finish(site: Path) -> None:
    """Write titles without LaTeX into the index of a site, and an excerpt of each page."""
    path = site / "searchindex.js"
    before, found, after = path.read_text(encoding="utf-8").partition("{")
    body, end = found + after[: after.rindex("}") + 1], after[after.rindex("}") + 1 :]
    known = json.loads(body)
    known["titles"] = [latex_to_text(title) for title in known["titles"]]
    known["alltitles"] = {latex_to_text(title): where for title, where in known["alltitles"].items()}
    known["excerpts"] = [_excerpt(site / f"{name}.html") for name in known["docnames"]]
    write_text(path, f"{before}{json.dumps(known, separators=(',', ':'), ensure_ascii=False)}{end}")


def _excerpt(page: Path) -> str:
    """Return how a page begins, as text."""
    text = page.read_text(encoding="utf-8").partition('<article role="main"')[2]
    found = " ".join(PARAGRAPH.findall(text)[:BEGINNING])
    words = FORMULA.sub(lambda formula: latex_to_text(html.unescape(formula[1])), found)
    return textwrap.shorten(html.unescape(re.sub(r"<[^>]+>", "", words)), LONGEST, placeholder=" ...")
