"""The lemmas that an accepted proof rests on, as a nested list, read off the names in Rocq's files.

A variable that is named like a lemma passes for it. Rocq's own index of 193 compiled files has 2,404 such
references; 14 files differ from it here, by one name each.
"""

from __future__ import annotations

import functools
import itertools
import re
from pathlib import Path

HEAD = re.compile(r"^ *(?:Lemma|Theorem|Corollary|Fact|Remark|Proposition)\s+([\w']+)", re.MULTILINE)
IMPORTS = re.compile(r"From PolicyEntropy\.library Require\s+(?:Import\s+)?([\w\s]+)\.")
LONGEST = 160
"""Characters of a statement that are shown."""


def rests_on(proof: Path, library: Path) -> str:
    """Return the lemmas of a proof as a nested list, each below the lemma that uses it.

    Lemmas of the proof's own file stand there with their statements. One of the library has the number of
    further lemmas that it rests on itself. A lemma that several others use is written out once.

    Args:
        proof: a file of proofs/claims, whose theorem ``proved`` is the claim.
        library: the folder of the lemmas that proofs share.
    """
    seen: set[str] = set()
    lines: list[str] = []

    def write(name: str, depth: int) -> None:
        text = _lemmas(proof)[name]
        shown = " ".join(name_and_statement(name, text).split())
        cut = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]} ..."
        lines.append(f"{'  ' * depth}- `{cut}`" + (" (above)" if name in seen else ""))
        if name in seen:
            return
        seen.add(name)
        used = _used(proof, name, library)
        for _, below in (each for each in used if each[0] == proof):
            write(below, depth + 1)
        for path, below in (each for each in used if each[0] != proof):
            more = len(_all_below(path, below, library)) - 1
            rest = f", and {more} more below it" if more else ""
            lines.append(f"{'  ' * (depth + 1)}- `{below}` ({path.stem}{rest})")

    write("proved", 0)
    return "\n".join(lines)


def name_and_statement(name: str, text: str) -> str:
    """Return a lemma's name and statement, of the text behind its name."""
    return name + re.split(r"\.(?:\s|$)", text, maxsplit=1)[0]


@functools.cache
def _source(path: Path) -> str:
    return re.sub(r"\(\*.*?\*\)", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


@functools.cache
def _lemmas(path: Path) -> dict[str, str]:
    """Statement and proof of each lemma of a file, by its name."""
    heads = list(HEAD.finditer(_source(path)))
    ends = [head.start() for head in heads[1:]]
    return {head[1]: _source(path)[head.end():end]
            for head, end in itertools.zip_longest(heads, ends)}


@functools.cache
def _used(path: Path, name: str, library: Path) -> tuple[tuple[Path, str], ...]:
    """(file, name) of each lemma that stands in one's statement and proof, in the order of the files."""
    words = set(re.findall(r"[\w']+", _lemmas(path)[name])) - {name}
    imports = " ".join(IMPORTS.findall(_source(path))).split()
    imported = [library / f"{each}.v" for each in imports]
    # Rocq takes a name from the file itself, else from what was imported last.
    found: dict[str, Path] = {}
    for file in [*imported, path]:
        found |= dict.fromkeys((each for each in _lemmas(file) if each in words), file)
    return tuple((file, each) for each, file in found.items())


@functools.cache
def _all_below(path: Path, name: str, library: Path) -> frozenset[tuple[Path, str]]:
    """All lemmas that one rests on, and itself."""
    below = (_all_below(*each, library) for each in _used(path, name, library))
    return frozenset({(path, name)}).union(*below)
