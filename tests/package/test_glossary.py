"""The glossary and the pages agree: each term has a use, and each use has a term."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
GLOSSARY = DOCS / "glossary.md"
ROLE = re.compile(r"\{term\}`(?:[^`<]*<)?([^`<>]+)>?`")
"""A link to a term: its own words, or other words with the term behind them."""
GENERATED = {"ledger.md", "losses.md"}
"""Pages of claims' titles and of engines' notes, which a command writes."""
NO_PROSE = [re.compile(pattern, re.M | re.S) for pattern in (
    r"^(`{3,}|:{3,}|~{3,}).*?^\1\s*$", r"\A---\n.*?^---$", r"^#[^\n]*$",
    r"<!-- table.*?<!-- end of the table -->", r"<!--.*?-->",
    r"(?P<kept>\{term\}`[^`]*`)|``.+?``|`[^`]*`", r"\[[^\]]*\]\([^)\s]*\)", r"\$[^$\n]*\$")]
"""Blocks, a page's head, headings, generated tables, code with other roles, links and formulas."""


def defined(text: str) -> list[str]:
    """The terms of a glossary: the lines of the directive that begin at its margin."""
    body = text.partition("```{glossary}\n")[2].partition("\n```")[0]
    return [line.replace("\\", "") for line in body.splitlines() if re.match(r"[^\s:]", line)]


def linked() -> dict[str, set[str]]:
    """For each page, the terms that it links."""
    return {path.name: set(ROLE.findall(" ".join(path.read_text(encoding="utf-8").split())))
            for path in DOCS.rglob("*.md")}


def first_use(page: str, term: str) -> str:
    """The words by which a page's prose first uses a term, and the link if they are one; else nothing."""
    for pattern in NO_PROSE:
        page = pattern.sub(lambda part: part.groupdict().get("kept") or " X ", page)
    words = r"\s+".join(map(re.escape, term.split())) + r"(?:e?s)?(?![\w-])"
    link = rf"\{{term\}}`(?:{words}|[^`<]*<{words}>)`"
    found = re.search(rf"{link}|(?<![\w-]){words}", page, re.I)
    return " ".join(found[0].split()) if found else ""


def test_terms_and_links_are_read() -> None:
    """A reader that finds nothing would find every glossary right."""
    assert defined("```{glossary}\n:sorted:\n\none word\n  Its sense.\n\nA\\*\n  Another.\n```") == [
        "one word", "A*"]
    assert ROLE.findall("{term}`law` and {term}`the rules <update rule>`") == ["law", "update rule"]
    for page, expected in [
        ("A second\nbatch is one.", "second batch"),
        ("## A second batch\n\n`second batch` {term}`second\nbatch`", "{term}`second batch`"),
        ("{term}`The two <second batch>`, a second batch", "{term}`The two <second batch>`"),
        ("{term}`a second rule <update rule>`; second-batch\n\n```\nsecond batch\n```\n", ""),
    ]:
        assert first_use(page, "second batch") == expected


def test_every_term_is_linked_from_a_page_and_defined_once() -> None:
    terms = defined(GLOSSARY.read_text(encoding="utf-8"))
    assert len(terms) == len(set(terms)) >= 25
    links = set().union(*linked().values())
    assert not set(terms) - links, "link each term where a page first uses it, or remove it"
    assert not links - set(terms), "define each linked term in docs/glossary.md"


def test_a_term_of_several_words_is_linked_where_a_page_first_uses_it() -> None:
    """A single word, such as noise or policy, also has its ordinary sense."""
    terms = [term for term in defined(GLOSSARY.read_text(encoding="utf-8")) if " " in term]
    pages = [path for path in DOCS.rglob("*.md") if path != GLOSSARY and path.name not in GENERATED]
    assert len(terms) >= 15
    assert len(pages) >= 30
    unlinked = {f"{path.relative_to(DOCS)}: {use}" for path in pages for term in terms
                if (use := first_use(path.read_text(encoding="utf-8"), term)) and use[0] != "{"}
    assert not unlinked, "write {term}`...` there, and no link at later uses"


def test_a_definition_is_short_and_whole() -> None:
    """Sphinx cuts off the indentation of the first line, and letters where the next lines have less."""
    body = GLOSSARY.read_text(encoding="utf-8").partition(":sorted:\n")[2].partition("\n```")[0]
    for entry in body.strip().split("\n\n"):
        term, *lines = entry.splitlines()
        assert len(re.findall(r"[.!?](?=\s|$)", " ".join(lines))) <= 3, term
        assert all(re.match(r"  \S", line) for line in lines), term
