"""What a figure of this package is, and how it is written to disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import matplotlib
import pandas
from matplotlib.figure import Figure

from entropy_theory.results import atomic_path, write_json, write_text
from paper_figures.style import style

Verdict = Literal["reproduces", "reproduces in part", "does not reproduce", "our own"]
FORMATS = ("svg", "png", "pdf")


class MissingInput(ValueError):
    """A result that a figure needs does not exist; the message says which command makes it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What the plotted numbers say, computed from them."""

    verdict: Verdict
    text: str
    """Caption: what was found, with its numbers."""
    numbers: dict[str, float] = field(default_factory=dict)
    """The numbers behind it, for tests and the report."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperFigure:
    """One figure: where it comes from, its numbers, its drawing and its finding."""

    name: str
    source: str
    """Paper and number, or "this project"."""
    title: str
    paper: str
    """What the paper's figure shows."""
    ours: str
    """What we run."""
    data: Callable[[Path], pandas.DataFrame]
    """Results folder -> tidy table of everything plotted; ``attrs["inputs"]`` maps each file read
    to its provenance. Raises MissingInput."""
    finding: Callable[[pandas.DataFrame], Finding]
    draw: Callable[[pandas.DataFrame], Figure]


def build(figure: PaperFigure, results: Path, output: Path) -> Finding:
    """Write NAME.svg, .png, .pdf, .csv (the plotted data) and .json (finding and provenance).

    The same data give the same bytes: no dates, no random ids.

    Args:
        results: folder with ``simulations/`` and ``runs/``.
        output: folder for the files.

    Raises:
        MissingInput: something the figure needs was not computed yet.
    """
    table = figure.data(results)
    finding = figure.finding(table)
    csv = table.to_csv(index=False, float_format="%.10g", lineterminator="\n")
    digest = hashlib.sha256(csv.encode()).hexdigest()
    with style():
        drawing = figure.draw(table)
        for extension in FORMATS:
            with atomic_path(output / f"{figure.name}.{extension}") as path:
                drawing.savefig(path, format=extension, metadata=_metadata(figure, digest, extension))
    write_text(output / f"{figure.name}.csv", csv)
    write_json(
        output / f"{figure.name}.json",
        {
            "name": figure.name,
            "source": figure.source,
            "title": figure.title,
            "verdict": finding.verdict,
            "finding": finding.text,
            "numbers": finding.numbers,
            "data_sha256": digest,
            "matplotlib": matplotlib.__version__,
            "inputs": table.attrs.get("inputs", {}),
        },
    )
    return finding


def _metadata(figure: PaperFigure, digest: str, extension: str) -> dict[str, str | None]:
    title = f"{figure.source}: {figure.title}"
    source = f"policy-entropy paper_figures {figure.name}, data sha256 {digest}"
    if extension == "png":
        return {"Title": title, "Source": source, "Software": None}
    if extension == "svg":
        return {"Title": title, "Source": source, "Date": None, "Creator": None}
    return {"Title": title, "Subject": source, "CreationDate": None, "Creator": None, "Producer": None}
