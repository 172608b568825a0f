"""Defines what a figure or table of this package is, and how it is written to disk."""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import matplotlib
import pandas
from matplotlib.figure import Figure

from entropy_theory.support.results import atomic_path, read_json, write_json, write_text
from entropy_theory.verification.reading import ReadingKind
from paper_figures.data import inputs
from paper_figures.drawing.style import settle, style
from paper_figures.drawing.table import Table
from paper_figures.formats import FORMATS, Format
from paper_figures.verdict import (
    MODELS,
    PRINTED_NUMBERS,
    TABULAR,
    Criterion,
    Headline,
    Number,
    Relation,
    Standing,
    described,
    exact,
    judge,
    mean_of,
)

__all__ = [
    "FORMATS", "MODELS", "PRINTED_NUMBERS", "Criterion", "Finding", "Format", "Headline",
    "MissingInputError", "Number", "PaperFigure", "Relation", "build", "exact", "mean_of",
]

MOST_PANELS = 6
PANEL_DPI = 120
ROOM = Path(__file__).parent
MissingInputError = inputs.MissingInputError


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """The result of a figure: criteria on the plotted numbers, or why there are none.

    Raises:
        ValueError: neither criteria nor a standing.
    """

    criteria: tuple[Criterion, ...] = ()
    """Criteria of the paper's finding on our numbers, from which `verdict.RULE` makes the verdicts.
    Where no paper has the figure, our headline rests on them."""
    standing: Standing | None = None
    """Why no finding of a paper is judged."""
    model: str = TABULAR
    """Where those criteria were measured that name no model of their own."""

    def __post_init__(self) -> None:
        if not (self.criteria or self.standing):
            raise ValueError("a finding needs criteria, or a standing that says why it has none")
        object.__setattr__(self, "criteria", tuple(
            replace(one, model=one.model or self.model) for one in self.criteria))


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperFigure:
    """One figure or table: where it comes from, its numbers, its drawing and its finding."""

    name: str
    source: str
    """The paper and the number of the figure, or "This project"."""
    title: str
    paper: str
    """The paper's finding, in one sentence."""
    place: str = ""
    """Where the paper says so, such as "Section 5.2 and the caption"; "" if no paper does."""
    ours: str
    """The caption: what is drawn, and how to read it."""
    data: Callable[[Path], pandas.DataFrame]
    """A function of the results folder that returns a tidy table of everything shown.

    It reads through `paper_figures.data.inputs`; ``attrs["inputs"]`` may name further provenance. It
    raises MissingInputError where a result is missing."""
    finding: Callable[[pandas.DataFrame], Finding]
    inside: ReadingKind | None = None
    """How we read the paper's sentence where it is about the very model that is shown, such as a
    theorem on a table. None where our model stands in for another, such as a language model."""
    headline: Headline | None = None
    """What we find, in one sentence; it is shown while the criteria are as it says."""
    draw: Callable[[pandas.DataFrame], Figure] | None = None
    tables: Callable[[pandas.DataFrame], Sequence[Table]] | None = None
    """A function of the data that returns tables; a figure has ``draw``, ``tables`` or both."""
    recipes: tuple[str, ...] = ()
    """The recipes of `llm_bridge.recipes` that would rerun the figure at full size, or on one GPU."""
    claims: tuple[str, ...] = ()
    """The claims that the figure shows, by id, beside those that `paper_figures.site.figures.claims_of`
    finds by itself."""

    @property
    def module(self) -> str:
        """The name of the module that describes the figure, and has its finding."""
        return self.finding.__module__

    @property
    def file(self) -> Path:
        """The module's file."""
        return Path(str(sys.modules[self.module].__file__))

    @classmethod
    def of(cls, module: str, **described: Any) -> PaperFigure:
        """Return a figure whose data, finding, draw and tables are its module's functions of these names.

        Args:
            module: the module's ``__name__``.
            described: all else, and functions of other modules.
        """
        own = vars(sys.modules[module])
        parts = {name: own[name] for name in ("data", "finding", "draw", "tables") if name in own}
        return cls(**(parts | described))

    def verdicts(self, finding: Finding) -> dict[str, str]:
        """Return the verdict in each model; of a finding that is not judged its standing, under ""."""
        if finding.standing:
            return {"": finding.standing}
        return dict(judge(finding.criteria, self.inside)) or {"": "beyond the paper"}


