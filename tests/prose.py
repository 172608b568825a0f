"""Plain words: which sentences of the project ask to be read twice, by the rules of CONTRIBUTING.md.

``python -m tests.prose [FILE ...]`` lists the hits. ``--record`` writes the number of hits of each file
into ``prose.json``. ``--check``, which `make lint` runs, fails where a file has more hits than that. The
check reads the Markdown of pages and notebooks, TOML files whose texts are shown, docstrings, and every
other text of five words or more: help, errors, titles. A heading of over ten words counts as a hit, too.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECORD = Path(__file__).with_name("prose.json")
ROOMS = ("entropy_theory", "diagnosis", "simulations", "llm_bridge", "paper_figures", "policy_entropy")
# Their strings are shown to readers, but for names of options. The papers' sentences are quotations.
SHOWN = ("docs/logged.toml", "diagnosis/remedies.toml")
UNSHOWN = {"options", "option", "at"}
LONGEST_HEADING = 10
# Longer sentences count as hits; the guide asks for 25.
LONGEST = 28
# Symbols and formulas are not counted as words.
WORD = re.compile(r"(?<!\S)[*(\"'\[]*(?:[A-Za-z][a-z'-]+|[aXI])(?=[\s.,;:!?)*\"'\]]|$)")
# A parenthesis or dash of a formula is not a mark: words stand in the first and beside the second.
MARK = re.compile(r"[;:]\s|\s\((?=[a-z]{3,} )|(?<=[a-z]{3}) [-–—] (?=[a-z]{2})")
THINGS = ("page|file|rule|log|test|option|command|figure|table|headline|claim|run|graph|engine|trace"
          "|batch|message|error|check|ledger|caption|card")
SPEAKING = "says?|tells?|asks?|knows?|wants?|answers?|announces?|sees?|remembers?|promises?"
COUNTED = ("one|number|line|file|value|seconds|row|point|tests?|bar|mark|curve|page|cell|entry|nats"
           "|prompts|tokens")
EACH = ("run|line|step|seed|core|token|sequence|prompt|claim|rank|thread|state|statement|rule|figure"
        "|experiment|logit|instance|concept|policy|setting|start|controller|row|process"
        "|column|module")
FENCED = re.compile(r"^(`{3,}|:{3,}|~{3,}).*?^\1\s*$", re.M | re.S)
RULES: dict[str, Callable[[str], object]] = {
    f"over {LONGEST} words": lambda text: len(WORD.findall(text)) > LONGEST,
    "three or more of ; : ( -": lambda text: len(MARK.findall(text)) >= 3,
    "opens with a free relative": re.compile(
        r"(What|Who|Whoever|Where it|That all|Which) "
        r"(is|was|are|were|has|had|can|does|do|it|they|comes|each|a |the |all)\b").match,
    "a X a Y": re.compile(rf"\b({COUNTED}) an? ({EACH})\b").search,
    "is no N": re.compile(r"(?<!there )\b(?:is|are|be|was) no (?!longer|more|less|such)[a-z]").search,
    "a thing that speaks": re.compile(rf"\b({THINGS})s? ({SPEAKING})\b").search,
}
"""The habits, by name: each of them finds its own in a sentence."""


def sentences(text: str) -> Iterator[str]:
    """Cut a text into its sentences; code and mathematics become one word each, tables go."""
    # Displayed formulas and code are set off by a line and four columns.
    text = re.sub(r"\n *\n(?: {4}.*(?:\n|$))+", "\n\n", inspect.cleandoc(text))
    text = FENCED.sub("", text)
    text = re.sub(r"^ *[|#>].*$|^( *):?[\w-]+:.*\n(?=\1:)|<!--.*?-->", "\n", text, flags=re.M)
    text = re.sub(r":math:`[^`]+`|``.+?``|`[^`\n]*`|\$\$.+?\$\$|\$[^$]+\$", "X", text, flags=re.S)
    text = re.sub(r"\]\([^)\s]*\)|\{[^{}]*\}|https?://\S+", "", text)
    # A paragraph, an item of a list and an argument of a docstring end what stands before them.
    ends = r"\n\s*\n|\n\s*(?:[-*+]|\d+\.)\s+|\n\s+(?=\*{0,2}\w+: )|\n(?=\s*\w+:\n)"
    for part in re.split(ends, text):
        flat = " ".join(part.split())
        for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z*(\[\"'])", flat):
            if len(sentence.split()) > 3:
                yield sentence


def headings(text: str) -> Iterator[str]:
    """The headings of a Markdown text; a comment in code has the same mark."""
    yield from re.findall(r"^#+ +(.+)$", FENCED.sub("", text), flags=re.M)


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """(line, text) of all that a reader meets of a file."""
    source = path.read_text(encoding="utf-8")
    match path.suffix:
        case ".md":
            yield 1, source
        case ".ipynb":
            yield from ((1, "".join(cell["source"])) for cell in json.loads(source)["cells"]
                        if cell["cell_type"] == "markdown")
        case ".toml":
            yield from ((1, text) for text in _values(tomllib.loads(source)))
        case _:
            yield from _code(source)


def _values(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, one in value.items():
                if name not in UNSHOWN:
                    yield from _values(one)
        case list():
            for one in value:
                yield from _values(one)


def _code(source: str) -> Iterator[tuple[int, str]]:
    for node in _strings(ast.parse(source)):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in parts)
        if len(text.split()) >= 5:
            yield node.lineno, text


def _strings(node: ast.AST) -> Iterator[ast.Constant | ast.JoinedStr]:
    match node:
        case ast.JoinedStr() | ast.Constant(value=str()):
            yield node
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _strings(child)


def hits(path: Path) -> Iterator[tuple[int, str, str]]:
    """(line of the text, habit, sentence) of each hit in a file."""
    for line, text in texts(path):
        for sentence in sentences(text):
            yield from ((line, name, sentence) for name, found in RULES.items() if found(sentence))
        if path.suffix in (".md", ".ipynb"):
            yield from ((line, f"heading over {LONGEST_HEADING} words", heading)
                        for heading in headings(text) if len(heading.split()) > LONGEST_HEADING)


def files() -> list[Path]:
    """All files that are read."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / name for name in SHOWN),
             *(ROOT / "paper_figures" / "notebooks").glob("*.ipynb")]
    return sorted([*pages, *(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))])


def counts() -> dict[str, int]:
    """How many hits each file has that has any, by its path."""
    found = {str(path.relative_to(ROOT)): len(list(hits(path))) for path in files()}
    return {name: count for name, count in found.items() if count}


def main() -> None:
    """List the hits of the files, or record how many each has."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="files to read; all, if none is named")
    parser.add_argument("--record", action="store_true", help="record the counts")
    parser.add_argument("--check", action="store_true", help="fail where a file has more hits")
    options = parser.parse_args()
    if options.record:
        RECORD.write_text(json.dumps(counts(), indent=1) + "\n", encoding="utf-8")
        return
    if options.check:
        recorded = json.loads(RECORD.read_text(encoding="utf-8"))
        options.files = [ROOT / name for name, count in counts().items() if count > recorded.get(name, 0)]
        if not options.files:
            return
    total: Counter[str] = Counter()
    for path in [file.resolve() for file in options.files] or files():
        for line, name, sentence in hits(path):
            print(f"{path.relative_to(ROOT)}:{line}: {name}: {sentence}")
            total[name] += 1
    print(*(f"{count:6d} {name}" for name, count in total.most_common()), sep="\n")
    if options.check:
        raise SystemExit("more hits than tests/prose.json has: shorten and split these sentences")


if __name__ == "__main__":
    main()
