"""The lemmas that an accepted proof rests on, as a graph, read off the names in Rocq's files.

A variable that is named like a lemma passes for it. Rocq's own index of 193 compiled files has 2,404 such
references; 14 files differ from it here, by one name each.
"""

from __future__ import annotations

import functools
import html
import itertools
import re
from pathlib import Path

HEAD = re.compile(r"^ *(?:Lemma|Theorem|Corollary|Fact|Remark|Proposition)\s+([\w']+)", re.MULTILINE)
IMPORTS = re.compile(r"From PolicyEntropy\.library Require\s+(?:Import\s+)?([\w\s]+)\.")
LONGEST = 160
"""Characters of a statement that are shown."""
STEP, ROW, LETTER = 11, 20, 7
"""Pixels between the lines of two lemmas, between two rows, and for a letter."""
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
Lemma = tuple[Path, str]
"""The file and the name of a lemma."""


def users(proof: Path, library: Path) -> dict[Lemma, list[Lemma]]:
    """Return each lemma of a proof, a row above those that it uses, with the lemmas that use it.

    The library's lemmas are ends: what they use themselves does not stand here.

    Args:
        proof: a file of proofs/claims, whose theorem ``proved`` is the claim.
        library: the folder of the lemmas that proofs share.
    """
    below = _all_below(proof, "proved", library)
    own = [(proof, name) for name in reversed(_lemmas(proof)) if (proof, name) in below]
    found: dict[Lemma, list[Lemma]] = {}
    for user in own:
        for used in _used(*user, library):
            found.setdefault(used, []).append(user)
    rows = []
    for user in own:  # Rocq takes no lemma before what it uses; the library's stand below their last user
        rows += [user, *(one for one, by in found.items() if one[0] != proof and by[-1] == user)]
    return {one: found.get(one, []) for one in rows}


def graph(proof: Path, library: Path) -> str:
    """Return the lemmas of a proof as a drawing: a line leads down from each to those it uses."""
    rows = users(proof, library)
    using = dict.fromkeys(one for one in rows if any(one in by for by in rows.values()))
    lines, labels, places, width = dict.fromkeys(using, ""), "", dict[Lemma, int](), 0
    for row, (one, by) in enumerate(rows.items()):
        x, y = STEP * (1 + len(places)), ROW * (row + 0.5)
        if one in using:
            places[one], lines[one] = x, f"M{x} {y:g}"
        for user in by:
            lines[user] += f"V{y - 5:g}q0 5 5 5H{x}M{places[user]} {y - 5:g}"
        more = len(_all_below(*one, library)) - 1
        rest = "" if one[0] == proof else f" {one[0].stem}" + (f", {more} below it" if more else "")
        width = max(width, x + LETTER * (3 + len(one[1] + rest)))
        labels += (f'<circle cx="{x}" cy="{y:g}" r="3"/><text x="{x + 7}" y="{y + 4:g}">'
                   f'{html.escape(one[1])}<tspan>{rest}</tspan></text>')
    paths = "".join(f'<path d="{line}" stroke="{color}"/>'
                    for line, color in zip(lines.values(), itertools.cycle(COLORS), strict=False))
    return ('<div class="lemmas" tabindex="0" role="region" aria-label="lemmas">'
            f'<svg width="{width}" height="{ROW * len(rows)}">{paths}{labels}</svg></div>')


def statements(proof: Path, library: Path) -> str:
    """Return the lemmas of a proof's own file as a list, each with its statement."""
    shown = [" ".join(name_and_statement(name, _lemmas(proof)[name]).split())
             for file, name in users(proof, library) if file == proof]
    return "\n".join(f"- `{one if len(one) <= LONGEST else f'{one[:LONGEST]} ...'}`" for one in shown)


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
def _used(path: Path, name: str, library: Path) -> tuple[Lemma, ...]:
    """(file, name) of each lemma that stands in one's statement and proof, in the order of the files."""
    words = set(re.findall(r"[\w']+", _lemmas(path)[name]))
    imports = " ".join(IMPORTS.findall(_source(path))).split()
    imported = [library / f"{each}.v" for each in imports]
    own = list(_lemmas(path))
    known = {**{file: list(_lemmas(file)) for file in imported}, path: own[:own.index(name)]}
    # Rocq takes a name from the file itself, as far as it was read, else from what was imported last.
    found: dict[str, Path] = {}
    for file, names in known.items():
        found |= dict.fromkeys((each for each in names if each in words), file)
    return tuple((file, each) for each, file in found.items())


@functools.cache
def _all_below(path: Path, name: str, library: Path) -> frozenset[Lemma]:
    """All lemmas that one rests on, and itself."""
    below = (_all_below(*each, library) for each in _used(path, name, library))
    return frozenset({(path, name)}).union(*below)
