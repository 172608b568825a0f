"""The glossary and the pages agree: each term has a use, and each use has a term."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
GLOSSARY = DOCS / "glossary.md"
ROLE = re.compile(r"\{term\}`(?:[^`<]*<)?([^`<>]+)>?`")
"""A link to a term: its own words, or other words with the term behind them."""


def defined(text: str) -> list[str]:
    """The terms of a glossary: the lines of the directive that begin at its margin."""
    body = text.partition("```{glossary}\n")[2].partition("\n```")[0]
    return [line.replace("\\", "") for line in body.splitlines() if re.match(r"[^\s:]", line)]


def linked() -> dict[str, set[str]]:
    """For each page, the terms that it links."""
    return {path.name: set(ROLE.findall(" ".join(path.read_text(encoding="utf-8").split())))
            for path in DOCS.rglob("*.md")}


def test_terms_and_links_are_read() -> None:
    """A reader that finds nothing would find every glossary right."""
    assert defined("```{glossary}\n:sorted:\n\none word\n  Its sense.\n\nA\\*\n  Another.\n```") == [
        "one word", "A*"]
    assert ROLE.findall("{term}`law` and {term}`the rules <update rule>`") == ["law", "update rule"]


def test_every_term_is_linked_from_a_page_and_defined_once() -> None:
    terms = defined(GLOSSARY.read_text(encoding="utf-8"))
    assert len(terms) == len(set(terms)) >= 25
    links = set().union(*linked().values())
    assert not set(terms) - links, "link each term where a page first uses it, or remove it"
    assert not links - set(terms), "define each linked term in docs/glossary.md"


def test_a_definition_is_short_and_whole() -> None:
    """Sphinx cuts off the indentation of the first line, and letters where the next lines have less."""
    body = GLOSSARY.read_text(encoding="utf-8").partition(":sorted:\n")[2].partition("\n```")[0]
    for entry in body.strip().split("\n\n"):
        term, *lines = entry.splitlines()
        assert len(re.findall(r"[.!?](?=\s|$)", " ".join(lines))) <= 3, term
        assert all(re.match(r"  \S", line) for line in lines), term