def build(
    figure: PaperFigure, results: Path, output: Path, formats: Sequence[Format] = FORMATS
) -> dict[str, Any]:
    """Write a figure's files: finding, numbers, drawing and tables.

    They are NAME.json (criteria, provenance, tables), NAME.csv (all numbers shown), the drawing in
    ``formats``, its first panel as NAME-panel.png, and the tables as NAME.md and NAME.tex. Nothing is
    written where all is up to date. The same data give the same bytes: there are no dates and no random
    ids.

    Args:
        figure: what to build.
        results: folder with ``simulations/``, ``runs/`` and ``evaluations/``.
        output: folder for the files.
        formats: file formats of the drawing.

    Returns:
        The content of NAME.json.

    Raises:
        MissingInputError: a result that the figure needs was not computed yet.
    """
    path = output / f"{figure.name}.json"
    code = _code_digest(figure.file.parent)
    made_by = {"matplotlib": matplotlib.__version__, "code": code}
    drawings = [output / f"{figure.name}.{extension}" for extension in formats if figure.draw]
    drawings += [output / f"{figure.name}-panel.png"] if figure.draw else []
    texts = [output / f"{figure.name}.{extension}" for extension in ("csv", *_text_formats(figure))]
    old = _read(path)
    complete = all(file.exists() for file in (*drawings, *texts))
    same_maker = all(old.get(key) == value for key, value in made_by.items())
    if complete and same_maker and inputs.unchanged(old.get("read", {}), results):
        return old
    with inputs.reading(results) as read:
        table = figure.data(results)
    tables = figure.tables(table) if figure.tables else ()
    csv = table.to_csv(index=False, float_format="%.10g", lineterminator="\n")
    digest = hashlib.sha256(csv.encode()).hexdigest()
    record = {**_found(figure, table, read), "tables": [found.record() for found in tables],
              "data_sha256": digest, **made_by}
    same = same_maker and old.get("data_sha256") == digest
    if not same:
        for extension in set(FORMATS) - set(formats):  # they show other data, and are not asked for
            (output / f"{figure.name}.{extension}").unlink(missing_ok=True)
    if figure.draw and not (same and all(drawing.exists() for drawing in drawings)):
        _draw(figure, figure.draw, table, digest, drawings)
    if figure.tables:
        write_text(output / f"{figure.name}.md", "\n".join(found.markdown() for found in tables))
        write_text(output / f"{figure.name}.tex", "\n".join(found.latex() for found in tables))
    write_text(output / f"{figure.name}.csv", csv)
    # Last: a build that was cut off is not taken for complete.
    write_json(path, record)
    return record


def _found(figure: PaperFigure, table: pandas.DataFrame, read: inputs.Reading) -> dict[str, Any]:
    """Return a figure's finding on its numbers, and their sources."""
    finding = figure.finding(table)
    shown = {**read.provenance, **table.attrs.get("inputs", {})}
    return {
        "name": figure.name,
        "source": figure.source,
        "title": figure.title,
        "paper": {"finding": figure.paper, "place": figure.place},
        "verdicts": [{"verdict": verdict, "says": described(model, verdict, finding.criteria)}
                     for model, verdict in figure.verdicts(finding).items()],
        "criteria": [criterion.record() for criterion in finding.criteria],
        "headline": figure.headline.shown(finding.criteria) if figure.headline else "",
        "caption": figure.ours,
        "evidence": list(read.evidence(shown)),
        "drawn_from": read.described(shown),
        "recipes": list(figure.recipes),
        "read": read.digests,
        "inputs": shown,
    }


def _text_formats(figure: PaperFigure) -> tuple[str, ...]:
    return ("md", "tex") if figure.tables else ()


def _draw(
    figure: PaperFigure, draw: Callable[[pandas.DataFrame], Figure], table: pandas.DataFrame,
    digest: str, drawings: Sequence[Path],
) -> None:
    with style():
        drawing = draw(table)
        shown = [axes for axes in drawing.axes if axes.axison]
        if len(shown) > MOST_PANELS:
            raise ValueError(f"{figure.name} has {len(shown)} panels; at most {MOST_PANELS} can be "
                             "read at print size: leave some out or make two figures of it")
        settle(drawing)
        for path in drawings:
            extension, within = path.suffix[1:], None
            if path.stem != figure.name:  # the last: its first panel alone
                for axes in drawing.axes:
                    axes.set_visible(axes is shown[0])
                box = shown[0].get_tightbbox()
                within = box and box.transformed(drawing.dpi_scale_trans.inverted()).padded(0.1)
            with atomic_path(path) as temporary:
                metadata = _metadata(figure, digest, extension)
                drawing.savefig(temporary, format=extension, metadata=metadata, bbox_inches=within,
                                dpi=PANEL_DPI if within else "figure")


def _read(path: Path) -> dict[str, Any]:
    try:
        return dict(read_json(path))
    except ValueError:
        return {}


@functools.cache
def _code_digest(folder: Path) -> str:
    """Return a digest of all code that figures of a folder depend on: theirs, this room's, and others'.

    Simulations count although datasets carry digests of their own, since figures import from them.
    """
    digest = hashlib.sha256()
    theory, simulations = ROOM.parent / "entropy_theory", ROOM.parent / "simulations"
    files = {
        *folder.glob("*.py"), *folder.glob("*.toml"), *ROOM.glob("*.mplstyle"), *ROOM.rglob("*.py"),
        *theory.glob("*.py"), *theory.glob("update_rules/*.py"), *theory.glob("claims/*/*.toml"),
        *simulations.rglob("*.py"),
    }
    for path in sorted(files):
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
