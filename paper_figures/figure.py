"""What a figure of this package is, and how it is written to disk."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import matplotlib
import pandas
from matplotlib.figure import Figure

from entropy_theory.results import atomic_path, read_json, write_json, write_text
from paper_figures.style import style

Verdict = Literal["reproduces", "reproduces in part", "does not reproduce", "our own"]
Format = Literal["svg", "png", "pdf"]
FORMATS: tuple[Format, ...] = ("svg", "png", "pdf")
ROOM = Path(__file__).parent


class MissingInputError(ValueError):
    """A result that a figure needs does not exist; the message says which command makes it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What the plotted numbers say, computed from them."""

    verdict: Verdict
    headline: str
    """One sentence for the summary."""
    text: str
    """Caption: what was found, with its numbers."""
    numbers: dict[str, float] = field(default_factory=dict)
    """The numbers behind it, for tests and the report."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperFigure:
    """One figure: where it comes from, its numbers, its drawing and its finding."""

    name: str
    source: str
    """Paper and number, or "This project"."""
    title: str
    paper: str
    """What the paper's figure shows."""
    ours: str
    """What we run."""
    data: Callable[[Path], pandas.DataFrame]
    """Results folder -> tidy table of everything plotted; ``attrs["inputs"]`` maps each file read
    to its provenance. Raises MissingInputError."""
    finding: Callable[[pandas.DataFrame], Finding]
    draw: Callable[[pandas.DataFrame], Figure]


def build(
    figure: PaperFigure, results: Path, output: Path, formats: Sequence[Format] = FORMATS
) -> Finding:
    """Write NAME.svg, .png, .pdf, .csv (the plotted data) and .json (finding and provenance).

    The same data give the same bytes: no dates, no random ids. A drawing of the same data by the
    same code is left as it is.

    Args:
        results: folder with ``simulations/`` and ``runs/``.
        output: folder for the files.
        formats: of the drawing.

    Raises:
        MissingInputError: something the figure needs was not computed yet.
    """
    table = figure.data(results)
    finding = figure.finding(table)
    csv = table.to_csv(index=False, float_format="%.10g", lineterminator="\n")
    digest = hashlib.sha256(csv.encode()).hexdigest()
    record = {
        "name": figure.name,
        "source": figure.source,
        "title": figure.title,
        "verdict": finding.verdict,
        "headline": finding.headline,
        "finding": finding.text,
        "numbers": finding.numbers,
        "data_sha256": digest,
        "drawn_with": {"matplotlib": matplotlib.__version__, "code": _code_digest()},
        "inputs": table.attrs.get("inputs", {}),
    }
    drawings = [output / f"{figure.name}.{extension}" for extension in formats]
    if not _is_drawn(output / f"{figure.name}.json", record, drawings):
        _draw(figure, table, digest, drawings)
        write_text(output / f"{figure.name}.csv", csv)
    write_json(output / f"{figure.name}.json", record)
    return finding


def _draw(
    figure: PaperFigure, table: pandas.DataFrame, digest: str, drawings: Sequence[Path]
) -> None:
    with style():
        drawing = figure.draw(table)
        # Once, or every format would lay it out anew.
        drawing.draw_without_rendering()
        drawing.set_layout_engine("none")
        for path in drawings:
            extension = path.suffix[1:]
            with atomic_path(path) as temporary:
                metadata = _metadata(figure, digest, extension)
                drawing.savefig(temporary, format=extension, metadata=metadata)


def _is_drawn(path: Path, record: dict[str, Any], drawings: Sequence[Path]) -> bool:
    try:
        old = read_json(path)
    except ValueError:
        return False
    same = all(old.get(key) == record[key] for key in ("data_sha256", "drawn_with"))
    return same and all(drawing.exists() for drawing in drawings)


@functools.cache
def _code_digest() -> str:
    """Digest of all that decides how figures look."""
    digest = hashlib.sha256()
    for path in sorted([*ROOM.rglob("*.py"), *ROOM.glob("*.mplstyle")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _metadata(figure: PaperFigure, digest: str, extension: str) -> dict[str, str | None]:
    title = f"{figure.source}: {figure.title}"
    source = f"policy-entropy paper_figures {figure.name}, data sha256 {digest}"
    if extension == "png":
        return {"Title": title, "Source": source, "Software": None}
    if extension == "svg":
        return {"Title": title, "Source": source, "Date": None, "Creator": None}
    return {"Title": title, "Subject": source, "CreationDate": None, "Creator": None, "Producer": None}
